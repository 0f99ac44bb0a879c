//! `idempotency`: each paid create is made once. Duplicates under an `Idempotency-Key` get the answer of the first.

mod fault;
mod fingerprint;
mod stream_recording;

use super::descriptor::{
    BuildContext, ChainSide, FilterDescriptor, FilterPlacement, FilterPrerequisite,
    InvalidSettings, read_settings_or_default, settings_schema,
};
use super::settlement::Settlement;
use super::stream_info::{IdempotencyOutcome, UpstreamProcessing};
use super::view::{AttemptView, EventView, RequestView, ResponseView};
use super::{Filter, FilterAction, FilterDeclaration, HookResult, LocalReply, ResponseBodyAccess};
use crate::journal::{
    ANSWER_BYTES_MAX, AnswerReplay, CreateEnd, CreateJournal, CreateRequest, JournalEntry,
    JournalLimits, KeyClaim, KeyedRequest, RecordedAnswer,
};
use crate::protocol::Protocol;
use crate::protocol::fault::Fault;
use crate::scalar::HumanDuration;
use crate::state::StateStore;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use stream_recording::StreamRecording;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "idempotency",
    summary: "Makes each paid create once: requests with the same `Idempotency-Key` get the answer of the first, and creates whose outcome is unknown are recorded.",
    side: ChainSide::Request,
    placement: FilterPlacement {
        after: &["validate"],
        before: &["rate_limit", "map_task", "map_images"],
        needs: &[
            FilterPrerequisite::Body,
            FilterPrerequisite::Caller,
            FilterPrerequisite::Model,
        ],
        reason: ", so that a recorded answer costs nothing and is the caller's",
        ..FilterPlacement::ANYWHERE
    },
    settings: Some(settings_schema::<IdempotencyConfig>),
    bare: true,
    build: |settings, context| Ok(Arc::new(IdempotencyFilter::build(settings, context)?)),
};

/// The caller's key.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Another spelling of the header, which some servers accept.
const KEY_WITH_UNDERSCORE: &str = "idempotency_key";
/// Set on an answer that was recorded.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Settings of `idempotency`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct IdempotencyConfig {
    /// How long an answer is kept for its key, from the end of the create. Default: 24h.
    keep: HumanDuration,
    /// How long a create is kept whose outcome is unknown; at least `keep`. Default: 168h.
    keep_unknown: HumanDuration,
    /// How long after its start a create is waited for by its duplicates; afterwards they get 409 with `retry-after`.
    /// Default: 10m.
    wait: HumanDuration,
    /// Maximum number of keys of one caller that are kept, 1 to 1000000; a create with a further key gets 503.
    /// Default: 10000.
    #[schemars(range(min = 1, max = 1_000_000))]
    keys_max: u32,
}

impl Default for IdempotencyConfig {
    fn default() -> Self {
        Self {
            keep: HumanDuration::seconds(24 * 60 * 60),
            keep_unknown: HumanDuration::seconds(7 * 24 * 60 * 60),
            wait: HumanDuration::seconds(10 * 60),
            keys_max: 10_000,
        }
    }
}

struct IdempotencyFilter {
    state: Arc<dyn StateStore>,
    journal: Arc<CreateJournal>,
    route: Arc<str>,
    limits: JournalLimits,
    wait_max: Duration,
}

/// The idempotency key for providers that take one.
struct UpstreamKey(HeaderValue);

/// A replay of an answer that had reached no caller before.
struct UndeliveredReplay {
    record_key: Arc<str>,
    version: u64,
}

impl IdempotencyFilter {
    fn build(
        settings: &serde_json::Value,
        context: &BuildContext<'_>,
    ) -> Result<Self, InvalidSettings> {
        let IdempotencyConfig {
            keep,
            keep_unknown,
            wait,
            keys_max,
        } = read_settings_or_default(settings)?;
        let is_paid = matches!(
            context.protocol,
            Some(Protocol::ImageEdit | Protocol::Video | Protocol::FamilyA | Protocol::FamilyB)
        );
        if !is_paid {
            return Err(InvalidSettings::new(
                "`idempotency` requires a route with `protocol: image_edit`, `video`, `family_a` or `family_b`",
            )
            .hint("remove `idempotency` from the route"));
        }
        if keep_unknown.duration() < keep.duration() {
            return Err(
                InvalidSettings::new("`keep_unknown` is shorter than `keep`")
                    .at("/keep_unknown")
                    .hint("a key must not be forgotten while the outcome of its create is unknown"),
            );
        }
        if !context.state_survives {
            context.warn(
                InvalidSettings::new(
                    "idempotency keys are lost when the gateway stops: `state` is memory",
                )
                .hint("set `state` to a file or to Redis"),
            );
        }
        Ok(Self {
            state: context.state.clone(),
            journal: context.journal.clone(),
            route: context.route.into(),
            limits: JournalLimits {
                keep: keep.duration(),
                keep_unknown: keep_unknown.duration(),
                records_max: keys_max,
            },
            wait_max: wait.duration(),
        })
    }
}

