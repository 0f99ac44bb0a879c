//! Encodes server-sent events.

use super::json::JsonText;
use bytes::Bytes;

/// An event with an optional name and its data.
pub fn sse(name: Option<&str>, data: &JsonText) -> Bytes {
    let data = data.as_bytes();
    let mut event = Vec::with_capacity(data.len() + 64);
    if let Some(name) = name {
        for part in ["event: ", name, "\n"] {
            event.extend_from_slice(part.as_bytes());
        }
    }
    event.extend_from_slice(b"data: ");
    event.extend_from_slice(data);
    event.extend_from_slice(b"\n\n");
    event.into()
}
