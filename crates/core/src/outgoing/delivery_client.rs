//! The interface by which events are sent to URLs of callers.

use crate::catalog::egress::EgressPolicy;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Sends events. An implementation connects only to addresses that [`EgressPolicy`] permits, to exactly the address that
/// it checked, follows no redirects, and has its own timeout.
pub trait DeliveryClient: Send + Sync {
    /// Sends a POST.
    fn post<'a>(&'a self, event: EventPost<'a>, egress: &'a EgressPolicy) -> SendEventFuture<'a>;

    /// The host and port of a URL, which deliveries are limited by; `None` if it is no URL that can be called.
    fn receiver_authority(&self, url: &str) -> Option<String>;
}

/// A POST to a receiver.
pub struct EventPost<'a> {
    pub url: &'a str,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// An attempt in progress.
pub type SendEventFuture<'a> =
    Pin<Box<dyn Future<Output = Result<EventResponse, SendEventError>> + Send + 'a>>;

/// What the receiver responded; its body does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventResponse {
    pub status: StatusCode,
    pub retry_after: Option<Duration>,
}

/// Why there was no response, for the operator. Omits the URL, which may contain a secret.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SendEventError(pub String);