impl Filter for IdempotencyFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            response_body: ResponseBodyAccess::Replace,
            events: ResponseBodyAccess::Observe,
            ..FilterDeclaration::default()
        }
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        HookResult::from(key_of(&request.headers).map(|_| ()))
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let create = CreateRequest {
            request_id: request.id.clone(),
            caller: match &request.caller {
                Some(caller) => caller.name.clone(),
                None => return HookResult::next(),
            },
            route: self.route.clone(),
            model: request.model().map(|model| model.name.clone()),
        };
        match key_of(&request.headers) {
            Err(fault) => HookResult::fail(fault),
            Ok(None) => {
                let entry = JournalEntry::without_key(&self.state, &create, self.limits);
                request.state.set(entry);
                HookResult::next()
            }
            Ok(Some(key)) => {
                let keyed = KeyedRequest {
                    record_key: fingerprint::record_key(&create, key),
                    fingerprint: fingerprint::of_body(&request.body),
                    wait_max: self.wait_max,
                };
                HookResult::later(self.claim(request, create, keyed))
            }
        }
    }

    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        // The key is the caller's. At the provider it would be one of the whole account.
        attempt.headers.remove(KEY);
        attempt.headers.remove(KEY_WITH_UNDERSCORE);
        let Some(entry) = request.state.get::<JournalEntry>() else {
            return HookResult::done();
        };
        let channel = &attempt.candidate.channel;
        if let (Some(header), Some(UpstreamKey(key))) =
            (&channel.idempotency_header, request.state.get())
        {
            attempt.headers.insert(header, key.clone());
        }
        let channel = channel.name.clone();
        HookResult::later(async move {
            let stored = entry.begin_sending(&channel).await;
            stored.map_err(fault::not_stored)
        })
    }

    fn on_response_head(&self, response: &mut ResponseView<'_>) {
        StreamRecording::begin(response);
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        if !response.status.is_success() {
            return HookResult::done();
        }
        let Some(entry) = response.request.state.get::<JournalEntry>() else {
            return HookResult::done();
        };
        let is_kept = entry.has_key() && body.len() <= ANSWER_BYTES_MAX;
        let answer = is_kept.then(|| RecordedAnswer {
            status: response.status.as_u16(),
            headers: recorded_headers(response.headers),
            body: body.clone(),
        });
        let response_id = response.request.info.response_id.clone();
        let id = response.request.id.clone();
        HookResult::later(async move {
            // What was paid for is delivered in any case; the end of the entry tries to store it again.
            if let Err(error) = entry.record_answer(answer, response_id).await {
                tracing::warn!(id = &*id, %error, "cannot store the answer to a paid create; it is tried again");
            }
            Ok(())
        })
    }

    fn on_event(&self, event: &mut EventView<'_>) {
        if let Some(recording) = event.request.state.get_mut::<StreamRecording>() {
            recording.append(event.event, &event.action);
        }
    }

    fn on_done(&self, request: &mut RequestView, settlement: Settlement) {
        if let Some(replay) = request.state.take::<UndeliveredReplay>()
            && settlement == Settlement::GatewayReply
        {
            let UndeliveredReplay {
                record_key,
                version,
            } = replay;
            CreateJournal::note_delivery(self.state.clone(), record_key, version);
        }
        let Some(entry) = request.state.take::<JournalEntry>() else {
            return;
        };
        let recording = request.state.take::<StreamRecording>();
        let info = &request.info;
        let is_delivered = matches!(settlement, Settlement::Complete | Settlement::UsageMissing);
        let is_whole_stream = info.is_stream_whole && recording.is_some();
        let end = match info.processing {
            _ if entry.has_answer() => CreateEnd::Recorded { is_delivered },
            UpstreamProcessing::Unsent | UpstreamProcessing::Refused => CreateEnd::Freed,
            // A body that was too large for filters was delivered without them.
            UpstreamProcessing::Accepted if is_whole_stream || is_delivered => CreateEnd::Answer {
                answer: recording.and_then(StreamRecording::into_answer),
                response_id: info.response_id.clone(),
                is_delivered,
            },
            UpstreamProcessing::Accepted | UpstreamProcessing::Unknown => {
                let id = info.upstream_request_id.as_ref();
                CreateEnd::OutcomeUnknown {
                    upstream_request_id: id
                        .map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned()),
                }
            }
        };
        request.info.create_end = Some(end.name());
        entry.end(end);
    }
}

