//! Requests whose limits cannot be checked, since the state store is unreachable.

use super::RateLimitFilter;
use super::need::RequestNeed;
use headgate_core::filter::FilterAction;
use headgate_core::filter::stream_info::QuotaDecision;
use headgate_core::filter::view::RequestView;
use headgate_core::state::log_throttle::LogThrottle;
use headgate_core::state::{OnStoreFailure, StoreUnavailable};
use headgate_protocol::fault::{Fault, FaultKind};

impl RateLimitFilter {
    /// Applies the operator's choice (`on_store_failure`) when the limits cannot be checked. Money is never spent unchecked.
    pub(super) fn decide_without_store(
        &self,
        request: &mut RequestView,
        need: &RequestNeed,
        error: StoreUnavailable,
    ) -> Result<FilterAction, Fault> {
        let on_store_failure = match need.must_be_checked() {
            true => OnStoreFailure::Deny,
            false => self.state.on_store_failure(),
        };
        if may_warn() {
            tracing::warn!(%error, ?on_store_failure, "state store is unreachable; limits not checked");
        }
        match on_store_failure {
            OnStoreFailure::Allow => {
                request.info.quota = QuotaDecision::Unchecked;
                Ok(FilterAction::Continue)
            }
            OnStoreFailure::Deny => Err(unchecked_limits(error)),
        }
    }
}

pub(super) fn unchecked_limits(error: StoreUnavailable) -> Fault {
    Fault::new(
        FaultKind::Overloaded,
        "the gateway cannot check the limits of this API key: its state store is unreachable; try again",
    )
    .source(error)
}

/// Whether an unreachable store may be warned of now.
pub(super) fn may_warn() -> bool {
    static THROTTLE: LogThrottle = LogThrottle::new();
    THROTTLE.admits()
}
