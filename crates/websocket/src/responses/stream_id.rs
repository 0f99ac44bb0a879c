//! Names of the parallel conversations on one WebSocket.

use std::fmt;
use std::sync::Arc;

/// Maximum length, in bytes.
const BYTES_MAX: usize = 256;

/// The `stream_id` of a `response.create`: ASCII letters, digits, `_`, `-` and `.`, so that it needs no escapes in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StreamId(Arc<str>);

impl StreamId {
    /// `None` for a text that is no name.
    pub fn parse(text: &str) -> Option<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let is_name = (1..=BYTES_MAX).contains(&text.len()) && text.bytes().all(is_allowed);
        is_name.then(|| Self(text.into()))
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
