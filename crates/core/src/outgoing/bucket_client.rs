//! The interface to whoever sends HTTP requests to a bucket.

use bytes::Bytes;
use http::{Request, Response};
use std::future::Future;
use std::pin::Pin;

/// Sends requests to the server of a bucket. The gateway implements it with its upstream client.
pub trait BucketClient: Send + Sync {
    /// Sends a request with an absolute URI as it is, and reads the whole response. The request may be repeated.
    fn send(&self, request: Request<Bytes>) -> BucketResponseFuture<'_>;
}

/// A response that is being received.
pub type BucketResponseFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Response<Bytes>, BucketRequestError>> + Send + 'a>>;

/// Why a request got no response.
#[derive(Debug, thiserror::Error)]
pub enum BucketRequestError {
    #[error("cannot connect: {0}")]
    Connect(String),
    #[error("timeout: {0}")]
    Timeout(String),
    #[error("{0}")]
    Broken(String),
    #[error("the process has no client for buckets yet")]
    NoClient,
}
