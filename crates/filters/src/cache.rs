//! `cache`: sends a recorded response again for an equal request of the same caller.

mod control;
mod key;
mod recording;

use super::statefulness::stateful_part;
use crate::response_cache::{
    CacheLookupResult, CacheQuery, CachedResponse, LookupFreshnessLimits, ResponseCache,
    RouteResponseCache, SharedResponseRecords,
};
use bytes::Bytes;
use control::CallerCacheControl;
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite,
    InvalidSettings, read_settings_or_default, settings_schema,
};
use headgate_core::filter::output_check::asks_for_stream;
use headgate_core::filter::response_inputs::ResponseVaryInputs;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::stream_info::CacheOutcome;
use headgate_core::filter::view::{EventView, RequestView, ResponseView};
use headgate_core::filter::{
    Filter, FilterAction, FilterDeclaration, HookResult, LocalReply, ResponseBodyAccess,
};
use headgate_core::scalar::{ByteSize, HumanDuration};
use headgate_core::state::bounded_cache::CacheBounds;
use headgate_core::state::calendar::unix_ms;
use headgate_protocol::{DuplicateRequestCost, ProviderResponseStorage};
use http::{HeaderName, HeaderValue, StatusCode, header};
use recording::ResponseRecording;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "cache",
    summary: "Sends a recorded response again for an equal request of the same caller, and lets equal requests at the same time share one request to the provider.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        needs: &[
            FilterPrerequisite::Body,
            FilterPrerequisite::Caller,
            FilterPrerequisite::Model,
        ],
        is_last: true,
        reason: ", since a recorded response is for a request that every other filter accepted and changed",
        hint: Some("put `cache` last"),
        ..FilterChainRules::ANYWHERE
    },
    settings: Some(settings_schema::<ResponseCacheConfig>),
    bare: true,
    build: |settings, context| Ok(Arc::new(CacheFilter::build(settings, context)?)),
};

/// What became of the request: `hit`, `miss` or `bypass`.
const OUTCOME: HeaderName = HeaderName::from_static("x-headgate-cache");

/// Settings of `cache`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ResponseCacheConfig {
    /// How long a response is sent again, 1s to 168h. Default: 5m.
    ttl: HumanDuration,
    /// Largest response that is recorded, at most `memory`. Default: 1MiB.
    entry_size: ByteSize,
    /// Maximum size of the route's responses in the memory of the process, at most 16GiB. The least recently used ones are
    /// dropped. Default: 64MiB.
    memory: ByteSize,
    /// Whether streams are recorded, too. Default: false.
    streams: bool,
    /// Whether callers share responses, as far as no other step makes them for one caller. Default: false.
    shared: bool,
    /// How long a request waits for an equal one that is in flight, at most 1h; afterwards it is sent. Default: 1m.
    wait: HumanDuration,
    /// Where responses are. Default: memory.
    store: ResponseStoreConfig,
    /// Maximum number of the route's responses in the `state` store, 1 to 1000000; further ones stay in memory only.
    /// Default: 10000.
    #[schemars(range(min = 1, max = 1_000_000))]
    records_max: u32,
}

/// Where recorded responses are.
#[derive(Clone, Copy, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum ResponseStoreConfig {
    /// In the memory of the process only.
    Memory,
    /// In the `state` store too, for all gateways that use it, and for the next start.
    State,
}

impl Default for ResponseCacheConfig {
    fn default() -> Self {
        Self {
            ttl: HumanDuration::seconds(5 * 60),
            entry_size: ByteSize::mebibytes(1),
            memory: ByteSize::mebibytes(64),
            streams: false,
            shared: false,
            wait: HumanDuration::seconds(60),
            store: ResponseStoreConfig::Memory,
            records_max: 10_000,
        }
    }
}

struct CacheFilter {
    responses: Arc<RouteResponseCache>,
    records: Option<SharedResponseRecords>,
    /// Of the route's chains, so that a changed configuration has other keys.
    route_fingerprint: Arc<str>,
    ttl: Duration,
    entry_bytes_max: usize,
    bounds: CacheBounds,
    streams: bool,
    shared: bool,
    wait_max: Duration,
    /// What the other filters of the route read of a request when there is a response.
    inputs: ResponseVaryInputs,
}

/// The bounds of `ttl`.
const TTL_RANGE: [Duration; 2] = [
    Duration::from_secs(1),
    Duration::from_secs(7 * 24 * 60 * 60),
];
/// Maximum of `wait`: no exchange takes longer.
const WAIT_MAX: Duration = Duration::from_secs(60 * 60);
/// Maximum of `memory`, in bytes.
const MEMORY_MAX: u64 = 16 << 30;
/// Maximum number of entries in memory. The bytes of an entry are at least 512.
const ENTRIES_MAX: usize = 1_000_000;

