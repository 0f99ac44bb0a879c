//! What a failure proves about a channel: an error that one request can provoke counts only once another request gets the
//! same.

/// What a failed attempt proves about its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureEvidence {
    /// The gateway saw the failure itself, or the provider's status or code is unambiguous.
    Conclusive,
    /// The text of an error, or a 404: the request may have provoked it.
    Inconclusive(SuspectRequest),
}

/// A request that may have provoked the error that it got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspectRequest {
    pub fingerprint: RequestFingerprint,
    /// Whether the error may repeat a text of the request.
    pub is_quoted: bool,
}

/// Tells two requests apart: who sent them, and what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestFingerprint {
    /// Hash of the caller's name.
    pub caller: u64,
    /// Hash of the body as the caller sent it.
    pub body: u64,
    /// Whether the configuration has no other caller.
    pub is_sole_caller: bool,
}

impl RequestFingerprint {
    /// Whether a failure of `self` confirms the same failure of `earlier`: another caller sent it, or the only caller sent
    /// another body.
    pub fn confirms(self, earlier: Self) -> bool {
        self.caller != earlier.caller || (self.is_sole_caller && self.body != earlier.body)
    }
}
