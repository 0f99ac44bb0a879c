//! `log_prompts`: stores what callers send and get.

use crate::body::{BodyRecorder, PromptBody, PromptBodyForm, recorded};
use crate::body_redaction::BodyRedaction;
use crate::event_text::record_event;
use crate::queue::{PromptQueue, PromptQueues};
use crate::record::PromptRecord;
use crate::sink::{PromptSink, PromptSinks};
use bytes::Bytes;
use headgate_core::catalog::caller::Callers;
use headgate_core::catalog::model::Candidate;
use headgate_core::catalog::price::ExchangeCost;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, FilterChainRules, FilterDescriptor, InvalidSettings, read_settings,
    settings_schema,
};
use headgate_core::filter::run_name::run_name;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::stream_info::{CacheOutcome, ExchangeTraceId};
use headgate_core::filter::view::{EventView, RequestView, ResponseView};
use headgate_core::filter::{Filter, FilterDeclaration, HookResult, ResponseBodyAccess};
use headgate_protocol::credential_names::names_credential;
use headgate_protocol::nearest::nearest;
use schemars::JsonSchema;
use serde::Deserialize;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "log_prompts",
    summary: "Stores requests and responses in a bucket or sends them to a collector: sampled, redacted, and without a wait of the request.",
    side: ChainSide::Request,
    placement: FilterChainRules::ANYWHERE,
    settings: Some(settings_schema::<PromptLogConfig>),
    bare: false,
    build: |settings, context| Ok(Arc::new(LogPromptsFilter::build(settings, context)?)),
};

/// Settings of `log_prompts`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PromptLogConfig {
    /// Where records are stored: a name of `prompt_logs`.
    sink: String,
    /// The share of requests that are recorded, from 0 to 1. A hash of the request id selects them. Default: 1.
    #[serde(default = "sample_default")]
    #[schemars(range(min = 0.0, max = 1.0))]
    sample: f64,
    /// Whether records have the bodies of requests. Default: true.
    #[serde(default = "is_recorded_default")]
    request: bool,
    /// Whether records have the bodies of responses. Default: true.
    #[serde(default = "is_recorded_default")]
    response: bool,
    /// JSON pointers to values of requests, of responses and of each event of a stream that are not recorded, such as
    /// `/user`; the step `*` stands for all members or elements. Default: none.
    #[serde(default)]
    redact: Vec<String>,
}

fn sample_default() -> f64 {
    1.0
}

fn is_recorded_default() -> bool {
    true
}

/// Requests are divided into this many parts by their id, of which a share is recorded.
const PARTS: u64 = 1_000_000;

struct LogPromptsFilter {
    callers: Arc<Callers>,
    sink: Arc<PromptSink>,
    queue: Arc<PromptQueue>,
    /// `sample` of [`PARTS`].
    parts: u64,
    records_request: bool,
    records_response: bool,
    redaction: BodyRedaction,
}

/// What is known so far of an exchange that is recorded.
struct PromptDraft {
    time: SystemTime,
    request: Option<PromptBody>,
    candidate: Option<Candidate>,
    status: Option<u16>,
    response: Option<PromptBody>,
    events: Option<BodyRecorder>,
}

impl LogPromptsFilter {
    fn build(
        settings: &serde_json::Value,
        context: &BuildContext<'_>,
    ) -> Result<Self, InvalidSettings> {
        let config: PromptLogConfig = read_settings(settings)?;
        if !(0.0..=1.0).contains(&config.sample) {
            return Err(InvalidSettings::new("`sample` must be from 0 to 1").at("/sample"));
        }
        if !config.request && !config.response {
            let hint = "remove the filter: the access log has all requests without their bodies";
            let reason =
                "records have no body, neither that of the request nor that of the response";
            context.warn(InvalidSettings::new(reason).hint(hint));
        }
        let redaction = BodyRedaction::parse(&config.redact).map_err(|(index, error)| {
            InvalidSettings::new(error.to_string()).at(format!("/redact/{index}"))
        })?;
        let sinks = context.features.get::<PromptSinks>();
        let sink = sinks.by_name.get(&config.sink);
        let sink = sink.ok_or_else(|| unknown_sink(&config.sink, &sinks))?;
        sink.is_used.store(true, Ordering::Relaxed);
        Ok(Self {
            callers: context.callers.clone(),
            sink: sink.clone(),
            queue: context.features.get::<PromptQueues>().queue(&config.sink),
            parts: share_to_parts(config.sample),
            records_request: config.request,
            records_response: config.response,
            redaction,
        })
    }
}

