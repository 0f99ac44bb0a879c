//! How an exchange ended, as one value for filters, metrics and logs.

/// How an exchange ended. Every exchange has exactly one settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExchangeSettlement {
    /// The caller received the provider's whole response.
    Complete,
    /// The caller closed the connection, or reset the stream, before the end.
    ClientCancelled,
    /// The caller did not read its response within `write_timeout`.
    WriteTimeout,
    /// The provider's response broke off, or a stored one that the gateway sent in its place.
    UpstreamCut,
    /// A service denied the rest of a stream that had begun, or could not check it.
    Denied,
    /// A budget in money was used up while a stream ran, and it cuts streams.
    BudgetCut,
    /// The provider sent an error response, or none.
    UpstreamError,
    /// The gateway sent a local reply.
    GatewayReply,
    /// Like `Complete`, but the provider did not report the expected token usage.
    UsageMissing,
    /// Like `Complete`, but the token usage that the provider reported cannot be true, and is not counted.
    UsageImplausible,
}

impl ExchangeSettlement {
    /// The value in metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::ClientCancelled => "client_cancelled",
            Self::WriteTimeout => "write_timeout",
            Self::UpstreamCut => "upstream_cut",
            Self::Denied => "denied",
            Self::BudgetCut => "budget_cut",
            Self::UpstreamError => "upstream_error",
            Self::GatewayReply => "gateway_reply",
            Self::UsageMissing => "usage_missing",
            Self::UsageImplausible => "usage_implausible",
        }
    }
}
