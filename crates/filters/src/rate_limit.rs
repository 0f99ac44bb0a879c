//! `rate_limit`: admits requests within their caller's limits, and settles on the actual usage.

mod batch_costs;
mod batch_money;
pub(crate) mod budget_findings;
pub(crate) mod budget_metrics;
mod channel_budget;
mod cost_maximum;
mod cost_rules;
mod headers;
mod later_admission;
pub(crate) mod live_budget;
mod money;
mod need;
mod priced_maximum;
mod reservation;
mod run_call;
mod run_demand;
mod run_name;
pub(crate) mod run_page;
mod run_refusal;
mod store_failure;
mod stream_budget;
mod stream_guard;
mod ticket;

use channel_budget::ChannelReservations;
use headgate_core::catalog::batch_work::BatchDemand;
use headgate_core::catalog::caller::Caller;
use headgate_core::filter::batch_reservation::BatchReservation;
use headgate_core::filter::body_edit::EditedBody;
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite, FilterProvision,
    read_settings_or_default, settings_schema,
};
use headgate_core::filter::run_name::run_name;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::stream_info::SettledUsages;
use headgate_core::filter::view::{AttemptView, RequestView};
use headgate_core::filter::{Filter, FilterAction, FilterDeclaration, HookResult};
use headgate_core::state::admission::{AdmissionLimit, AdmissionResult, LimitStatus};
use headgate_core::state::budget_levels::BudgetLevels;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::caller_permit::CallerPermit;
use headgate_core::state::run::RunName;
use headgate_core::state::{StateStore, StoreFuture, StoreUnavailable};
use headgate_protocol::Protocol;
use headgate_protocol::fault::Fault;
use later_admission::FallbackReservations;
use live_budget::LiveBudgets;
use money::{NewReservation, ReservedMoney};
use need::RequestNeed;
use reservation::EstimateReservation;
use run_call::OpenRunCall;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use stream_guard::guard_stream;
use ticket::granted_ticket;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "rate_limit",
    summary: "Enforces the `limits` of callers: replies 429 above them, and sends rate limit headers.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        needs: &[FilterPrerequisite::Model],
        provides: &[FilterProvision::Limits],
        reason: ", since models have limits too",
        hint: Some("put `rate_limit` last, so that refused requests do not count"),
        ..FilterChainRules::GUARD
    },
    settings: Some(settings_schema::<TokenEstimateConfig>),
    bare: true,
    build: |settings, context| {
        let TokenEstimateConfig {
            default_output_tokens,
        } = read_settings_or_default(settings)?;
        let has_output = |protocol: Protocol| protocol.descriptor().has_output_tokens();
        Ok(Arc::new(RateLimitFilter {
            state: context.state.clone(),
            levels: context.features.get(),
            live: context.features.get(),
            default_output_tokens: match context.protocol.is_none_or(has_output) {
                true => default_output_tokens,
                false => 0,
            },
            estimates_tokens: context.protocol.is_some(),
        }))
    },
};

/// Settings of `rate_limit`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct TokenEstimateConfig {
    /// Estimated output tokens of a request that sets no maximum, at least 1. Set it near the usual length of
    /// responses: a lower value admits more requests at once, and more of them may exceed the limit. Default: 1024.
    #[schemars(range(min = 1))]
    default_output_tokens: u64,
}

impl Default for TokenEstimateConfig {
    fn default() -> Self {
        Self {
            default_output_tokens: 1024,
        }
    }
}

struct RateLimitFilter {
    state: Arc<dyn StateStore>,
    levels: Arc<BudgetLevels>,
    live: Arc<LiveBudgets>,
    default_output_tokens: u64,
    /// Whether the route has a protocol, whose bodies allow an estimate of the tokens.
    estimates_tokens: bool,
}

