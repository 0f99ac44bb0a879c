//! The interface of an HTTP application that the gateway serves itself (the admin pages), independent of the server.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use std::future::Future;

/// An HTTP application. It gets requests with complete bodies.
///
/// If the client disconnects, the future of [`HttpApp::respond`] is dropped.
pub trait HttpApp: Send + Sync + 'static {
    /// Responds to one request.
    fn respond(&self, request: Request<Bytes>) -> impl Future<Output = AppResponse> + Send;
}

/// A response: status, headers and body.
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

    /// A response with a JSON body.
    pub fn json(status: StatusCode, body: &serde_json::Value) -> Self {
        Self::full(status, "application/json", body.to_string())
    }
}