impl IdempotencyFilter {
    async fn claim(
        &self,
        request: &mut RequestView,
        create: CreateRequest,
        keyed: KeyedRequest,
    ) -> Result<FilterAction, Fault> {
        let claim = self
            .journal
            .claim(&self.state, &create, &keyed, self.limits)
            .await;
        let (outcome, action) = match claim {
            Ok(KeyClaim::First(entry)) => {
                let key = fingerprint::upstream_key(&keyed.record_key, &keyed.fingerprint);
                request.state.set(UpstreamKey(key));
                request.state.set(entry);
                request.detaches = true;
                (IdempotencyOutcome::First, Ok(FilterAction::Continue))
            }
            Ok(KeyClaim::Answer(AnswerReplay {
                answer,
                undelivered,
            })) => {
                if let Some(version) = undelivered {
                    request.state.set(UndeliveredReplay {
                        record_key: keyed.record_key,
                        version,
                    });
                }
                (
                    IdempotencyOutcome::Replayed,
                    Ok(FilterAction::LocalReply(replay(answer))),
                )
            }
            Ok(KeyClaim::AnswerNotKept { request_id }) => (
                IdempotencyOutcome::AnswerNotKept,
                Err(fault::answer_not_kept(&request_id)),
            ),
            Ok(KeyClaim::OutcomeUnknown { request_id }) => (
                IdempotencyOutcome::OutcomeUnknown,
                Err(fault::outcome_unknown(&request_id)),
            ),
            Ok(KeyClaim::OtherRequest) => (IdempotencyOutcome::KeyReused, Err(fault::key_reused())),
            Ok(KeyClaim::InFlight) => (IdempotencyOutcome::KeyInUse, Err(fault::key_in_use())),
            Err(error) => (IdempotencyOutcome::NotStored, Err(fault::not_stored(error))),
        };
        request.info.idempotency = Some(outcome);
        action
    }
}

/// The caller's key, if it sent one.
fn key_of(headers: &HeaderMap) -> Result<Option<&str>, Fault> {
    const BYTES_MAX: usize = 255;
    let mut keys = headers.get_all(KEY).iter();
    let Some(key) = keys.next() else {
        return Ok(None);
    };
    let is_visible = |key: &str| key.bytes().all(|byte| byte.is_ascii_graphic());
    match (key.to_str(), keys.next()) {
        (Ok(key), None) if (1..=BYTES_MAX).contains(&key.len()) && is_visible(key) => Ok(Some(key)),
        (_, None) => Err(fault::invalid_key(key.len())),
        (_, Some(_)) => Err(fault::repeated_key()),
    }
}

/// The headers of an answer without those of its exchange.
fn recorded_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let is_of_exchange = |name: &str| {
        matches!(
            name,
            "content-length"
                | "date"
                | "openai-processing-ms"
                | "retry-after"
                | "retry-after-ms"
                | "x-headgate-attempts"
                | "x-request-id"
        ) || name.starts_with("x-ratelimit-")
    };
    let recorded = headers.iter();
    recorded
        .filter(|(name, _)| !is_of_exchange(name.as_str()))
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect()
}

fn replay(answer: RecordedAnswer) -> LocalReply {
    let mut headers = HeaderMap::new();
    for (name, value) in &answer.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) {
            headers.append(name, value);
        }
    }
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    headers.remove(header::CONTENT_LENGTH);
    LocalReply {
        status: StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK),
        headers,
        body: answer.body,
    }
}