impl Filter for RateLimitFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            reads_body: self.estimates_tokens,
            runs_after_edits: true,
            ..FilterDeclaration::default()
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        ChannelReservations::expect(request);
        guard_stream(request, &self.state);
        let limited = |caller: &&Arc<Caller>| !caller.limits.is_empty();
        let Some(caller) = request.caller.as_ref().filter(limited) else {
            return HookResult::next();
        };
        let caller = caller.clone();
        if let Some(batch) = request.state.get::<BatchDemand>().cloned() {
            return HookResult::later(self.admit_batch(request, caller, batch));
        }
        let model = request.model().cloned();
        let limits = &*caller.limits.for_model(model.as_deref());
        let is_free = limits.is_empty() && caller.limits.runs().is_none();
        if is_free || request.state.get::<EstimateReservation>().is_some() {
            return HookResult::next();
        }
        let need = match RequestNeed::new(request, &caller, limits, self.default_output_tokens) {
            Ok(need) => need,
            Err(fault) => return HookResult::fail(fault),
        };
        match &need.run {
            Some(run) => request.state.set(RunName(run.key.name.clone())),
            None if limits.is_empty() => return HookResult::next(),
            None => {}
        }
        if let StoreFuture::Ready(admission) = self.state.admit(&need.demand(limits)) {
            return HookResult::Ready(self.decide(request, limits, &need, admission));
        }
        HookResult::later(async move {
            let limits = &*caller.limits.for_model(model.as_deref());
            let admission = self.state.admit(&need.demand(limits)).get().await;
            self.decide(request, limits, &need, admission)
        })
    }

    /// An edit that all attempts get may cost more than was admitted: the attempt then reserves what is missing.
    fn check_edited_body(
        &self,
        request: &RequestView,
        edited: EditedBody<'_>,
    ) -> Result<(), Fault> {
        if edited.candidate.is_none()
            && let Some(reserved) = request.state.get::<ReservedMoney>()
        {
            reserved.note_edit();
        }
        Ok(())
    }

    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        if let Some(batch) = request.state.get::<BatchReservation>() {
            batch.note_channel(&attempt.candidate.channel.name);
        }
        let reserved = request.state.get::<ReservedMoney>();
        let shortage = match reserved.filter(|_| counts_money(request)) {
            Some(reserved) => reserved.shortage(request, attempt),
            None => Ok(None),
        };
        let on_channel = Self::channel_cost(request, attempt);
        match (shortage, on_channel) {
            (Ok(None), Ok(None)) => HookResult::done(),
            (Err(unbounded), _) | (_, Err(unbounded)) => HookResult::fail(unbounded),
            (Ok(shortage), Ok(on_channel)) => HookResult::later(async move {
                if let Some(shortage) = shortage {
                    self.reserve_more(request, shortage).await?;
                }
                match on_channel {
                    Some(cost) => {
                        let limits = &attempt.candidate.channel.budgets;
                        self.reserve_on_channel(request, limits, cost).await
                    }
                    None => Ok(()),
                }
            }),
        }
    }

    /// Reserves what the limits of the model that stands in ask for, besides what is reserved for the first one.
    fn on_fallback<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a, ()> {
        ChannelReservations::expect(request);
        guard_stream(request, &self.state);
        let (Some(caller), Some(model)) = (request.caller.clone(), request.model().cloned()) else {
            return HookResult::done();
        };
        let reserved = request.state.get::<FallbackReservations>();
        let is_reserved = reserved.is_some_and(|all| all.has(&model.name));
        let is_run = run_name(request).is_some();
        if is_reserved || (!is_run && caller.limits.for_fallback(&model).is_empty()) {
            return HookResult::done();
        }
        HookResult::later(async move {
            let limits = caller.limits.for_fallback(&model);
            self.admit_fallback(request, &model.name, &limits).await
        })
    }

    fn on_done(&self, request: &mut RequestView, settlement: ExchangeSettlement) {
        if counts_money(request) {
            ReservedMoney::settle(request, settlement, &self.levels);
            self.settle_batch(request);
        }
        ChannelReservations::settle(request, settlement, &self.levels);
        FallbackReservations::settle(request, settlement);
        OpenRunCall::end(request, settlement);
        if let Some(reservation) = request.state.take::<EstimateReservation>() {
            // The usage that such a request shows is that of batches, which counts since they were created.
            match request.state.get::<SettledUsages>() {
                Some(_) => reservation.release(),
                None => reservation.settle(request, settlement),
            }
        }
    }
}

