//! The media store: files of callers under the SHA-256 of their content, for URLs that expire, and for large responses.
//!
//! Content is in an object store, what is known of it in durable records ([`RecordKind::MediaObject`]). A record is
//! written before its object and removed after it, so that no object is without one. Records decide every race between
//! gateways, since each change names the version that it replaces; every write of an object has a name of its own, so
//! that a late removal never hits a later write.
//!
//! [`RecordKind::MediaObject`]: crate::state::records::RecordKind::MediaObject

mod content;
mod content_type;
mod error;
mod object;
mod offload;
mod properties;
mod removal;
mod reservation;
mod response_body;
mod settings;
mod store;
#[cfg(test)]
mod tests;
pub mod token;
mod write;

/// The path of the gateway's own URLs of stored files, up to the token.
pub const MEDIA_PATH: &str = "/_headgate/media/";

pub use content::{ContentDigest, ContentHasher, ContentInfo};
pub use content_type::{content_type_of, declared_kind, runs_in_browsers};
pub use error::MediaStoreError;
pub use object::StoredObject;
pub use offload::{off_workers, within};
pub use properties::MediaProperties;
pub use settings::{LocalMediaSettings, MediaSettings};
pub use store::{MediaStore, ObjectReader};
