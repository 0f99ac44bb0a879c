//! How an exchange ended.

/// How an exchange ended: exactly one of these, whatever happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Settlement {
    /// The provider's answer reached the caller whole.
    Complete,
    /// The caller left first.
    ClientCancelled,
    /// The caller did not take its response within `write_deadline`.
    WriteDeadline,
    /// The provider's answer broke off.
    UpstreamCut,
    /// The provider answered with an error, or not at all.
    UpstreamError,
    /// The gateway answered by itself.
    GatewayReply,
    /// As `Complete`, but the provider told no usage where one was expected.
    UsageMissing,
}

impl Settlement {
    /// The word for metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::ClientCancelled => "client_cancelled",
            Self::WriteDeadline => "write_deadline",
            Self::UpstreamCut => "upstream_cut",
            Self::UpstreamError => "upstream_error",
            Self::GatewayReply => "gateway_reply",
            Self::UsageMissing => "usage_missing",
        }
    }
}
