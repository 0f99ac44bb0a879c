//! The id of a request, which is sent as a header to the caller and to the provider without a copy.

use bytes::Bytes;
use http::HeaderValue;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A short text of visible ASCII. Clones share it. A pointer, since each request has several for its whole time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(Arc<HeaderValue>);

impl RequestId {
    /// The id as the value of a header.
    pub fn header_value(&self) -> HeaderValue {
        HeaderValue::clone(&self.0)
    }

    fn from_shared(text: Bytes) -> Self {
        let value = HeaderValue::from_maybe_shared(text).expect("ids are visible ASCII");
        Self(Arc::new(value))
    }
}

impl<const N: usize> From<[u8; N]> for RequestId {
    fn from(text: [u8; N]) -> Self {
        Self::from_shared(Bytes::from_owner(text))
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self::from_shared(Bytes::from_owner(Vec::from(text)))
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
