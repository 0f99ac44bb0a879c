//! The interface by which a filter fetches a file from a URL in a provider's response, within limits.

use super::streamed_reply::ReplyBodyReader;
use crate::catalog::channel::Origin;
use crate::catalog::credential::Credential;
use crate::catalog::egress::EgressPolicy;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode, header};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Fetches files. An implementation connects only to addresses that [`EgressPolicy`] permits, to exactly the address
/// that it checked, and sends no credentials.
pub trait ResponseFileFetcher: Send + Sync {
    /// Fetches the file at `url`.
    fn fetch<'a>(
        &'a self,
        url: &'a str,
        egress: &'a EgressPolicy,
        bounds: FetchLimits,
    ) -> FetchFuture<'a>;

    /// Opens the file at `url`, for a caller who gets it piece by piece.
    fn open<'a>(
        &'a self,
        url: &'a str,
        egress: &'a EgressPolicy,
        headers: &'a HeaderMap,
        credential: Option<FileCredential<'a>>,
    ) -> OpenFileFuture<'a>;

    /// Resolves the host of a URL that a caller named, and checks that the policy permits one of its addresses.
    fn check<'a>(&'a self, url: &'a str, egress: &'a EgressPolicy) -> UrlCheckFuture<'a>;
}

/// A check in progress.
pub type UrlCheckFuture<'a> = Pin<Box<dyn Future<Output = Result<(), FetchError>> + Send + 'a>>;

/// A fetch in progress.
pub type FetchFuture<'a> =
    Pin<Box<dyn Future<Output = Result<FetchedFile, FetchError>> + Send + 'a>>;

/// A channel's credential for its own files. It is sent only if the URL lies at the channel's host, and not after a redirect.
#[derive(Clone, Copy)]
pub struct FileCredential<'a> {
    pub origin: &'a Origin,
    pub credential: &'a Credential,
}

/// A file that is being opened.
pub type OpenFileFuture<'a> =
    Pin<Box<dyn Future<Output = Result<OpenedFile, FetchError>> + Send + 'a>>;

/// The request headers about the part of a file that a caller asks for. An opening sends no others of the caller.
pub const FILE_REQUEST_HEADERS: [HeaderName; 2] = [header::RANGE, header::IF_RANGE];

/// A file whose content is read piece by piece.
pub struct OpenedFile {
    /// 200, 206 or 416.
    pub status: StatusCode,
    /// What the server says of the content: its type, its range and its validators.
    pub headers: HeaderMap,
    /// Bytes of the body; `None` if the server does not say.
    pub length: Option<u64>,
    pub body: Box<dyn ReplyBodyReader>,
}

/// Limits of a fetch: file size in bytes, time, and redirects, each of which is checked as the URL is.
#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    pub bytes: usize,
    pub within: Duration,
    pub redirects: usize,
}

/// The most redirects that are followed to a file in a response.
pub const REDIRECTS_MAX: usize = 3;

/// A fetched file.
#[derive(Debug)]
pub struct FetchedFile {
    /// The media type that the server declared.
    pub content_type: Option<String>,
    /// The header `cache-control`.
    pub cache_control: Option<String>,
    pub content: Bytes,
}

/// Why a file could not be fetched, for the operator. Omits the URL, which may hold a secret.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct FetchError {
    pub reason: String,
    /// Whether a name server or this gateway is at fault: the same URL may be right later.
    pub is_temporary: bool,
}
