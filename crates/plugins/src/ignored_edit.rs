//! What plugins change of messages and the gateway does not take over, logged instead of dropped in silence.

use std::sync::atomic::{AtomicU16, Ordering};

/// A change that the gateway does not take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoredEdit {
    /// `:method` of a request.
    Method,
    /// `:authority` of a request.
    Authority,
    /// `:scheme` of a request.
    Scheme,
    /// A header of a request that carries a credential and is not granted.
    Credential,
    /// A header that describes the connection or the length of the body.
    Connection,
    /// A status that has no body, such as 204.
    BodilessStatus,
    /// The head of a response that was sent already.
    SentHead,
}

/// Which ignored edits of a plugin were logged.
#[derive(Default)]
pub struct LoggedIgnoredEdits(AtomicU16);

impl IgnoredEdit {
    /// For the log.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Method => "`:method` of the request; the gateway keeps it",
            Self::Authority => "`:authority` of the request; the channel has the host",
            Self::Scheme => "`:scheme` of the request; the gateway keeps it",
            Self::Credential => {
                "a header of the request that carries a credential; grant it with `grants.request_headers`"
            }
            Self::Connection => {
                "a header of the connection or the body's length; the gateway sets it"
            }
            Self::BodilessStatus => {
                "a status of a response without a body; use 200 to 599 but not 204, 205 and 304"
            }
            Self::SentHead => {
                "the head of a response that was sent already; change it in `proxy_on_response_headers`"
            }
        }
    }
}

impl LoggedIgnoredEdits {
    /// Whether this is the first edit of its kind.
    pub fn is_first(&self, edit: IgnoredEdit) -> bool {
        let bit = 1 << edit as u16;
        // Most plugins make the same edit for each request.
        self.0.load(Ordering::Relaxed) & bit == 0
            && self.0.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }
}
