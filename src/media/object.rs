//! What is known of a stored object, as its record holds it.

use super::content::ContentDigest;
use crate::state::calendar::{unix_ms, whole_ms};
use crate::state::records::RecordContent;
use bytes::Bytes;
use object_store::path::Path;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// How long a gateway may write without a sign of life before another one takes over.
pub(super) const WRITE_LEASE: Duration = Duration::from_secs(30);
/// How long a record outlives its object's expiry, so that whoever removes objects still finds it.
const RECORD_GRACE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// An object of the store, complete and not expired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredObject {
    pub digest: ContentDigest,
    pub size: u64,
    /// Unix seconds.
    pub expires_s: u64,
    pub(super) location: Path,
}

/// The value of a record.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct ObjectRecord {
    pub state: ObjectState,
    /// In the name of the object: each write has another one.
    pub write: u64,
    pub size: u64,
    /// Unix seconds until which the object is needed.
    pub expires_s: u64,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum ObjectState {
    /// A gateway writes the object, and renews its lease meanwhile.
    Writing { lease_until_ms: u64 },
    /// The object is complete.
    Stored,
    /// A gateway removes the object, then this record.
    Removing,
}

impl ObjectRecord {
    /// `None` if the record was written by another version of the program.
    pub fn read(value: &[u8]) -> Option<Self> {
        serde_json::from_slice(value).ok()
    }

    pub fn value(&self) -> Bytes {
        serde_json::to_vec(self)
            .expect("a record of plain fields is JSON")
            .into()
    }

    /// The name of the object in the object store.
    pub fn location(&self, key: &str) -> Path {
        let folder = key.get(..2).unwrap_or("00");
        Path::from(format!("{folder}/{key}-{:016x}", self.write))
    }

    pub fn content(&self, owner: &Arc<str>) -> RecordContent {
        let expires_ms = self.expires_s * 1000;
        let due_ms = match self.state {
            ObjectState::Writing { lease_until_ms } => lease_until_ms,
            ObjectState::Stored => expires_ms,
            ObjectState::Removing => unix_ms() + whole_ms(WRITE_LEASE),
        };
        RecordContent {
            value: self.value(),
            owner: owner.clone(),
            expires_ms: expires_ms + whole_ms(RECORD_GRACE),
            due_ms: Some(due_ms),
        }
    }

    /// The content of the record while its object is removed.
    pub fn removing(&self, owner: &Arc<str>) -> RecordContent {
        let removing = Self {
            state: ObjectState::Removing,
            ..self.clone()
        };
        removing.content(owner)
    }
}

/// A number for the name of a write.
pub(super) fn random_write() -> u64 {
    let mut bytes = [0; 8];
    // Only two writes of the same content within the lease of one need to differ.
    let _ = getrandom::fill(&mut bytes);
    u64::from_ne_bytes(bytes)
}
