//! Which side caused a failed request: the caller, the gateway or the provider.

use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_protocol::fault::FaultKind;

/// The side that caused the failure of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorSide {
    Caller,
    Gateway,
    Upstream,
}

impl ErrorSide {
    pub const ALL: [Self; 3] = [Self::Caller, Self::Gateway, Self::Upstream];

    /// The name on the admin pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Gateway => "gateway",
            Self::Upstream => "upstream",
        }
    }

    /// The side that caused the failure of a request; `None` if it succeeded.
    pub fn from_settlement(
        settlement: ExchangeSettlement,
        status: u16,
        fault: Option<FaultKind>,
    ) -> Option<Self> {
        match settlement {
            ExchangeSettlement::Complete
            | ExchangeSettlement::UsageMissing
            | ExchangeSettlement::UsageImplausible => None,
            ExchangeSettlement::ClientCancelled
            | ExchangeSettlement::WriteTimeout
            | ExchangeSettlement::Denied
            | ExchangeSettlement::BudgetCut => Some(Self::Caller),
            ExchangeSettlement::UpstreamError if is_about_request(status) => Some(Self::Caller),
            ExchangeSettlement::UpstreamError | ExchangeSettlement::UpstreamCut => {
                Some(Self::Upstream)
            }
            // Channels are unusable because of what providers did before.
            ExchangeSettlement::GatewayReply if fault == Some(FaultKind::NoChannel) => {
                Some(Self::Upstream)
            }
            ExchangeSettlement::GatewayReply => match status {
                0..400 => None,
                400..500 => Some(Self::Caller),
                _ => Some(Self::Gateway),
            },
        }
    }
}

/// Whether a provider's error is about what the caller sent. The other statuses below 500 are about the gateway's credential,
/// its account, its rate, and a timeout of the provider.
fn is_about_request(status: u16) -> bool {
    matches!(status, 400..500) && !matches!(status, 401 | 402 | 408 | 429)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_the_side_that_caused_it() {
        for (settlement, status, fault, side) in [
            (ExchangeSettlement::Complete, 200, None, None),
            (ExchangeSettlement::UsageMissing, 200, None, None),
            (ExchangeSettlement::UsageImplausible, 200, None, None),
            (ExchangeSettlement::GatewayReply, 200, None, None),
            (
                ExchangeSettlement::ClientCancelled,
                499,
                None,
                Some(ErrorSide::Caller),
            ),
            (
                ExchangeSettlement::WriteTimeout,
                200,
                None,
                Some(ErrorSide::Caller),
            ),
            (
                ExchangeSettlement::UpstreamError,
                400,
                None,
                Some(ErrorSide::Caller),
            ),
            (
                ExchangeSettlement::UpstreamError,
                403,
                None,
                Some(ErrorSide::Caller),
            ),
            (
                ExchangeSettlement::UpstreamError,
                402,
                None,
                Some(ErrorSide::Upstream),
            ),
            (
                ExchangeSettlement::UpstreamError,
                429,
                None,
                Some(ErrorSide::Upstream),
            ),
            (
                ExchangeSettlement::UpstreamError,
                502,
                None,
                Some(ErrorSide::Upstream),
            ),
            (
                ExchangeSettlement::UpstreamCut,
                200,
                None,
                Some(ErrorSide::Upstream),
            ),
            (
                ExchangeSettlement::GatewayReply,
                401,
                None,
                Some(ErrorSide::Caller),
            ),
            (
                ExchangeSettlement::GatewayReply,
                503,
                None,
                Some(ErrorSide::Gateway),
            ),
            (
                ExchangeSettlement::GatewayReply,
                503,
                Some(FaultKind::NoChannel),
                Some(ErrorSide::Upstream),
            ),
        ] {
            assert_eq!(
                ErrorSide::from_settlement(settlement, status, fault),
                side,
                "{settlement:?} {status}"
            );
        }
    }
}