fn unknown_sink(name: &str, sinks: &PromptSinks) -> InvalidSettings {
    if sinks.declared.contains(name) {
        return InvalidSettings::new(format!("the sink `{name}` of `prompt_logs` has errors"))
            .at("/sink");
    }
    let known = sinks.declared.iter().map(String::as_str);
    let hint = match nearest(name, known, 1).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => "declare it in `prompt_logs`".to_owned(),
    };
    InvalidSettings::new(format!("unknown sink `{name}`"))
        .at("/sink")
        .hint(hint)
}

/// The share as a number of parts, at least one unless it is 0.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a share is within the range"
)]
fn share_to_parts(share: f64) -> u64 {
    (share * PARTS as f64).ceil() as u64
}

/// The part of the requests that one belongs to, by its id.
fn request_part(request_id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    ("log_prompts", request_id).hash(&mut hasher);
    hasher.finish() % PARTS
}

impl Filter for LogPromptsFilter {
    fn declare(&self) -> FilterDeclaration {
        let access = match self.records_response && self.parts > 0 {
            true => ResponseBodyAccess::Observe,
            false => ResponseBodyAccess::None,
        };
        FilterDeclaration {
            reads_body: self.records_request && self.parts > 0,
            response_body: access,
            events: access,
            // What is recorded is what the caller gets, after all other filters.
            runs_last: true,
            observes_caller_body: true,
            ..FilterDeclaration::default()
        }
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        if self.parts > 0 && request_part(&request.id) < self.parts {
            request.state.set(PromptDraft {
                time: SystemTime::now(),
                request: None,
                candidate: None,
                status: None,
                response: None,
                events: None,
            });
        }
        HookResult::next()
    }

    fn on_response_head<'a>(&'a self, response: &'a mut ResponseView<'_>) -> HookResult<'a, ()> {
        let Some(mut draft) = response.request.state.take::<PromptDraft>() else {
            return HookResult::done();
        };
        // The body is freed when a stream begins.
        draft.request = self.request_body(response.request);
        draft.candidate = response.candidate.cloned();
        draft.status = Some(response.status.as_u16());
        response.request.state.set(draft);
        HookResult::done()
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        if let Some(mut draft) = response.request.state.take::<PromptDraft>() {
            draft.response = Some(self.response_body(body, response.request));
            response.request.state.set(draft);
        }
        HookResult::done()
    }

    fn on_event<'a>(&'a self, event: &'a mut EventView<'_>) -> HookResult<'a, ()> {
        if let Some(draft) = event.request.state.get_mut::<PromptDraft>() {
            let recorder = draft
                .events
                .get_or_insert_with(|| BodyRecorder::new(self.sink.body_bytes_max));
            record_event(recorder, event.event, &event.action, &self.redaction);
        }
        HookResult::done()
    }

    fn on_done(&self, request: &mut RequestView, settlement: ExchangeSettlement) {
        let Some(draft) = request.state.take::<PromptDraft>() else {
            return;
        };
        let was_sent = request.info.attempt > 0;
        // What was refused is in the access log.
        if was_sent || request.info.cache == Some(CacheOutcome::Hit) {
            let record = self.record(draft, request, settlement);
            self.queue.push(record, self.sink.bytes_max);
        }
    }
}

