//! What a filter may ask the gateway to fetch: a file at a URL that a provider gave, bounded.

use crate::catalog::egress::EgressPolicy;
use bytes::Bytes;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Fetches files. Whoever implements it goes only where [`EgressPolicy`] permits, to the very address that was
/// looked at, and shows no credential of anybody.
pub trait FileFetcher: Send + Sync {
    /// The file at `url`.
    fn fetch<'a>(
        &'a self,
        url: &'a str,
        egress: &'a EgressPolicy,
        bounds: FetchLimits,
    ) -> FetchFuture<'a>;
}

/// A file that is on its way.
pub type FetchFuture<'a> =
    Pin<Box<dyn Future<Output = Result<FetchedFile, FetchError>> + Send + 'a>>;

/// How large a file may be, and how long it may take.
#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    pub bytes: usize,
    pub within: Duration,
}

/// A file.
#[derive(Debug)]
pub struct FetchedFile {
    /// As its server declares it.
    pub content_type: Option<String>,
    pub content: Bytes,
}

/// Why there is no file, in words for the operator; without the URL, which may be a secret.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FetchError(pub String);
