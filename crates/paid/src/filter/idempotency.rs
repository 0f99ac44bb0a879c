//! `idempotency`: each paid create is made once. Duplicates under an `Idempotency-Key` get the response of the first.

mod claim;
mod create_end;
mod create_money;
mod fault;
mod fingerprint;
mod recorded_response;
mod stream_recording;

use crate::journal::{
    CreateEnd, CreateJournal, CreateRequest, JournalEntryHandle, JournalLimits, KeyedRequest,
    RecordedBody, RecordedResponse,
};
use bytes::Bytes;
use claim::{FirstDeliveryReplay, idempotency_key};
use create_end::{denied_end, is_delivered, keep_reservations, unrecorded_end};
use create_money::reserved_money;
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite,
    FilterProvision, InvalidSettings, read_settings_or_default, settings_schema,
};
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::stream_info::DenialReplyForReplay;
use headgate_core::filter::view::{AttemptView, EventView, RequestView, ResponseView};
use headgate_core::filter::{Filter, FilterDeclaration, HookResult, ResponseBodyAccess};
use headgate_core::large_bodies::{BodyStoreRetryPolicy, LargeResponseStoreHandle};
use headgate_core::scalar::HumanDuration;
use headgate_core::state::StateStore;
use headgate_protocol::Protocol;
use http::{HeaderName, HeaderValue};
use recorded_response::{CreateResponseBodyStore, recorded_headers};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use stream_recording::StreamRecording;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "idempotency",
    summary: "Makes each paid create once: requests with the same `Idempotency-Key` get the response of the first, and creates whose outcome is unknown are recorded.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        after: &["validate"],
        before: &["rate_limit", "map_task", "map_images"],
        needs: &[
            FilterPrerequisite::Body,
            FilterPrerequisite::Caller,
            FilterPrerequisite::Model,
        ],
        provides: &[FilterProvision::CreateRecord],
        reason: ", so that a recorded response costs nothing and is the caller's",
        ..FilterChainRules::CHECK
    },
    settings: Some(settings_schema::<IdempotencyConfig>),
    bare: true,
    build: |settings, context| Ok(Arc::new(IdempotencyFilter::build(settings, context)?)),
};

/// Smallest `keep_unknown`: longer than creates take, also while the store is unreachable.
const KEEP_UNKNOWN_MIN: Duration = Duration::from_secs(60 * 60);

/// The caller's key.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Settings of `idempotency`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct IdempotencyConfig {
    /// How long a response is kept for its key, from the end of the create. Default: 24h.
    keep: HumanDuration,
    /// How long a create is kept whose outcome is unknown, at least `keep` and 1h. Until then its key is not sent
    /// again. Default: 168h.
    keep_unknown: HumanDuration,
    /// How long after its start a create is waited for by its duplicates; afterwards they get 409 with `retry-after`.
    /// Set it above the time that creates usually take. Default: 10m.
    wait: HumanDuration,
    /// Maximum number of keys of one caller that are kept, 1 to 1000000, apart from those whose outcome is unknown. A
    /// create with a further key gets 503; creates without a key are not limited. Default: 100000.
    #[schemars(range(min = 1, max = 1_000_000))]
    keys_max: u32,
}

impl Default for IdempotencyConfig {
    fn default() -> Self {
        Self {
            keep: HumanDuration::seconds(24 * 60 * 60),
            keep_unknown: HumanDuration::seconds(7 * 24 * 60 * 60),
            wait: HumanDuration::seconds(10 * 60),
            keys_max: 100_000,
        }
    }
}

struct IdempotencyFilter {
    state: Arc<dyn StateStore>,
    journal: Arc<CreateJournal>,
    /// Where bodies of responses are that are too large for records.
    bodies: Arc<LargeResponseStoreHandle>,
    route: Arc<str>,
    limits: JournalLimits,
    wait_max: Duration,
}

/// Set when the whole response was received, which is then being recorded.
struct ReceivedResponseMarker;

