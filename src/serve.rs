//! What an HTTP application of the gateway's own (the admin pages) is, without naming the server that runs it.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use std::future::Future;

/// Answers requests whose body was read whole.
///
/// When the client leaves, the future of [`HttpApp::respond`] is dropped.
pub trait HttpApp: Send + Sync + 'static {
    /// Answers one request.
    fn respond(&self, request: Request<Bytes>) -> impl Future<Output = AppResponse> + Send;
}

/// An answer: status, headers and body.
pub struct AppResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl AppResponse {
    pub fn full(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let content_type = HeaderValue::from_static(content_type);
        Self {
            status,
            headers: HeaderMap::from_iter([(header::CONTENT_TYPE, content_type)]),
            body: body.into(),
        }
    }

    /// An answer with a JSON body.
    pub fn json(status: StatusCode, body: &serde_json::Value) -> Self {
        Self::full(status, "application/json", body.to_string())
    }
}
