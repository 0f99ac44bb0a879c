//! What is known of a stored object, as its record holds it.

use super::content::ContentDigest;
use bytes::Bytes;
use headgate_core::state::calendar::{unix_ms, whole_ms};
use headgate_core::state::records::RecordContent;
use object_store::path::Path;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a gateway may write without a sign of life before another one takes over.
pub(super) const WRITE_LEASE: Duration = Duration::from_secs(30);
/// How long an object outlives its expiry, so that whoever began to read it before that reads it to its end.
const REMOVAL_GRACE: Duration = Duration::from_secs(10 * 60);
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
        Path::from(format!("{}/{}", object_folder(key), self.name(key)))
    }

    /// The name within its folder.
    pub fn name(&self, key: &str) -> String {
        format!("{key}-{:016x}", self.write)
    }

    /// Whether the object may be removed at `now_ms`.
    pub fn is_due(&self, now_ms: u64) -> bool {
        match self.state {
            ObjectState::Stored => self.expires_s * 1000 + whole_ms(REMOVAL_GRACE) <= now_ms,
            ObjectState::Writing { lease_until_ms } => lease_until_ms <= now_ms,
            ObjectState::Removing => true,
        }
    }

    /// The content of the record under `key`. Objects belong to no caller; the store counts records by owner, and the
    /// owners here keep these counts small.
    pub fn content(&self, key: &str) -> RecordContent {
        let expires_ms = self.expires_s * 1000;
        let due_ms = match self.state {
            ObjectState::Writing { lease_until_ms } => lease_until_ms,
            ObjectState::Stored => expires_ms + whole_ms(REMOVAL_GRACE),
            ObjectState::Removing => unix_ms() + whole_ms(WRITE_LEASE),
        };
        RecordContent {
            value: self.value(),
            owner: format!("media/{}", object_folder(key)).into(),
            expires_ms: expires_ms + whole_ms(RECORD_GRACE),
            due_ms: Some(due_ms),
        }
    }

    /// The content of the record while its object is removed.
    pub fn removing(&self, key: &str) -> RecordContent {
        let removing = Self {
            state: ObjectState::Removing,
            ..self.clone()
        };
        removing.content(key)
    }
}

/// The folder of an object: the first two digits of its digest.
fn object_folder(key: &str) -> &str {
    key.get(..2).unwrap_or("00")
}

/// The digest, as the key of a record, in the name of an object.
pub(super) fn key_in_name(name: &str) -> Option<&str> {
    let (key, write) = name.split_at_checked(64)?;
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let write = write.strip_prefix('-')?;
    (is_hex(key) && write.len() == 16 && is_hex(write)).then_some(key)
}

/// A number for the name of a write.
pub(super) fn random_write() -> u64 {
    let mut bytes = [0; 8];
    // Only two writes of the same content within the lease of one need to differ.
    let _ = getrandom::fill(&mut bytes);
    u64::from_ne_bytes(bytes)
}