/// The idempotency key for providers that take one.
struct UpstreamIdempotencyKey(HeaderValue);

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
        if !context.protocol.is_some_and(Protocol::creates_paid_work) {
            return Err(InvalidSettings::new(
                "`idempotency` requires a route whose protocol creates paid work, such as `image_edit`, `image_generation`, `video` or that of a family",
            )
            .hint("remove `idempotency` from the route"));
        }
        check_keep_unknown(keep.duration(), keep_unknown.duration())?;
        if !context.state_survives {
            context.warn(
                InvalidSettings::new(
                    "idempotency keys are lost when the gateway stops: `state` is memory",
                )
                .hint("set `state` to a file or to Redis"),
            );
        }
        let bodies = context.features.get::<LargeResponseStoreHandle>();
        let has_urls = context.is_image_route();
        if has_urls && keep.duration() > bodies.0.file_lifetime() {
            context.warn(
                InvalidSettings::new(
                    "`keep` is longer than `media.ttl`: URLs in a replay may have expired",
                )
                .at("/keep")
                .hint("set `media.ttl` to at least `keep`"),
            );
        }
        Ok(Self {
            state: context.state.clone(),
            journal: context.features.get(),
            bodies,
            route: context.route.into(),
            limits: JournalLimits {
                keep: keep.duration(),
                keep_unknown: keep_unknown.duration(),
                keys_max,
            },
            wait_max: wait.duration(),
        })
    }
}

fn check_keep_unknown(keep: Duration, keep_unknown: Duration) -> Result<(), InvalidSettings> {
    let (message, hint) = if keep_unknown < keep {
        (
            "`keep_unknown` is shorter than `keep`",
            "a key must not be forgotten while the outcome of its create is unknown",
        )
    } else if keep_unknown < KEEP_UNKNOWN_MIN {
        (
            "`keep_unknown` is shorter than 1h",
            "write at least 1h: a create must not be forgotten while it is being sent",
        )
    } else {
        return Ok(());
    };
    Err(InvalidSettings::new(message).at("/keep_unknown").hint(hint))
}

impl IdempotencyFilter {
    fn response_store(&self, request: &RequestView) -> CreateResponseBodyStore {
        CreateResponseBodyStore {
            bodies: self.bodies.clone(),
            caller: request.caller.as_ref().map(|caller| caller.name.clone()),
            request_id: request.id.clone(),
            keep: self.limits.keep,
        }
    }
}

