//! The id of a request, which is sent as a header to the caller and to the provider without a copy.

use bytes::Bytes;
use http::HeaderValue;
use std::fmt;
use std::ops::Deref;

/// A short text of visible ASCII. Clones share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// The id as the value of a header.
    pub fn header_value(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl Default for RequestId {
    fn default() -> Self {
        Self(HeaderValue::from_static(""))
    }
}

impl<const N: usize> From<[u8; N]> for RequestId {
    fn from(text: [u8; N]) -> Self {
        let shared = Bytes::from_owner(text);
        Self(HeaderValue::from_maybe_shared(shared).expect("ids are visible ASCII"))
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        let shared = Bytes::from_owner(Vec::from(text));
        Self(HeaderValue::from_maybe_shared(shared).expect("ids are visible ASCII"))
    }
}

impl Deref for RequestId {
    type Target = str;

    fn deref(&self) -> &str {
        self.0.to_str().expect("ids are visible ASCII")
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self)
    }
}