impl CacheFilter {
    fn build(
        settings: &serde_json::Value,
        context: &BuildContext<'_>,
    ) -> Result<Self, InvalidSettings> {
        let config: ResponseCacheConfig = read_settings_or_default(settings)?;
        check_protocol(context)?;
        check_limits(&config)?;
        let inputs = (context.response_inputs)();
        check_inputs(&inputs)?;
        let size = |size: ByteSize| usize::try_from(size.bytes()).unwrap_or(usize::MAX);
        let bounds = CacheBounds {
            entries: ENTRIES_MAX,
            bytes: size(config.memory),
        };
        let ttl = config.ttl.duration();
        if config.store == ResponseStoreConfig::State && !context.state_survives {
            context.warn(
                InvalidSettings::new("`store: state` has no effect: `state` is memory")
                    .at("/store")
                    .hint("set `state` to a file or to Redis"),
            );
        }
        let is_stored = config.store == ResponseStoreConfig::State && context.state_survives;
        let records = is_stored.then(|| {
            let state = context.state.clone();
            SharedResponseRecords::new(state, context.route, ttl, config.records_max, bounds)
        });
        Ok(Self {
            responses: context
                .features
                .get::<ResponseCache>()
                .for_route(context.route),
            records,
            route_fingerprint: context.route_fingerprint.into(),
            ttl,
            entry_bytes_max: size(config.entry_size),
            bounds,
            streams: config.streams,
            shared: config.shared,
            wait_max: config.wait.duration(),
            inputs,
        })
    }
}

fn check_protocol(context: &BuildContext<'_>) -> Result<(), InvalidSettings> {
    match context.protocol.map(|protocol| protocol.descriptor().cost) {
        Some(DuplicateRequestCost::Tokens(
            ProviderResponseStorage::Never | ProviderResponseStorage::OnRequest,
        )) => Ok(()),
        Some(DuplicateRequestCost::Tokens(ProviderResponseStorage::ByDefault)) => {
            context.warn(
                InvalidSettings::new(
                    "no response of this route is recorded: each has an id that later requests can refer to",
                )
                .hint("use `cache` on routes with `protocol: chat` or `messages`"),
            );
            Ok(())
        }
        Some(DuplicateRequestCost::PaidWork) => Err(InvalidSettings::new(
            "`cache` cannot be used for paid creates: each must be made",
        )
        .hint("remove `cache` from the route")),
        None => Err(InvalidSettings::new(
            "`cache` requires a route with `protocol: chat` or `messages`",
        )
        .hint("remove `cache` from the route")),
    }
}

/// A response that has the id of its request is for no other request.
fn check_inputs(inputs: &ResponseVaryInputs) -> Result<(), InvalidSettings> {
    let Some(filter) = inputs.reader_of_request_id() else {
        return Ok(());
    };
    let reason = format!(
        "`{filter}` uses `request.id` for an attempt or a response of this route, so that its responses are for one request only"
    );
    let hint = format!("remove `request.id` from `{filter}`, or remove `cache`");
    Err(InvalidSettings::new(reason).hint(hint))
}

fn check_limits(config: &ResponseCacheConfig) -> Result<(), InvalidSettings> {
    let [ttl_min, ttl_max] = TTL_RANGE;
    if !(ttl_min..=ttl_max).contains(&config.ttl.duration()) {
        return Err(InvalidSettings::new("`ttl` must be 1s to 168h").at("/ttl"));
    }
    if config.wait.duration() > WAIT_MAX {
        return Err(InvalidSettings::new("`wait` must be at most 1h").at("/wait"));
    }
    if config.memory.bytes() > MEMORY_MAX {
        return Err(InvalidSettings::new("`memory` must be at most 16GiB").at("/memory"));
    }
    if config.entry_size.bytes() > config.memory.bytes() {
        return Err(
            InvalidSettings::new("`entry_size` must not be larger than `memory`")
                .at("/entry_size")
                .hint("write a smaller `entry_size`, or a larger `memory`"),
        );
    }
    Ok(())
}

