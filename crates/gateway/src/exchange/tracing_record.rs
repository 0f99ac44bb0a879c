//! Completes the trace of a finished exchange, and hands it over to the exporter.

use super::translation_summary::TranslationSummary;
use crate::downstream::DownstreamSession;
use headgate_config::snapshot::Snapshot;
use headgate_config::snapshot::router::Route;
use headgate_core::filter::run_name::run_name;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::view::RequestView;
use headgate_observe::bounded::{FIELD_BYTES_MAX, SHORT_BYTES_MAX, bounded, cleaned};
use headgate_observe::error_side::ErrorSide;
use headgate_observe::token_path::without_token;
use headgate_observe::wait_times::ExchangeWaitTimes;
use headgate_protocol::fault::Fault;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_tracing::{ExchangeMessages, ExchangeSummary, ExchangeTrace, TraceId};
use http::{StatusCode, header};
use std::time::Duration;

/// A finished exchange, as its trace sees it.
pub(super) struct FinishedExchangeView<'a> {
    pub snapshot: &'a Snapshot,
    pub route: &'a Route,
    pub request: &'a RequestView,
    pub downstream: &'a DownstreamSession,
    pub settlement: ExchangeSettlement,
    pub status: Option<StatusCode>,
    pub fault: Option<&'a Fault>,
    pub is_streamed: bool,
    pub first_byte: Option<Duration>,
    pub total: Duration,
    pub wait_times: ExchangeWaitTimes,
}

impl FinishedExchangeView<'_> {
    /// Hands the trace over to the exporter, if it is sampled or if the exchange failed. Returns its id, and whether it
    /// is exported.
    pub fn export(&self, mut trace: Box<ExchangeTrace>) -> Option<(TraceId, bool)> {
        let tracing = self.snapshot.tracing.as_ref()?;
        let status = self.status.map_or(499, |status| status.as_u16());
        let kind = self.fault.map(|fault| fault.kind);
        let side = ErrorSide::from_settlement(self.settlement, status, kind);
        let callers_fault = side.map(|side| side == ErrorSide::Caller);
        let id = trace.trace_id;
        if !tracing.exports(&trace, callers_fault) {
            return Some((id, false));
        }
        if trace.has_open_attempt() {
            trace.note_upstream_id(upstream_id(self.request));
            trace.end_attempt(self.total, self.downstream.wait_times.so_far());
        }
        tracing.export(*trace, self.summary(side));
        Some((id, true))
    }

    /// The messages that the route exports.
    fn messages(&self) -> Option<Box<ExchangeMessages>> {
        let traced = self.route.traced_messages;
        let mut messages = ExchangeMessages {
            output: self
                .downstream
                .messages
                .as_ref()
                .and_then(|one| one.messages()),
            ..ExchangeMessages::default()
        };
        if traced.input
            && let Some(protocol) = self.request.protocol
            && let Some(conversation) = &protocol.descriptor().conversation
            && let Some(body) = sent_body(self.request)
        {
            messages.add_input(conversation, &body, traced.bytes_max);
        }
        let is_empty = messages.attributes().next().is_none();
        (!is_empty).then(|| Box::new(messages))
    }

    fn summary(&self, side: Option<ErrorSide>) -> ExchangeSummary {
        let Self { route, request, .. } = self;
        let status = self.status.map(|status| status.as_u16());
        // A span of a server has no error because of what its caller sent.
        let is_callers = status.is_some_and(|status| (400..500).contains(&status));
        let is_failed = side.is_some_and(|side| side != ErrorSide::Caller) && !is_callers;
        let error = side.map(|_| match (self.fault, status) {
            (Some(fault), _) => fault.kind.code().to_owned(),
            (None, Some(status)) if status >= 400 => status.to_string(),
            (None, _) => self.settlement.name().to_owned(),
        });
        let agent = request.headers.get(header::USER_AGENT);
        let waits = self.wait_times;
        ExchangeSummary {
            request_id: request.id.clone(),
            method: request.method.clone(),
            route_path: route.pattern.path(),
            path: cleaned(without_token(&request.path).as_bytes(), FIELD_BYTES_MAX).into_owned(),
            scheme: match self.snapshot.server.tls {
                Some(_) => "https",
                None => "http",
            },
            route: route.name.clone(),
            protocol: request.protocol,
            caller: request.caller.as_ref().map(|caller| caller.name.clone()),
            run: run_name(request).cloned(),
            model: request.model().map(|model| model.name.clone()),
            client: request.client.map(|client| client.address.to_string()),
            user_agent: agent.map(|agent| cleaned(agent.as_bytes(), SHORT_BYTES_MAX).into_owned()),
            status,
            settlement: self.settlement.name(),
            is_streamed: self.is_streamed,
            error,
            is_failed,
            first_byte: self.first_byte,
            total: self.total,
            usage: request.info.usage.counted().copied(),
            response_id: request
                .info
                .response_id
                .as_deref()
                .map(|id| bounded(id, SHORT_BYTES_MAX).into_owned()),
            waits: self.downstream.wait_times.so_far(),
            longest_waits: [
                waits.upstream.longest,
                waits.client.longest,
                waits.gateway.longest,
            ],
            revision: self.snapshot.revision.clone(),
            translation: request
                .state
                .get::<TranslationSummary>()
                .map(|translation| bounded(&translation.text, FIELD_BYTES_MAX).into_owned()),
            messages: self.messages(),
        }
    }
}

/// The JSON of a request as providers get it, as far as filters that know no channel decide that.
fn sent_body(request: &RequestView) -> Option<JsonDocument> {
    let bytes = request.edits.apply(request.body.bytes()?).to_bytes();
    JsonDocument::parse(bytes, &JsonLimits::default()).ok()
}

/// The provider's request id of the last attempt, as the access log shows it.
pub(super) fn upstream_id(request: &RequestView) -> Option<String> {
    let id = request.info.upstream_request_id.as_ref()?;
    Some(cleaned(id.as_bytes(), SHORT_BYTES_MAX).into_owned())
}
