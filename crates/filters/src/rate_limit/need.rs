//! What a request needs of its caller's limits.

use super::cost_maximum::{CostMaximum, cost_maximum};
use headgate_core::catalog::endpoint::ProviderOperationClass;
use headgate_core::filter::state::RequestTokenCount;
use headgate_core::filter::view::RequestView;
use headgate_core::state::admission::{AdmissionLimit, AdmissionRequest};
use headgate_protocol::estimate::TokenEstimate;
use headgate_protocol::fault::Fault;

/// What a request needs of its caller's limits.
pub struct RequestNeed {
    pub estimate: TokenEstimate,
    /// The most that it can cost; `None` if that is nothing, or if no limit counts money.
    pub bound: Option<CostMaximum>,
    counts_money: bool,
}

impl RequestNeed {
    /// What the request needs of `limits`.
    ///
    /// # Errors
    /// A limit counts money, and nothing limits what the request can cost.
    pub fn new(
        request: &RequestView,
        limits: &[AdmissionLimit],
        default_output_tokens: u64,
    ) -> Result<Self, Fault> {
        let counts_money = limits.iter().any(|limit| limit.measure().counts_money());
        let bound = match counts_money {
            true => cost_maximum(request)?,
            false => None,
        };
        let counts_tokens = |limit: &AdmissionLimit| limit.measure().counts_tokens();
        let is_estimated = bound.is_some() || limits.iter().any(counts_tokens);
        Ok(Self {
            estimate: match is_estimated || request.state.get::<RequestTokenCount>().is_some() {
                true => estimate(request, default_output_tokens),
                false => TokenEstimate::default(),
            },
            bound,
            counts_money,
        })
    }

    /// A need of money alone.
    pub fn from_cost(bound: CostMaximum) -> Self {
        Self {
            estimate: TokenEstimate::default(),
            bound: Some(bound),
            counts_money: true,
        }
    }

    /// The request to the state store.
    pub fn demand<'l>(&self, limits: &'l [AdmissionLimit]) -> AdmissionRequest<'l> {
        AdmissionRequest {
            limits,
            tokens: self.estimate.total(),
            cost: self.counts_money.then(|| self.nanos()),
        }
    }

    /// Whether the limits must be checked, whatever the operator chose for an unreachable store.
    pub fn spends_money(&self) -> bool {
        self.nanos() > 0
    }

    fn nanos(&self) -> u64 {
        self.bound.as_ref().map_or(0, |bound| bound.nanos)
    }
}

fn estimate(request: &RequestView, default_output_tokens: u64) -> TokenEstimate {
    if is_token_count(request) {
        return TokenEstimate::default();
    }
    if let Some(RequestTokenCount(input)) = request.state.get() {
        return TokenEstimate {
            input: *input,
            output: 0,
        };
    }
    let body = request.body.document();
    body.map_or_else(TokenEstimate::default, |body| {
        TokenEstimate::from_body(body, default_output_tokens)
    })
}

/// Whether a request only asks how many tokens it has: it uses none of them.
fn is_token_count(request: &RequestView) -> bool {
    let (method, path) = (&request.method, request.endpoint_path());
    ProviderOperationClass::for_request(method, path, true) == ProviderOperationClass::TokenCount
}
