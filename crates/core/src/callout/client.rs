//! The interface to whoever sends requests to services.

use crate::catalog::channel::Channel;
use crate::request_id::RequestId;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Sends requests to services. The gateway implements it with its upstream client.
pub trait ServiceClient: Send + Sync {
    /// Sends a request and reads the whole response. Redirects are not followed.
    fn send<'a>(&'a self, request: ServiceRequest<'a>) -> ServiceResponseFuture<'a>;
}

/// The server of a service, and the path there.
#[derive(Debug)]
pub struct ServiceEndpoint {
    pub server: Channel,
    pub path: String,
}

/// A call of a service.
pub struct ServiceRequest<'a> {
    pub endpoint: &'a ServiceEndpoint,
    /// The id of the caller's request; `None` for a call that belongs to none.
    pub id: Option<&'a RequestId>,
    pub content: ServiceHttpRequest,
    /// Whether the request may be sent again on another connection, if the first one broke.
    pub may_repeat: bool,
    pub within: Duration,
    /// Maximum size of the response's body, in bytes; a larger one is an error.
    pub response_bytes_max: usize,
}

/// What a service receives, beside the headers that its settings have.
pub struct ServiceHttpRequest {
    pub method: Method,
    /// With the query.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A whole response of a service.
#[derive(Debug)]
pub struct ServiceResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// Whether the content type is JSON, without a content coding.
    pub is_json: bool,
    pub body: Bytes,
}

/// A response that is being received.
pub type ServiceResponseFuture<'a> =
    Pin<Box<dyn Future<Output = Result<ServiceResponse, ServiceCallError>> + Send + 'a>>;

/// Why there is no usable response of a service.
#[derive(Debug, thiserror::Error)]
pub enum ServiceCallError {
    #[error("{0}")]
    Connect(String),
    #[error("{0}")]
    Timeout(String),
    #[error("{0}")]
    ConnectionClosed(String),
    /// The response has another form: its status, its content type or its length.
    #[error("{0}")]
    InvalidResponse(String),
}
