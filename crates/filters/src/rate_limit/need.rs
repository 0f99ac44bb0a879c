//! What a request needs of its caller's limits.

use super::cost_maximum::cost_maximum;
use super::priced_maximum::CostMaximum;
use super::run_demand::run_demand;
use super::run_name::NamedRun;
use headgate_core::catalog::caller::Caller;
use headgate_core::catalog::endpoint::ProviderOperationClass;
use headgate_core::filter::state::RequestTokenCount;
use headgate_core::filter::view::RequestView;
use headgate_core::state::admission::{AdmissionLimit, AdmissionRequest};
use headgate_core::state::run::{RunCap, RunDemand};
use headgate_protocol::estimate::TokenEstimate;
use headgate_protocol::fault::Fault;

/// What a request needs of its caller's limits.
pub struct RequestNeed {
    pub estimate: TokenEstimate,
    /// The most that it can cost; `None` if that is nothing, or if nothing counts money.
    pub bound: Option<CostMaximum>,
    /// What it needs of its run, if it is a call of one.
    pub run: Option<Box<RunDemand>>,
    counts_money: bool,
}

impl RequestNeed {
    /// What the request needs of `limits`.
    ///
    /// # Errors
    /// A limit counts money, and nothing limits what the request can cost; or the headers of its run are malformed.
    pub fn new(
        request: &RequestView,
        caller: &Caller,
        limits: &[AdmissionLimit],
        default_output_tokens: u64,
    ) -> Result<Self, Fault> {
        let rules = caller.limits.runs();
        let named = match rules {
            Some(rules) => NamedRun::read(request, rules)?,
            None => None,
        };
        let mut counts_money = limits.iter().any(|limit| limit.measure().counts_money());
        let bound = match (counts_money, &named) {
            (true, _) => cost_maximum(request)?,
            (false, None) => None,
            (false, Some(named)) => {
                let bound = cost_maximum(request);
                counts_money = bound.is_ok();
                let own = named.tightened.get(RunCap::Cost);
                let cap = own.or_else(|| rules?.caps.get(RunCap::Cost));
                match cap {
                    Some(_) => bound?,
                    None => bound.unwrap_or_default(),
                }
            }
        };
        let nanos = bound.as_ref().map_or(0, |bound| bound.nanos);
        let cost = counts_money.then_some(nanos);
        let run = named.zip(rules).map(|(named, rules)| {
            let run = run_demand(request, (caller, rules), named, default_output_tokens, cost);
            Box::new(run)
        });
        let counts_tokens = |limit: &AdmissionLimit| limit.measure().counts_tokens();
        let is_estimated = bound.is_some() || run.is_some() || limits.iter().any(counts_tokens);
        Ok(Self {
            estimate: match is_estimated || request.state.get::<RequestTokenCount>().is_some() {
                true => estimate(request, default_output_tokens),
                false => TokenEstimate::default(),
            },
            bound,
            run,
            counts_money,
        })
    }

    /// What a request needs besides, which may cost more than was admitted.
    pub fn from_cost(request: &RequestView, bound: CostMaximum) -> Self {
        let cost = Some(bound.nanos);
        let caller = request.caller.as_deref();
        let rules = caller.and_then(|caller| caller.limits.runs());
        // Its headers were read before.
        let named = rules.and_then(|rules| NamedRun::read(request, rules).ok()?);
        let run = caller
            .zip(rules)
            .zip(named)
            .map(|((caller, rules), named)| {
                Box::new(run_demand(request, (caller, rules), named, 0, cost))
            });
        let need = Self {
            estimate: TokenEstimate::default(),
            bound: Some(bound),
            run,
            counts_money: true,
        };
        need.for_fallback()
    }

    /// What another model needs that stands in for the one of a call that is counted.
    pub fn for_fallback(mut self) -> Self {
        if let Some(run) = &mut self.run {
            run.calls = 0;
            run.fingerprint = None;
            run.tokens = 0;
        }
        self
    }

    /// The request to the state store.
    pub fn demand<'l>(&'l self, limits: &'l [AdmissionLimit]) -> AdmissionRequest<'l> {
        AdmissionRequest {
            limits,
            tokens: self.estimate.total(),
            cost: self.counts_money.then(|| self.nanos()),
            run: self.run.as_deref(),
        }
    }

    /// Whether the limits must be checked, whatever the operator chose for an unreachable store.
    pub fn must_be_checked(&self) -> bool {
        self.nanos() > 0 || self.run.is_some()
    }

    fn nanos(&self) -> u64 {
        self.bound.as_ref().map_or(0, |bound| bound.nanos)
    }
}

pub(super) fn estimate(request: &RequestView, default_output_tokens: u64) -> TokenEstimate {
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
