//! The model of a session: the caller's name for it and the channel's.

use bytes::Bytes;

/// The model of a session, which its handshake has named.
#[derive(Clone, Debug)]
pub struct SessionModel {
    /// As callers name it.
    pub name: String,
    /// The channel's name for it, as JSON.
    pub channel_name: Bytes,
}
