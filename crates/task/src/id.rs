//! Sealed task ids, which contain everything that a poll needs, encrypted with the gateway's key.

mod fields;
#[cfg(test)]
mod tests;

use super::requested_format::RequestedVideoFormat;
use std::fmt;

use aes_siv::KeyInit;
use aes_siv::siv::Aes256Siv;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use headgate_protocol::hex::HexDisplay;
use sha2::{Digest, Sha256, Sha512};

/// The prefix of every sealed id.
pub const PREFIX: &str = "task_";

/// The prefix of a sealed id in lower case, which has hexadecimal digits behind it.
const LOWER_CASE_PREFIX: &str = "task";

/// The minimum length of a key, in characters.
pub const KEY_CHARS_MIN: usize = 32;

/// Longer texts are refused at once. An id has two characters for each byte of its fields, of which the provider's id and URL
/// have at most 1.5 KiB, and the names of caller, channel and model a few hundred bytes.
const ID_CHARS_MAX: usize = 8192;

/// Authenticated with each id, so that a key which is also used for another purpose cannot open ids made for that
/// purpose.
const PURPOSE: &[u8] = b"headgate task id";

/// A task at a provider, and its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskId {
    /// The name of the caller that created it.
    pub caller: String,
    /// The name of the channel that it was created on.
    pub channel: String,
    /// The fingerprint of the credential that it was created with, by [`credential_fingerprint`].
    pub credential: u64,
    /// The model as the caller named it.
    pub model: String,
    /// The time of creation, in Unix seconds.
    pub created: u64,
    /// The requested ratio, such as `16:9`; the provider may not repeat it.
    pub ratio: Option<String>,
    /// The provider's id.
    pub upstream: String,
    /// The name of the channel's family.
    pub family: String,
    /// What a create in OpenAI's format asked for, which its objects repeat; nothing for other formats.
    pub requested: RequestedVideoFormat,
    /// Where the status is queried if the provider named a URL: its path and query below the channel's base URL, or a URL on
    /// another host.
    pub query_url: Option<String>,
}

/// The keys of task ids: the first one seals, all of them open.
pub struct TaskIdKeyRing {
    first: TaskIdKey,
    others: Vec<TaskIdKey>,
}

/// The text is not an id of this gateway: it is forged, truncated or altered, or was sealed with an unknown key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown task id")]
pub struct UnknownTask;

/// The key has fewer than [`KEY_CHARS_MIN`] characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a task key must have at least {KEY_CHARS_MIN} characters; `headgate key task` prints one")]
pub struct TaskIdKeyTooShort;

/// The two keys of AES-256-SIV (RFC 5297), derived from a text.
#[derive(Clone)]
pub struct TaskIdKey([u8; 64]);

impl TaskIdKey {
    /// # Errors
    /// The text is too short.
    pub fn new(secret: &str) -> Result<Self, TaskIdKeyTooShort> {
        if secret.chars().count() < KEY_CHARS_MIN {
            return Err(TaskIdKeyTooShort);
        }
        let hash = Sha512::new().chain_update(PURPOSE).chain_update([0]);
        Ok(Self(hash.chain_update(secret).finalize().into()))
    }

    fn cipher(&self) -> Aes256Siv {
        Aes256Siv::new((&self.0).into())
    }
}

impl TaskIdKeyRing {
    pub fn new(first: TaskIdKey, others: Vec<TaskIdKey>) -> Self {
        Self { first, others }
    }

    /// The id of the task for its caller. Equal tasks have equal ids.
    pub fn seal(&self, task: &TaskId) -> String {
        let sealed = self.seal_bytes(PURPOSE, &fields::encode(task));
        let mut id = PREFIX.to_owned();
        URL_SAFE_NO_PAD.encode_string(sealed, &mut id);
        id
    }

    /// The id of another task of the same caller and channel, by the provider's id of it.
    pub fn seal_sibling(&self, task: &TaskId, upstream: &str) -> String {
        self.seal(&TaskId {
            upstream: upstream.into(),
            query_url: None,
            ..task.clone()
        })
    }

    /// Opens an id, whichever caller sent it. For callers use [`Self::open_for`].
    ///
    /// # Errors
    /// The gateway did not create this id.
    pub fn open(&self, id: &str) -> Result<TaskId, UnknownTask> {
        if id.len() > ID_CHARS_MAX {
            return Err(UnknownTask);
        }
        let sealed = sealed_bytes(id).ok_or(UnknownTask)?;
        let opened = self.open_bytes(PURPOSE, &sealed).ok_or(UnknownTask)?;
        fields::decode(&opened).ok_or(UnknownTask)
    }

    /// Opens an id of this caller. For ids of other callers the error is the same as for unknown ids.
    ///
    /// # Errors
    /// The gateway did not create this id for this caller.
    pub fn open_for(&self, caller: &str, id: &str) -> Result<TaskId, UnknownTask> {
        let task = self.open(id)?;
        (task.caller == caller).then_some(task).ok_or(UnknownTask)
    }

    /// Encrypts and authenticates with the first key, for `purpose`.
    ///
    /// # Panics
    /// Never: AES-SIV seals texts of any length that fits into memory.
    pub fn seal_bytes(&self, purpose: &[u8], plain: &[u8]) -> Vec<u8> {
        let sealed = self.first.cipher().encrypt([purpose], plain);
        sealed.expect("one header is far below the limit of AES-SIV")
    }

    /// A secret of all gateways with the same first key, for `purpose`: the synthetic IV of nothing.
    pub fn derived_secret(&self, purpose: &[u8]) -> Vec<u8> {
        self.seal_bytes(purpose, b"")
    }

    /// What [`Self::seal_bytes`] sealed for `purpose`, with any of the keys; `None` for anything else.
    pub fn open_bytes(&self, purpose: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let mut keys = std::iter::once(&self.first).chain(&self.others);
        keys.find_map(|key| key.cipher().decrypt([purpose], sealed).ok())
    }
}

/// A sealed id with nothing but lower-case letters and digits, as some SDKs expect the names of files. It is opened like
/// the id itself.
pub fn in_lower_case(id: &str) -> String {
    let sealed = sealed_bytes(id).unwrap_or_default();
    format!("{LOWER_CASE_PREFIX}{}", HexDisplay(&sealed))
}

fn sealed_bytes(id: &str) -> Option<Vec<u8>> {
    if let Some(sealed) = id.strip_prefix(PREFIX) {
        return URL_SAFE_NO_PAD.decode(sealed).ok();
    }
    let digits = id.strip_prefix(LOWER_CASE_PREFIX)?.as_bytes();
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes = pairs
        .iter()
        .map(|[high, low]| Some(value(*high)? << 4 | value(*low)?));
    bytes.collect::<Option<_>>().filter(|_| rest.is_empty())
}

/// Identifies a channel's credential in ids; the same in every gateway and version.
pub fn credential_fingerprint(secret: &str) -> u64 {
    let hash = Sha256::new().chain_update(PURPOSE).chain_update([1]);
    let hash: [u8; 32] = hash.chain_update(secret).finalize().into();
    let [a, b, c, d, e, f, g, h, ..] = hash;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

impl fmt::Debug for TaskIdKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Debug for TaskIdKeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRing of {}", 1 + self.others.len())
    }
}
