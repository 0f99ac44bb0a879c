//! What the gateway records of an exchange: one access log line, and metrics.

use super::settled_batches::{count_batches, settled_batches};
use super::tracing_record::FinishedExchangeView;
use super::translation_summary::TranslationSummary;
use crate::Gateway;
use crate::downstream::DownstreamSession;
use headgate_channel::clock::MonotonicTime;
use headgate_channel::outcome::AttemptOutcome;
use headgate_config::snapshot::Snapshot;
use headgate_config::snapshot::router::Route;
use headgate_core::catalog::affinity::AffinityOutcome;
use headgate_core::catalog::model::Candidate;
use headgate_core::catalog::price::{BillableMediaOutput, Cost, ExchangeCost, ModelPrice};
use headgate_core::feature::exchange_recorder::RecordedCharge;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::budget_charge::BudgetCharge;
use headgate_core::filter::run_name::run_name;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::stream_info::{CacheOutcome, IdempotencyOutcome, ModelFallback};
use headgate_core::filter::view::RequestView;
use headgate_core::state::lock::lock;
use headgate_observe::access_log::{AccessLogEntry, FailedAttempt};
use headgate_observe::cost_metrics::CostLabels;
use headgate_observe::finished_exchange::FinishedExchange;
use headgate_protocol::fault::Fault;
use headgate_tracing::{ExchangeTrace, TracedAttemptOutcome};
use http::{StatusCode, header};
use std::time::{Duration, Instant};

/// Data of an exchange, collected while it runs.
pub(crate) struct ExchangeRecord {
    pub started: Instant,
    pub first_byte: Option<Duration>,
    /// When the response for the caller was chosen.
    pub committed: Option<Duration>,
    pub status: Option<StatusCode>,
    pub streamed: bool,
    pub attempts: u32,
    pub failed_attempts: Vec<FailedAttempt>,
    /// The channel of the last attempt.
    pub candidate: Option<Candidate>,
    /// When the last attempt began; has no meaning without attempts.
    pub attempt_began: MonotonicTime,
    /// Index of the channel's credential in the last attempt.
    pub key: Option<usize>,
    /// Why the channel of the last attempt; `None` without an affinity key.
    pub affinity: Option<AffinityOutcome>,
    pub fault: Option<Fault>,
    /// The response broke off, so that the connection must be closed.
    pub broken: bool,
    /// The trace of the exchange, if the configuration has `tracing`.
    pub trace: Option<Box<ExchangeTrace>>,
}