impl LogPromptsFilter {
    fn record(
        &self,
        draft: PromptDraft,
        request: &RequestView,
        settlement: ExchangeSettlement,
    ) -> PromptRecord {
        let candidate = draft.candidate.as_ref();
        let usage = request.info.usage.counted().copied();
        let price = candidate.and_then(Candidate::price);
        let cost = price.and_then(
            |price| match price.cost(usage.as_ref(), request.state.get()) {
                ExchangeCost::Priced(cost) => Some((cost, price.currency.clone())),
                ExchangeCost::Unmetered | ExchangeCost::Unpriced => None,
            },
        );
        let events = draft.events.map(|events| {
            let credentials = self.credentials(request);
            events.finish(PromptBodyForm::Events, &credentials)
        });
        let channel_model = candidate.and_then(|candidate| candidate.model.as_ref());
        PromptRecord {
            time: draft.time,
            id: request.id.clone(),
            trace_id: request.state.get::<ExchangeTraceId>().copied(),
            caller: request.caller.as_ref().map(|caller| caller.name.clone()),
            run: run_name(request).cloned(),
            route: request.route.clone(),
            protocol: request.protocol.map(|protocol| protocol.name()),
            model: request.model().map(|model| model.name.clone()),
            channel: candidate.map(|candidate| candidate.channel.name.clone()),
            channel_model: channel_model.map(|model| (*model.name).into()),
            status: draft.status,
            settlement: settlement.name(),
            cache: request.info.cache.map(CacheOutcome::name),
            usage,
            cost,
            request: draft.request.or_else(|| self.request_body(request)),
            response: draft.response.or(events),
        }
    }

    /// The body as the filters of the route have left it, in the caller's protocol; the fields of a form.
    fn request_body(&self, request: &RequestView) -> Option<PromptBody> {
        if !self.records_request {
            return None;
        }
        let credentials = self.credentials(request);
        let bytes_max = self.sink.body_bytes_max;
        let document = match &*request.body {
            // Edits of a form are for its bytes, not for its description.
            RequestBody::Form { described, .. } => {
                let pieces = self.redaction.apply(described);
                return Some(recorded(pieces, bytes_max, &credentials));
            }
            body => body.document()?,
        };
        let edits = &request.edits;
        if self.redaction.is_empty() {
            let pieces = edits.apply(document.body());
            return Some(recorded(pieces.iter().cloned(), bytes_max, &credentials));
        }
        if edits.is_empty() {
            return Some(recorded(
                self.redaction.apply(document),
                bytes_max,
                &credentials,
            ));
        }
        let edited = edits.apply(document.body()).to_bytes();
        let pieces = self.redaction.apply_to(edited)?;
        Some(recorded(pieces, bytes_max, &credentials))
    }

    fn response_body(&self, body: &Bytes, request: &RequestView) -> PromptBody {
        let bytes_max = self.sink.body_bytes_max;
        let credentials = self.credentials(request);
        if self.redaction.is_empty() {
            return recorded([body.clone()], bytes_max, &credentials);
        }
        match self.redaction.apply_to(body.clone()) {
            Some(pieces) => recorded(pieces, bytes_max, &credentials),
            // What is no JSON may have the values anywhere.
            None => {
                let mut recorder = BodyRecorder::new(bytes_max);
                recorder.skip(body.len());
                recorder.finish(PromptBodyForm::Text, &[])
            }
        }
    }

    /// The keys in the caller's headers. Other values are no secret: a caller could keep its prompts from the log with them.
    fn credentials<'r>(&self, request: &'r RequestView) -> Vec<&'r str> {
        let headers = request.headers.iter();
        let named = headers.filter(|(name, _)| names_credential(name.as_str().as_bytes()));
        let values = named.filter_map(|(_, value)| value.to_str().ok());
        // Without a scheme, such as `Bearer`.
        let tokens = values.filter_map(|value| value.split_ascii_whitespace().last());
        let is_key = |token: &&str| self.callers.find_by_key(token.as_bytes()).is_some();
        tokens.filter(is_key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_ids_is_recorded_and_an_id_always_or_never() {
        for (share, range) in [
            (0.0, 0..=0),
            (0.000_000_1, 0..=10),
            (0.01, 60..=140),
            (0.5, 4_700..=5_300),
            (1.0, 10_000..=10_000),
        ] {
            let parts = share_to_parts(share);
            let ids = (0..10_000).map(|number| format!("req_{number}"));
            let recorded = ids.filter(|id| request_part(id) < parts).count();
            assert!(range.contains(&recorded), "{share}: {recorded}");
        }
        assert_eq!((share_to_parts(0.0), share_to_parts(1e-9)), (0, 1));
    }
}
