//! The interface of an HTTP application that the gateway serves itself (the admin pages), independent of the server.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;

/// An HTTP application. It gets requests with complete bodies.
///
/// If the client disconnects, the future of [`HttpApp::respond`] is dropped.
pub trait HttpApp: Send + Sync + 'static {
    /// Responds to one request.
    fn respond(
        &self,
        request: Request<Bytes>,
        client: AppClientConnection,
    ) -> impl Future<Output = AppResponse> + Send;
}

/// The client of a request.
#[derive(Clone, Copy, Debug)]
pub struct AppClientConnection {
    /// The peer of the connection, if the system knows it.
    pub address: Option<SocketAddr>,
    /// Whether the connection has TLS.
    pub is_tls: bool,
}

/// A response: status, headers and body. A header `connection: close` closes the connection after it.
pub struct AppResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: AppResponseBody,
}

/// The body of a response.
pub enum AppResponseBody {
    Full(Bytes),
    /// A body without a known length, such as events.
    Streamed(Box<dyn AppResponseBodyStream>),
}

/// A body that is produced while it is sent. It is dropped when the client disconnects, does not read, or when the
/// listener closes.
pub trait AppResponseBodyStream: Send {
    /// Waits for the next piece; `None` ends the body.
    fn next_piece(&mut self) -> Pin<Box<dyn Future<Output = Option<Bytes>> + Send + '_>>;
}

impl AppResponse {
    pub fn full(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::new(status, content_type, AppResponseBody::Full(body.into()))
    }

    /// A response with a JSON body.
    pub fn json(status: StatusCode, body: &serde_json::Value) -> Self {
        Self::full(status, "application/json", body.to_string())
    }

    /// A response with status 200 whose body is produced while it is sent.
    pub fn streamed(
        content_type: &'static str,
        body: impl AppResponseBodyStream + 'static,
    ) -> Self {
        Self::new(
            StatusCode::OK,
            content_type,
            AppResponseBody::Streamed(Box::new(body)),
        )
    }

    /// Sets a header.
    pub fn with_header(mut self, name: header::HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    fn new(status: StatusCode, content_type: &'static str, body: AppResponseBody) -> Self {
        let content_type = HeaderValue::from_static(content_type);
        Self {
            status,
            headers: HeaderMap::from_iter([(header::CONTENT_TYPE, content_type)]),
            body,
        }
    }
}