impl ExchangeRecord {
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            first_byte: None,
            committed: None,
            status: None,
            streamed: false,
            attempts: 0,
            failed_attempts: Vec::new(),
            candidate: None,
            attempt_began: MonotonicTime::default(),
            key: None,
            affinity: None,
            fault: None,
            broken: false,
            trace: None,
        }
    }

    /// Records how an attempt was judged.
    pub fn trace_outcome(&mut self, outcome: AttemptOutcome) {
        let Some(trace) = &mut self.trace else {
            return;
        };
        let status = match outcome {
            AttemptOutcome::Failure(failure) => failure.status,
            AttemptOutcome::Success | AttemptOutcome::ClientError => None,
        };
        trace.note_outcome(TracedAttemptOutcome {
            outcome: outcome.name(),
            status: status.map(|status| status.as_u16()),
        });
    }

    /// Writes the access log line, updates the metrics, and hands over the trace.
    pub fn log_and_count(
        &mut self,
        gateway: &Gateway,
        snapshot: &Snapshot,
        route: &Route,
        request: &RequestView,
        downstream: &DownstreamSession,
        settlement: ExchangeSettlement,
    ) {
        let end = Instant::now();
        let total = end - self.started;
        let wait_times = downstream.wait_times.settle(self.started, end);
        let trace = self.trace.take();
        let finished = FinishedExchangeView {
            snapshot,
            route,
            request,
            downstream,
            settlement,
            status: self.status,
            fault: self.fault.as_ref(),
            is_streamed: self.streamed,
            first_byte: self.first_byte,
            total,
            wait_times,
        };
        let trace = trace.and_then(|trace| finished.export(trace));
        // 499 if no status was sent.
        let status = self.status.map_or(499, |status| status.as_u16());
        let model = request.model();
        let is_served = self.attempts > 0 && (200..300).contains(&status);
        let model_label = model.map(|model| snapshot.catalog.metric_label(model, is_served));
        let model = model.map(|model| &*model.name);
        let channel = self
            .candidate
            .as_ref()
            .map(|candidate| &*candidate.channel.name);
        let batches = settled_batches(request);
        let cost = match batches {
            [] => self.count_cost(gateway, request, model_label),
            batches => count_batches(gateway, snapshot, request, batches),
        };
        let budget_charge = request.state.get::<BudgetCharge>();
        let charges = recorded_charges(budget_charge, snapshot, is_served);
        gateway.metrics.count_exchange(&FinishedExchange {
            route: &route.name,
            caller_name: request.caller.as_ref().map(|caller| &*caller.name),
            caller: request.caller.as_ref().map(|caller| caller.metric_name()),
            channel,
            model: model_label,
            protocol: self.candidate.as_ref().and_then(|it| it.protocol),
            status,
            settlement,
            total,
            first_byte: self.first_byte,
            upstream_first_byte: self.upstream_first_byte(request),
            wait_times,
            usage: request.info.usage.counted(),
            is_usage_of_batches: !batches.is_empty(),
            cost,
            charges: &charges,
            fault: self.fault.as_ref().map(|fault| fault.kind),
            failed_attempts: &self.failed_attempts,
            has_last_attempt_failed: self.failed_attempts.len() == self.attempts as usize,
            is_unstreamed: request.info.is_unstreamed,
        });
        if let (Some(outcome), Some(model), Some(channel)) = (self.affinity, model_label, channel) {
            gateway.metrics.channels.affinity(model, channel, outcome);
        }
        self.count_prompt(gateway, request, model_label);
        gateway.metrics.creates.count(&route.name, &request.info);
        if let Some(outcome) = request.info.cache {
            gateway.metrics.response_cache.count(&route.name, outcome);
        }
        if let Some(caller) = &request.caller {
            let metrics = &gateway.metrics;
            metrics.quota(caller.metric_name(), request.info.quota);
            let usage = request.info.usage.counted();
            metrics.callers.count(caller.metric_name(), total, usage);
        }
        let subrequest_id = request.info.subrequest_id.get();
        let subrequest_id = subrequest_id.and_then(|id| lock(id).clone());
        let translation = request.state.get::<TranslationSummary>();
        if let Some(translation) = translation {
            translation.count(&gateway.metrics.translations);
        }
        let channel_model = self.candidate.as_ref().and_then(|it| it.model.as_ref());
        let line = AccessLogEntry {
            id: &request.id,
            revision: &snapshot.revision,
            client: request.client,
            user_agent: request.headers.get(header::USER_AGENT),
            caller: request.caller.as_ref().map(|caller| &*caller.name),
            key: request.key_label(),
            run: run_name(request).map(|run| &**run),
            route: &route.name,
            protocol: request.protocol.map(|protocol| protocol.name()),
            method: request.method.as_str(),
            path: &request.path,
            model,
            channel,
            channel_model: channel_model.map(|model| &*model.name),
            status,
            settlement: settlement.name(),
            streamed: self.streamed,
            is_over_websocket: downstream.session().is_websocket(),
            attempts: self.attempts,
            failed_attempts: &self.failed_attempts,
            credential: self.key.map(|key| key + 1),
            committed: self.committed,
            bytes_in: downstream.bytes_in,
            bytes_out: downstream.bytes_out,
            first_byte: self.first_byte,
            total,
            wait_times: Some(wait_times),
            usage: request.info.usage.counted(),
            cost,
            budget_charge: budget_charge.map(BudgetCharge::nanos),
            response_id: request.info.response_id.as_deref(),
            upstream_request_id: request
                .info
                .upstream_request_id
                .as_ref()
                .or(subrequest_id.as_ref()),
            affinity: self.affinity.map(AffinityOutcome::name),
            idempotency: request.info.idempotency.map(IdempotencyOutcome::name),
            cache: request.info.cache.map(CacheOutcome::name),
            fallback: request
                .state
                .get::<ModelFallback>()
                .map(ModelFallback::names),
            translation: translation.map(|translation| &*translation.text),
            callouts: request.info.callouts,
            trace,
            fault: self.fault.as_ref(),
        };
        gateway.access_log.write(&line);
        if let Some(capture) = downstream.wait_times.capture() {
            capture.end(line.line());
        }
    }

    /// Time from the start of the last attempt to the first byte, which is the provider's time alone; `None` if the
    /// caller's body streamed, since the provider waited for the caller then.
    fn upstream_first_byte(&self, request: &RequestView) -> Option<Duration> {
        let is_streamed = matches!(*request.body, RequestBody::Streamed(_));
        let first_byte = self
            .first_byte
            .filter(|_| self.attempts > 0 && !is_streamed)?;
        let at = MonotonicTime::at(self.started + first_byte);
        Some(self.attempt_began.until(at))
    }

    /// Counts how much of the prompt was in the provider's cache, if the model has affinity or a price of cached tokens.
    fn count_prompt(&self, gateway: &Gateway, request: &RequestView, model_label: Option<&str>) {
        let (Some(candidate), Some(model)) = (&self.candidate, request.model()) else {
            return;
        };
        let price = candidate.price();
        let is_discounted = price.is_some_and(ModelPrice::discounts_cached_input);
        if model.properties.affinity.is_none() && !is_discounted {
            return;
        }
        let (Some(usage), Some(model)) = (request.info.usage.counted(), model_label) else {
            return;
        };
        let labels = CostLabels {
            caller: request.caller.as_ref().map(|caller| caller.metric_name()),
            model,
            channel: &candidate.channel.name,
            currency: price.map_or("", |price| &price.currency),
        };
        let miss_cost = price.and_then(|price| price.miss_cost(usage));
        gateway.metrics.prompt_cache.count(labels, usage, miss_cost);
    }

    /// Counts what the provider did for the request by the prices of its model; returns the cost and its currency.
    fn count_cost<'a>(
        &'a self,
        gateway: &Gateway,
        request: &RequestView,
        model_label: Option<&str>,
    ) -> Option<(Cost, &'a str)> {
        let candidate = self.candidate.as_ref()?;
        let price = candidate.price()?;
        let media = request.state.get::<BillableMediaOutput>();
        let priced = price.cost(request.info.usage.counted(), media);
        let labels = CostLabels {
            caller: request.caller.as_ref().map(|caller| caller.metric_name()),
            model: model_label?,
            channel: &candidate.channel.name,
            currency: &price.currency,
        };
        gateway.metrics.costs.count(labels, priced);
        match priced {
            ExchangeCost::Priced(cost) => Some((cost, &price.currency)),
            ExchangeCost::Unmetered | ExchangeCost::Unpriced => None,
        }
    }
}

/// The charges of an exchange with the names of models in metrics.
fn recorded_charges<'c>(
    charge: Option<&'c BudgetCharge>,
    snapshot: &'c Snapshot,
    is_served: bool,
) -> Vec<RecordedCharge<'c>> {
    let charges = charge.into_iter().flat_map(BudgetCharge::iter);
    let charges = charges.map(|charge| RecordedCharge {
        admitted_ms: charge.admitted_ms,
        model: snapshot.catalog.metric_label(&charge.model, is_served),
        channel: charge.channel.as_deref(),
        currency: &charge.currency,
        nanos: charge.nanos,
    });
    charges.collect()
}