impl RateLimitFilter {
    fn decide(
        &self,
        request: &mut RequestView,
        limits: &[AdmissionLimit],
        need: &RequestNeed,
        admission: Result<AdmissionResult, StoreUnavailable>,
    ) -> Result<FilterAction, Fault> {
        let AdmissionResult {
            limit_statuses,
            decision,
            money,
            run,
        } = match admission {
            Ok(admission) => admission,
            Err(unavailable) => return self.decide_without_store(request, need, unavailable),
        };
        headers::add_headers(request, limits, &limit_statuses, unix_ms());
        self.note_levels(request, need, limits, &limit_statuses);
        match granted_ticket(decision, limits, &limit_statuses, need) {
            Ok(mut ticket) => {
                request.caller_permit = CallerPermit::split_from(&mut ticket, &self.state);
                let estimate = need.estimate;
                let new = NewReservation {
                    reserved: money,
                    bound: need.bound.as_ref(),
                    estimate,
                    admitted: (limits, &limit_statuses),
                    live: &self.live,
                };
                ReservedMoney::add(request, &self.state, new);
                guard_stream(request, &self.state);
                let reservation = EstimateReservation::new(self.state.clone(), ticket, estimate);
                request.state.set(reservation);
                if let Some(ticket) = run {
                    OpenRunCall::admit(request, &self.state, *ticket, estimate);
                }
                Ok(FilterAction::Continue)
            }
            Err((limit, refusal)) => {
                request.info.quota = limit;
                if let Some(run) = &need.run {
                    let limit = limit.refusing_limit().unwrap_or_default();
                    OpenRunCall::refuse(request, &self.state, &run.key, limit);
                }
                Err(refusal)
            }
        }
    }

    /// Notes what is left of budgets. Names that tokens have claimed are no labels.
    fn note_levels(
        &self,
        request: &RequestView,
        need: &RequestNeed,
        limits: &[AdmissionLimit],
        statuses: &[LimitStatus],
    ) {
        let is_label = caller_has_label(request);
        let unnamed = request.caller.as_ref().filter(|_| !is_label);
        if let Some(cost) = &need.bound {
            let unnamed = unnamed.map(|caller| &caller.name);
            self.levels.note(limits, statuses, cost.currency(), unnamed);
        }
    }
}

/// Whether a budget in money applies to the request.
fn counts_money(request: &RequestView) -> bool {
    let caller = request.caller.as_ref();
    caller.is_some_and(|caller| caller.limits.counts_money())
}

/// Whether metrics have the name of the request's caller.
fn caller_has_label(request: &RequestView) -> bool {
    let caller = request.caller.as_ref();
    caller.is_some_and(|caller| *caller.metric_name() == *caller.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::catalog::limits::CallerLimits;
    use headgate_core::filter::stream_info::QuotaDecision;
    use headgate_core::state::OnStoreFailure;
    use headgate_core::state::admission::LimitKind;
    use headgate_core::state::test_stores::UnreachableStore;
    use headgate_protocol::Protocol;
    use headgate_protocol::fault::FaultKind;
    use http::{HeaderMap, Method};

    fn request() -> RequestView {
        let mut request = RequestView::new(
            "req_1".into(),
            Method::POST,
            "/v1/chat/completions".into(),
            None,
            HeaderMap::new(),
            Vec::new(),
            Some(Protocol::Chat),
        );
        let amounts = [(LimitKind::RequestsPerMinute, Some(1))];
        let limits = CallerLimits::new(&"ann".into(), &amounts);
        request.caller = Some(Arc::new(Caller::new("ann", &[]).with_limits(limits)));
        request
    }

    #[tokio::test]
    async fn on_store_failure_allows_or_denies_requests() {
        for on_store_failure in [OnStoreFailure::Allow, OnStoreFailure::Deny] {
            let filter = RateLimitFilter {
                state: Arc::new(UnreachableStore(on_store_failure)),
                levels: Arc::default(),
                live: Arc::default(),
                default_output_tokens: 1,
                estimates_tokens: true,
            };
            let mut request = request();
            let went_on = match filter.on_body(&mut request).decided().await {
                Ok(FilterAction::Continue) => request.info.quota == QuotaDecision::Unchecked,
                Ok(_) => panic!("a fault is no reply"),
                Err(fault) => {
                    assert_eq!(fault.kind, FaultKind::Overloaded);
                    false
                }
            };
            assert_eq!(went_on, on_store_failure == OnStoreFailure::Allow);
            assert!(request.response_headers.is_empty());
        }
    }
}
