//! The interface to whoever sends requests to services.

use crate::catalog::channel::Channel;
use bytes::Bytes;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Sends requests to services. The gateway implements it with its upstream client.
pub trait ServiceClient: Send + Sync {
    /// Sends a POST with JSON and reads the whole JSON of the response. Redirects are not followed.
    fn post<'a>(&'a self, request: ServiceRequest<'a>) -> ServiceResponseFuture<'a>;
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
    /// The id of the caller's request.
    pub id: &'a str,
    pub body: Bytes,
    pub within: Duration,
}

/// A response that is being received.
pub type ServiceResponseFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Bytes, ServiceCallError>> + Send + 'a>>;

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