impl Filter for IdempotencyFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            // What is sent upstream is stored after everything that could prevent it, and what the caller gets is
            // recorded as the caller gets it.
            runs_last: true,
            response_body: ResponseBodyAccess::Replace,
            events: ResponseBodyAccess::Observe,
            ..FilterDeclaration::default()
        }
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        HookResult::from(idempotency_key(&request.headers).map(|_| ()))
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
        match idempotency_key(&request.headers) {
            Err(fault) => HookResult::fail(fault),
            Ok(None) => {
                let journal = &self.journal;
                let entry = journal.entry_without_key(&self.state, &create, self.limits);
                request.state.set(entry);
                HookResult::next()
            }
            Ok(Some(key)) => {
                let keyed = KeyedRequest {
                    record_key: fingerprint::record_key(&create, key),
                    fingerprint: fingerprint::for_request(request),
                    wait_max: self.wait_max,
                    body_bytes: request.body.len(),
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
        let Some(entry) = request.state.get::<JournalEntryHandle>() else {
            return HookResult::done();
        };
        let channel = &attempt.candidate.channel;
        if let (Some(header), Some(UpstreamIdempotencyKey(key))) =
            (&channel.idempotency_header, request.state.get())
        {
            attempt.headers.insert(header, key.clone());
        }
        let channel = channel.name.clone();
        HookResult::later(async move {
            let stored = entry.begin_sending(&channel, reserved_money(request)).await;
            stored.map_err(fault::not_stored)
        })
    }

    fn on_response_head<'a>(&'a self, response: &'a mut ResponseView<'_>) -> HookResult<'a, ()> {
        StreamRecording::begin(response, &self.journal);
        HookResult::done()
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        if !response.status.is_success() {
            return HookResult::done();
        }
        response.request.state.set(ReceivedResponseMarker);
        let Some(entry) = response.request.state.get::<JournalEntryHandle>() else {
            return HookResult::done();
        };
        let head = entry.has_key().then(|| RecordedResponse {
            status: response.status.as_u16(),
            headers: recorded_headers(response.headers),
            body: RecordedBody::default(),
        });
        let response_id = response.request.info.response_id.clone();
        let id = response.request.id.clone();
        let (store, body) = (self.response_store(response.request), body.clone());
        HookResult::later(async move {
            let response = match head {
                Some(head) => {
                    store
                        .keep(head, body, BodyStoreRetryPolicy::BEFORE_DELIVERY)
                        .await
                }
                None => None,
            };
            // What was paid for is delivered in any case; the end of the entry tries to store it again.
            if let Err(error) = entry.record_response(response, response_id).await {
                tracing::warn!(id = &*id, %error, "cannot store the response to a paid create; it is tried again");
            }
            Ok(())
        })
    }

    fn on_event<'a>(&'a self, event: &'a mut EventView<'_>) -> HookResult<'a, ()> {
        if let Some(recording) = event.request.state.get_mut::<StreamRecording>() {
            recording.append(event.event, &event.action);
        }
        HookResult::done()
    }

    fn on_done(&self, request: &mut RequestView, settlement: ExchangeSettlement) {
        if let Some(replay) = request.state.take::<FirstDeliveryReplay>()
            && settlement == ExchangeSettlement::GatewayReply
            && replay.body_end.was_reached()
        {
            let FirstDeliveryReplay {
                record_key,
                version,
                ..
            } = replay;
            CreateJournal::record_delivery(self.state.clone(), record_key, version);
        }
        let Some(entry) = request.state.take::<JournalEntryHandle>() else {
            return;
        };
        let mut recording = request.state.take::<StreamRecording>();
        let is_whole_stream = request.info.is_stream_whole && recording.is_some();
        let is_received =
            request.state.take::<ReceivedResponseMarker>().is_some() || is_whole_stream;
        let end = match (
            entry.has_response(),
            request.state.take::<DenialReplyForReplay>(),
        ) {
            (true, _) => CreateEnd::AlreadyRecorded {
                is_delivered: is_delivered(settlement),
            },
            (false, Some(DenialReplyForReplay(denial))) => {
                recording = None;
                denied_end(&request.info, denial, settlement)
            }
            (false, None) => unrecorded_end(&request.info, is_received, settlement),
        };
        request.info.create_end = Some(end.name());
        if matches!(end, CreateEnd::OutcomeUnknown { .. }) {
            keep_reservations(request);
        }
        match (end, recording) {
            (
                CreateEnd::Accepted {
                    response_id,
                    is_delivered,
                    ..
                },
                Some(recording),
            ) => recording.end(
                entry,
                response_id,
                is_delivered,
                self.response_store(request),
            ),
            (end, _) => entry.end(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creates_are_not_forgotten_while_they_are_sent() {
        let hours = |count: u64| Duration::from_secs(count * 60 * 60);
        for (keep, keep_unknown, expected) in [
            (hours(24), hours(168), None),
            (hours(1), hours(1), None),
            (
                hours(2),
                hours(1),
                Some("`keep_unknown` is shorter than `keep`"),
            ),
            (
                Duration::from_secs(3),
                Duration::from_secs(3),
                Some("`keep_unknown` is shorter than 1h"),
            ),
        ] {
            let error = check_keep_unknown(keep, keep_unknown).err();
            let reason = error.as_ref().map(|error| &*error.reason);
            assert_eq!(reason, expected, "{keep:?}, {keep_unknown:?}");
        }
    }
}
