//! The media store: files of callers under the SHA-256 of their content, for URLs that expire, and for large responses.
//!
//! Content is in an object store: a local directory, or a bucket of an S3-compatible server. What is known of it is in
//! durable records: one for each object ([`RecordKind::MediaObject`]), one for each caller and content, by which
//! callers are charged ([`RecordKind::MediaUse`]), and one for each copy of an uploaded file
//! ([`RecordKind::FileCopy`]). The record of an object is written before its object and removed after it, so that no
//! object is without one. Records decide every race between gateways, since each change names the version that it
//! replaces; every write of an object has a name of its own, so that a late removal never hits a later write.
//!
//! [`RecordKind::FileCopy`]: headgate_core::state::records::RecordKind::FileCopy
//! [`RecordKind::MediaObject`]: headgate_core::state::records::RecordKind::MediaObject
//! [`RecordKind::MediaUse`]: headgate_core::state::records::RecordKind::MediaUse

mod build;
mod config;
mod content;
mod content_type;
mod counters;
mod error;
pub mod feature;
mod file_copy;
pub mod filter;
mod findings;
pub mod hosting;
mod leftovers;
mod lifetime;
mod metrics;
mod object;
mod offload;
mod properties;
mod reader;
mod removal;
mod reservation;
mod response_body;
mod settings;
mod shared;
mod storage;
mod store;
#[cfg(test)]
mod tests;
pub mod token;
mod upkeep;
mod usage;
mod usage_cache;
mod writable;
mod write;

/// The path of the gateway's own URLs of stored files, up to the token.
pub const MEDIA_PATH: &str = "/_headgate/media/";

pub use content::{ContentDescriptor, ContentDigest, ContentHasher, split_pieces};
pub use content_type::{declared_kind, detect_content_type, runs_in_browsers};
pub use error::MediaStoreError;
pub use file_copy::{FileCopy, RequestFileCopies};
pub use object::StoredObject;
pub use offload::{off_workers, within};
pub use properties::MediaProperties;
pub use reader::ObjectReader;
pub use settings::{MediaLimits, MediaLocation, MediaSettings};
pub use shared::{CopyMemoryPermit, SharedMediaState};
pub use store::MediaStore;
