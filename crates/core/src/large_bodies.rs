//! The interface to whoever keeps large bodies of responses for retries: the media store.

use bytes::Bytes;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Keeps bodies of responses that are too large for a record. No URL leads to them.
pub trait LargeResponseStore: Send + Sync {
    /// Stores a body for at least `lifetime`. It counts apart from the files of its caller, with the same maximum.
    ///
    /// # Errors
    /// The body could not be stored before the deadline.
    fn put<'a>(
        &'a self,
        caller: &'a str,
        body: Bytes,
        lifetime: Duration,
        deadline: BodyStoreRetryPolicy,
    ) -> LargeBodyFuture<'a, StoredBodyReference>;

    /// Opens a body; `None` if it has expired, or somebody else has removed it.
    ///
    /// # Errors
    /// The store is unreachable.
    fn open<'a>(
        &'a self,
        body: &'a StoredBodyReference,
    ) -> LargeBodyFuture<'a, Option<Box<dyn LargeResponseReader>>>;

    /// How long files are kept that responses name by URLs.
    fn file_lifetime(&self) -> Duration;
}

/// Reads a stored body.
pub trait LargeResponseReader: Send {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// The store is unreachable, or the body is not complete any more.
    fn next_piece(&mut self) -> LargeBodyFuture<'_, Option<Bytes>>;
}

/// An operation of a store; the error is for the operator.
pub type LargeBodyFuture<'a, T> =
    Pin<Box<dyn Future<Output = Result<T, Box<dyn Error + Send + Sync>>> + Send + 'a>>;

/// The store of a snapshot, as a feature adds it to the values of all.
pub struct LargeResponseStoreHandle(pub Arc<dyn LargeResponseStore>);

/// A body that is stored.
pub struct StoredBodyReference {
    /// The SHA-256 of its bytes, as 64 hexadecimal digits.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
}

/// How long storing the body of a response is tried.
#[derive(Clone, Copy, Debug)]
pub struct BodyStoreRetryPolicy {
    pub max_wait: Duration,
    /// How long after a failure it is tried again, if `max_wait` permits that.
    pub retry_interval: Duration,
}

impl BodyStoreRetryPolicy {
    /// Of a response that its caller waits for.
    pub const BEFORE_DELIVERY: Self = Self {
        max_wait: Duration::from_secs(10),
        retry_interval: Duration::from_secs(10),
    };
    /// Of a stream that was delivered, or whose caller has left: only its duplicates wait.
    pub const AFTER_DELIVERY: Self = Self {
        max_wait: Duration::from_secs(5 * 60),
        retry_interval: Duration::from_secs(10),
    };
}
