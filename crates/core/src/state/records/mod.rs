//! Durable records: small values under keys. Every operation is awaited, and every change names the version it replaces.
//!
//! Unlike the other state, which is queued, a change is stored when its operation returns: in the file, or in Redis.
//! Features that must not lose or double work build on it, each with a [`RecordKind`] of its own.

pub mod memory;
pub mod unavailable;

use super::StoreFuture;
use bytes::Bytes;
use headgate_protocol::hex::HexDisplay;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;

/// Largest value of a record, in bytes; larger content belongs to the media store.
pub const RECORD_BYTES_MAX: usize = 128 << 10;
/// How long an operation may take before it fails with [`StoreUnavailable`](super::StoreUnavailable).
pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(5);

/// Declares the kinds of records: a variant, and its name in stores.
macro_rules! record_kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// What a record is about. Each kind has keys of its own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum RecordKind {
            $($(#[$doc])* $kind,)*
        }

        impl RecordKind {
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The name in stores.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

record_kinds! {
    /// An `Idempotency-Key` of a caller on a route.
    IdempotencyKey = "idempotency_key",
    /// A paid create, from before its first byte is sent.
    PaidCreate = "paid_create",
    /// A subscription to the status changes of a task.
    Subscription = "subscription",
    /// One event that waits for its delivery to a caller.
    Delivery = "delivery",
    /// One event that could not be delivered.
    DeadLetter = "dead_letter",
    /// An object of the media store.
    MediaObject = "media_object",
    /// A caller's use of an object of the media store.
    MediaUse = "media_use",
    /// A file that a caller uploaded to a provider, and its copy in the media store.
    FileCopy = "file_copy",
    /// A response that is sent again for an equal request.
    CachedResponse = "cached_response",
    /// A video task that its caller has deleted.
    DeletedTask = "deleted_task",
    /// The cost of a video task whose end is not known yet.
    TaskCost = "task_cost",
    /// A finding that waits for its delivery to a receiver of alerts.
    Alert = "alert",
    /// The findings that a gateway has sent to receivers of alerts.
    AnnouncedFindings = "announced_findings",
    /// What one process counted of the use of a day.
    UsageDay = "usage_day",
    /// Thoughts of a model for a caller that gives back only a handle of them, sealed.
    KeptThoughts = "kept_thoughts",
    /// A file of a caller with the checked requests of a batch.
    BatchFile = "batch_file",
    /// A batch of a caller, and each file of its results.
    Batch = "batch",
    /// A caller that the admin pages have made, sealed.
    IssuedCaller = "issued_caller",
    /// A change of such a caller, for the other gateways.
    CallerChange = "caller_change",
}

/// The key of a record about something of an owner, by its id: unique for both, in plain characters, and without either.
pub fn owned_key(owner: &str, id: &str) -> String {
    let mut hasher = Sha256::new();
    for text in [owner, id] {
        hasher.update((text.len() as u64).to_be_bytes());
        hasher.update(text);
    }
    HexDisplay(&hasher.finalize()).to_string()
}

/// What is stored under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordContent {
    pub value: Bytes,
    /// The caller whom the record counts for.
    pub owner: Arc<str>,
    /// Unix milliseconds; from then on the record does not exist.
    pub expires_ms: u64,
    /// Unix milliseconds from which [`RecordStore::due`] returns the record; `None` for never.
    pub due_ms: Option<u64>,
}

/// A stored record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub key: Arc<str>,
    /// Changes with each replacement, and is never used again, not even after the store lost its records.
    pub version: u64,
    pub content: RecordContent,
}

/// How many records of a kind there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCount {
    /// May include some that have expired.
    pub count: u64,
    /// When the first of those expires that may become due, in Unix milliseconds; Redis looks at the earliest due only.
    pub first_expiry_ms: Option<u64>,
}

/// The result of an insertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InsertResult {
    Inserted {
        version: u64,
    },
    /// The key has a record, which stays as it is.
    Exists(Record),
    /// The owner has as many records of this kind as it may have.
    OwnerFull,
}

/// Operations on durable records.
///
/// # Errors
/// All of them fail with [`StoreUnavailable`](super::StoreUnavailable) if the store is unreachable, full, or slower than
/// [`OPERATION_TIMEOUT`]. A change that failed so may have been stored.
pub trait RecordStore: Send + Sync {
    /// Whether records survive the end of the process.
    fn is_durable(&self) -> bool;

    /// Stores a record under a key that has none. `owner_max` limits the records of this kind that the owner may have.
    fn insert<'a>(
        &'a self,
        kind: RecordKind,
        key: &'a str,
        content: RecordContent,
        owner_max: u32,
    ) -> StoreFuture<'a, InsertResult>;

    /// Replaces the record if it still has `version`; returns its new version, or `None` if it changed or is gone.
    fn replace<'a>(
        &'a self,
        kind: RecordKind,
        key: &'a str,
        version: u64,
        content: RecordContent,
    ) -> StoreFuture<'a, Option<u64>>;

    /// Removes the record if it still has `version`; returns whether it was removed.
    fn remove<'a>(&'a self, kind: RecordKind, key: &'a str, version: u64) -> StoreFuture<'a, bool>;

    /// The record under a key.
    fn get<'a>(&'a self, kind: RecordKind, key: &'a str) -> StoreFuture<'a, Option<Record>>;

    /// Records that are due at `now_ms`, the earliest first, at most `limit`.
    fn due(&self, kind: RecordKind, now_ms: u64, limit: usize) -> StoreFuture<'_, Vec<Record>>;

    /// Counts the records of a kind without reading their values.
    fn count(&self, kind: RecordKind) -> StoreFuture<'_, RecordCount>;

    /// Records in the order of their keys, from the first after `after`, at most `limit`.
    fn list<'a>(
        &'a self,
        kind: RecordKind,
        after: &'a str,
        limit: usize,
    ) -> StoreFuture<'a, Vec<Record>>;
}
