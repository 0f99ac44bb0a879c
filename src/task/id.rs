//! Sealed task ids: everything a poll needs to know is in the id, and only this gateway can read or make one.

mod fields;
#[cfg(test)]
mod tests;

use std::fmt;

use aes_siv::KeyInit;
use aes_siv::siv::Aes256Siv;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256, Sha512};

/// What every sealed id begins with.
pub const PREFIX: &str = "task_";

/// Characters of a key at least.
pub const KEY_CHARS_MIN: usize = 32;

/// Longer texts are not looked into: no id of ours is anywhere near.
const ID_CHARS_MAX: usize = 4096;

/// Bound to each sealing, so that a secret used elsewhere, too, opens nothing made there.
const PURPOSE: &[u8] = b"headgate task id";

/// A task at a provider, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskId {
    /// Name of the caller that created it.
    pub caller: String,
    /// Name of the channel that it was created on.
    pub channel: String,
    /// Of the key that it was created with, by [`credential_fingerprint`].
    pub credential: u64,
    /// The model as the caller named it.
    pub model: String,
    /// Unix seconds.
    pub created: u64,
    /// The ratio that was asked for, such as `16:9`; the provider may not repeat it.
    pub ratio: Option<String>,
    /// The provider's id.
    pub upstream: String,
    /// Name of the family that the channel speaks.
    pub family: String,
}

/// The keys that ids are sealed with: the first one seals, all open.
pub struct TaskKeyRing {
    first: TaskKey,
    others: Vec<TaskKey>,
}

/// The text is no id that this gateway made: forged, cut, altered, or sealed with a key it does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown task id")]
pub struct UnknownTask;

/// A key is too short to be one: it has fewer than [`KEY_CHARS_MIN`] characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a task key must have at least {KEY_CHARS_MIN} characters; `headgate key task` prints one")]
pub struct TaskKeyTooShort;

/// A text made into the two keys of AES-256-SIV (RFC 5297).
#[derive(Clone)]
pub struct TaskKey([u8; 64]);

impl TaskKey {
    /// # Errors
    /// If the text is too short.
    pub fn new(secret: &str) -> Result<Self, TaskKeyTooShort> {
        if secret.chars().count() < KEY_CHARS_MIN {
            return Err(TaskKeyTooShort);
        }
        let hash = Sha512::new().chain_update(PURPOSE).chain_update([0]);
        Ok(Self(hash.chain_update(secret).finalize().into()))
    }

    fn cipher(&self) -> Aes256Siv {
        Aes256Siv::new((&self.0).into())
    }
}

impl TaskKeyRing {
    pub fn new(first: TaskKey, others: Vec<TaskKey>) -> Self {
        Self { first, others }
    }

    /// The id under which callers know the task. Equal tasks have equal ids.
    ///
    /// # Panics
    /// Never: AES-SIV seals texts of any length that fits into memory.
    pub fn seal(&self, task: &TaskId) -> String {
        let sealed = self
            .first
            .cipher()
            .encrypt([PURPOSE], &fields::encode(task));
        let sealed = sealed.expect("one header is far below the limit of AES-SIV");
        let mut id = PREFIX.to_owned();
        URL_SAFE_NO_PAD.encode_string(sealed, &mut id);
        id
    }

    /// What an id stands for, whoever asks. For callers there is [`Self::open_for`].
    ///
    /// # Errors
    /// If this gateway did not make it.
    pub fn open(&self, id: &str) -> Result<TaskId, UnknownTask> {
        if id.len() > ID_CHARS_MAX {
            return Err(UnknownTask);
        }
        let sealed = id.strip_prefix(PREFIX).ok_or(UnknownTask)?;
        let sealed = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| UnknownTask)?;
        let keys = std::iter::once(&self.first).chain(&self.others);
        let opened = keys
            .filter_map(|key| key.cipher().decrypt([PURPOSE], &sealed).ok())
            .next();
        fields::decode(&opened.ok_or(UnknownTask)?).ok_or(UnknownTask)
    }

    /// What an id stands for, if it is of this caller; no caller learns that another's id exists.
    ///
    /// # Errors
    /// If this gateway did not make it for this caller.
    pub fn open_for(&self, caller: &str, id: &str) -> Result<TaskId, UnknownTask> {
        let task = self.open(id)?;
        (task.caller == caller).then_some(task).ok_or(UnknownTask)
    }
}

/// Tells the keys of a channel apart in ids; the same on every edge, in every version.
pub fn credential_fingerprint(secret: &str) -> u64 {
    let hash = Sha256::new().chain_update(PURPOSE).chain_update([1]);
    let hash: [u8; 32] = hash.chain_update(secret).finalize().into();
    let [a, b, c, d, e, f, g, h, ..] = hash;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

impl fmt::Debug for TaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Debug for TaskKeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRing of {}", 1 + self.others.len())
    }
}