impl Filter for CacheFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            // What is recorded is what the caller gets, after all other filters.
            runs_last: true,
            response_body: ResponseBodyAccess::Replace,
            events: match self.streams {
                true => ResponseBodyAccess::Observe,
                false => ResponseBodyAccess::None,
            },
            ..FilterDeclaration::default()
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let directives = CallerCacheControl::from_headers(&request.headers);
        let Some(recording) = self.recording(request, directives) else {
            note(request, CacheOutcome::Bypass);
            return HookResult::next();
        };
        let CallerCacheControl::ReadAndRecord { age_max } = directives else {
            request.state.set(recording);
            note(request, CacheOutcome::Miss);
            return HookResult::next();
        };
        let freshness = LookupFreshnessLimits {
            ttl: self.ttl,
            age_max,
        };
        if let Some(response) = self.responses.fresh(recording.key(), freshness) {
            return HookResult::Ready(Ok(hit(request, &response)));
        }
        let lookup = CacheQuery {
            key: recording.key(),
            freshness,
            wait_max: self.wait_max,
            records: self.records.clone(),
        };
        HookResult::later(async move {
            Ok(match self.responses.find(&lookup).await {
                CacheLookupResult::Hit(response) => hit(request, &response),
                CacheLookupResult::Miss(leader) => {
                    request.state.set(recording.led_by(leader));
                    note(request, CacheOutcome::Miss);
                    FilterAction::Continue
                }
            })
        })
    }

    fn on_response_head<'a>(&'a self, response: &'a mut ResponseView<'_>) -> HookResult<'a, ()> {
        if let Some(recording) = response.request.state.get_mut::<ResponseRecording>() {
            recording.begin(response.status, response.headers, response.kind);
        }
        HookResult::done()
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        if response.status == StatusCode::OK
            && let Some(recording) = response.request.state.take::<ResponseRecording>()
        {
            let info = &response.request.info;
            match info.callouts.is_response_unchecked || info.stream_error.is_some() {
                // Hits are not checked again, and a failure is no response for others.
                true => recording.give_up(false),
                false => recording.end_with_body(body, self),
            }
        }
        HookResult::done()
    }

    fn on_event<'a>(&'a self, event: &'a mut EventView<'_>) -> HookResult<'a, ()> {
        if let Some(recording) = event.request.state.get_mut::<ResponseRecording>() {
            recording.append(event.event, &event.action, self);
        }
        HookResult::done()
    }

    fn on_response_end(&self, request: &mut RequestView) {
        let info = &request.info;
        // Bytes that are no event were sent, and are not recorded.
        if info.is_stream_whole
            && !info.ends_in_partial_event
            && !info.callouts.is_response_unchecked
            && let Some(recording) = request.state.take::<ResponseRecording>()
        {
            recording.end_stream(self);
        }
    }

    /// The response of another model is not recorded.
    fn on_fallback<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a, ()> {
        ResponseRecording::give_up_for(request, false);
        HookResult::done()
    }

    fn on_done(&self, request: &mut RequestView, settlement: ExchangeSettlement) {
        use ExchangeSettlement::{ClientCancelled, WriteTimeout};
        ResponseRecording::give_up_for(
            request,
            matches!(settlement, ClientCancelled | WriteTimeout),
        );
    }
}

impl CacheFilter {
    /// The recording of the response to a request; `None` if the request goes past the cache.
    fn recording(
        &self,
        request: &RequestView,
        directives: CallerCacheControl,
    ) -> Option<ResponseRecording> {
        if directives == CallerCacheControl::Bypass || stateful_part(request).is_some() {
            return None;
        }
        request.body.document()?;
        let is_stream = asks_for_stream(request);
        if is_stream && !self.streams {
            return None;
        }
        let caller = match (self.shared, &request.caller) {
            (true, _) => None,
            (false, Some(caller)) => Some(&*caller.name),
            // Without a key, callers cannot be told apart.
            (false, None) => return None,
        };
        let key = key::for_request(request, &self.route_fingerprint, caller, &self.inputs)?;
        Some(ResponseRecording::new(key, is_stream, request.protocol?))
    }
}

/// Records the outcome for the log, and in the response unless the response is a local reply that has it already.
fn note(request: &mut RequestView, outcome: CacheOutcome) {
    request.info.cache = Some(outcome);
    let value = HeaderValue::from_static(outcome.name());
    request.response_headers.push((OUTCOME, value));
}

fn hit(request: &mut RequestView, response: &CachedResponse) -> FilterAction {
    note(request, CacheOutcome::Hit);
    let mut headers = response.headers.clone();
    let age = response.age_at(unix_ms()).as_secs();
    headers.insert(header::AGE, HeaderValue::from(age));
    LocalReply {
        status: StatusCode::OK,
        headers,
        body: response.body.clone(),
    }
    .into()
}
