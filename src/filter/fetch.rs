//! What a filter may ask the gateway to fetch: a file at a URL that a provider gave, bounded.

use crate::catalog::egress::Egress;
use bytes::Bytes;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Fetches files. Whoever implements it goes only where [`Egress`] permits, to the very address that was
/// looked at, and shows no credential of anybody.
pub trait Fetch: Send + Sync {
    /// The file at `url`.
    fn fetch<'a>(&'a self, url: &'a str, egress: &'a Egress, bounds: Bounds) -> Fetching<'a>;
}

/// A file that is on its way.
pub type Fetching<'a> = Pin<Box<dyn Future<Output = Result<Fetched, Unfetched>> + Send + 'a>>;

/// How large a file may be, and how long it may take.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub bytes: usize,
    pub within: Duration,
}

/// A file.
#[derive(Debug)]
pub struct Fetched {
    /// As its server declares it.
    pub content_type: Option<String>,
    pub content: Bytes,
}

/// Why there is no file, in words for the operator; without the URL, which may be a secret.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unfetched(pub String);
