//! `mirror`: sends a copy of a share of requests to another channel, and drops its responses.

use super::channel_condition::accepts;
use super::model_member::ModelMember;
use super::provider_path::ProviderPath;
use super::statefulness::stateful_part;
use crate::mirroring::{MirrorLimits, MirrorSendersByRoute, RouteMirrorSender};
use bytes::Bytes;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite,
    InvalidSettings, read_settings, settings_schema,
};
use headgate_core::filter::view::{AttemptView, RequestView};
use headgate_core::filter::{Filter, HookResult, PlannedMirrorRequest};
use headgate_core::request_id::RequestId;
use headgate_core::scalar::HumanDuration;
use headgate_core::subrequest::{
    Subrequest, SubrequestClient, SubrequestFuture, UpstreamRequestIdSlot,
};
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::nearest::nearest;
use headgate_protocol::{Protocol, header_policy};
use http::{HeaderMap, Method};
use schemars::JsonSchema;
use serde::Deserialize;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "mirror",
    summary: "Sends a copy of a share of requests to another channel in the background, and drops the responses.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        needs: &[
            FilterPrerequisite::Body,
            FilterPrerequisite::Caller,
            FilterPrerequisite::Model,
        ],
        reason: ", since only requests with a model are copied",
        ..FilterChainRules::ANYWHERE
    },
    settings: Some(settings_schema::<MirrorConfig>),
    bare: false,
    build: |settings, context| Ok(Arc::new(MirrorFilter::build(settings, context)?)),
};

/// Settings of `mirror`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MirrorConfig {
    /// The channel that gets the copies. It must have the `protocol` of the route; requests for models that it lacks
    /// are not copied.
    channel: String,
    /// The share of requests that are copied, in percent, above 0 and up to 100. A hash of the request id selects them.
    /// Default: 100.
    #[serde(default = "percent_default")]
    percent: f64,
    /// Maximum number of the route's copies in flight, 1 to 1024; further ones are dropped. Default: 16.
    #[serde(default = "concurrent_default")]
    #[schemars(range(min = 1, max = 1024))]
    concurrent: u16,
    /// How long a copy may take until the end of its response, 100ms to 1h. Default: 1m.
    #[serde(default = "timeout_default")]
    timeout: HumanDuration,
}

fn percent_default() -> f64 {
    100.0
}

fn concurrent_default() -> u16 {
    16
}

fn timeout_default() -> HumanDuration {
    HumanDuration::seconds(60)
}

/// The bounds of `timeout`.
const TIMEOUT_RANGE: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(60 * 60)];
/// Requests are divided into this many parts by their id, of which a percentage is copied.
const PARTS: u64 = 1_000_000;

struct MirrorFilter {
    mirror: Arc<RouteMirrorSender>,
    channel: Arc<str>,
    percent: f64,
    /// `percent` of [`PARTS`].
    parts: u64,
    limits: MirrorLimits,
}

/// Set on a request of which a copy is sent.
struct RequestMirrorState {
    candidate: Candidate,
    /// Further attempts send no further copies.
    is_sent: AtomicBool,
}

/// A copy before its body is assembled, so that this does not delay the request.
struct UnassembledMirrorCopy {
    subrequests: SubrequestClient,
    id: RequestId,
    candidate: Candidate,
    path: String,
    headers: HeaderMap,
    body: Bytes,
    edits: JsonEdits,
}

impl MirrorFilter {
    fn build(
        settings: &serde_json::Value,
        context: &BuildContext<'_>,
    ) -> Result<Self, InvalidSettings> {
        let MirrorConfig {
            channel,
            percent,
            concurrent,
            timeout,
        } = read_settings(settings)?;
        let protocol = check_protocol(context)?;
        let channel = check_channel(&channel, protocol, context)?;
        if !(percent > 0.0 && percent <= 100.0) {
            return Err(
                InvalidSettings::new("`percent` must be above 0 and up to 100").at("/percent"),
            );
        }
        let [timeout_min, timeout_max] = TIMEOUT_RANGE;
        if !(timeout_min..=timeout_max).contains(&timeout.duration()) {
            return Err(InvalidSettings::new("`timeout` must be 100ms to 1h").at("/timeout"));
        }
        Ok(Self {
            mirror: context
                .features
                .get::<MirrorSendersByRoute>()
                .for_route(context.route),
            channel,
            percent,
            parts: percent_to_parts(percent),
            limits: MirrorLimits {
                concurrent: usize::from(concurrent),
                timeout: timeout.duration(),
            },
        })
    }
}

/// The share as a number of parts, at least one.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a percentage is within the range"
)]
fn percent_to_parts(percent: f64) -> u64 {
    ((percent / 100.0 * PARTS as f64).round() as u64).max(1)
}

fn check_protocol(context: &BuildContext<'_>) -> Result<Protocol, InvalidSettings> {
    match context.protocol {
        Some(protocol) if !protocol.creates_paid_work() => Ok(protocol),
        Some(_) => Err(InvalidSettings::new(
            "`mirror` cannot be used for paid creates: a copy would be paid for, too",
        )
        .hint("remove `mirror` from the route")),
        None => Err(InvalidSettings::new(
            "`mirror` requires a route with `protocol: chat`, `messages` or `responses`",
        )
        .hint("remove `mirror` from the route")),
    }
}

fn check_channel(
    name: &str,
    protocol: Protocol,
    context: &BuildContext<'_>,
) -> Result<Arc<str>, InvalidSettings> {
    let Some(channel) = context.catalog.channel(name) else {
        let names = context.catalog.channels().map(|channel| &*channel.name);
        let unknown = InvalidSettings::new(format!("unknown channel `{name}`")).at("/channel");
        return Err(match nearest(name, names, 1).first() {
            Some(near) => unknown.hint(format!("did you mean `{near}`?")),
            None => unknown,
        });
    };
    if !channel.protocols.contains(&protocol.on_channels()) {
        return Err(InvalidSettings::new(format!(
            "channel `{name}` does not speak {}, the protocol of this route",
            protocol.name()
        ))
        .at("/channel")
        .hint("mirror to one whose `protocols` has it"));
    }
    Ok(channel.name.clone())
}

impl Filter for MirrorFilter {
    fn planned_copy(&self, request: &RequestView) -> Option<PlannedMirrorRequest> {
        Some(PlannedMirrorRequest {
            channel: self.channel.clone(),
            percent: self.percent,
            obstacle: self.candidate(request).err(),
        })
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        if request_part(&request.id) < self.parts
            && let Ok(candidate) = self.candidate(request)
        {
            request.state.set(RequestMirrorState {
                candidate,
                is_sent: AtomicBool::new(false),
            });
        }
        HookResult::next()
    }

    /// What another model serves is not compared.
    fn on_fallback<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a, ()> {
        request.state.take::<RequestMirrorState>();
        HookResult::done()
    }

    /// The first attempt begins when all filters have accepted the request.
    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        _attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        if let Some(target) = request.state.get::<RequestMirrorState>()
            // Filters after this one may have edited the body.
            && stateful_part(request).is_none()
            && !target.is_sent.swap(true, Ordering::Relaxed)
            && let Some(copy) = UnassembledMirrorCopy::from_request(request, &target.candidate)
        {
            let bytes = copy.body.len();
            self.mirror.start(self.limits, bytes, move || copy.send());
        }
        HookResult::done()
    }
}

impl MirrorFilter {
    /// The mirrored channel with its name of the request's model.
    ///
    /// # Errors
    /// Why such requests are not copied.
    fn candidate(&self, request: &RequestView) -> Result<Candidate, String> {
        if let Some(part) = stateful_part(request) {
            return Err(format!("the provider stores or continues it ({part})"));
        }
        let known = request.model().zip(request.protocol);
        let candidates = known.map(|(model, protocol)| model.candidates(protocol));
        let mut candidates = candidates.iter().flat_map(|candidates| candidates.iter());
        let Some(found) = candidates.find(|candidate| candidate.channel.name == self.channel)
        else {
            return Err("the channel lacks the model".into());
        };
        match accepts(&found.channel, request) {
            Ok(true) => Ok(found.clone()),
            Ok(false) => Err("the condition of the channel does not hold".into()),
            Err(fault) => Err(fault.into_reason()),
        }
    }
}

/// The part of the requests that one belongs to, by its id: the same on every gateway.
fn request_part(request_id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    request_id.hash(&mut hasher);
    hasher.finish() % PARTS
}

impl UnassembledMirrorCopy {
    /// The request after the filters of the whole chain, with the model's name on the mirrored channel.
    fn from_request(request: &RequestView, candidate: &Candidate) -> Option<Self> {
        let subrequests = request.subrequests.clone()?;
        let document = request.body.document()?;
        let mut headers = header_policy::request_headers_for_provider(&request.headers);
        let policy = candidate.channel.forwarded;
        let client = request.client;
        if let Some((name, value)) =
            client.and_then(|client| client.forwarded(policy, &request.headers))
        {
            headers.insert(name, value);
        }
        request.header_edits.apply(&mut headers).ok()?;
        let mut edits = request.edits.clone();
        let member = ModelMember::for_protocol(request.protocol?);
        let path = match (
            &candidate.model,
            ProviderPath::for_protocol(request.protocol?),
        ) {
            (Some(model), Some(path)) => path.fill(request, &model.name).ok()?,
            (Some(model), None) => {
                if let Some(named) = member.find(document) {
                    edits.replace(named.span(), model.json.clone());
                }
                mirrored_path(request)
            }
            (None, _) => mirrored_path(request),
        };
        Some(Self {
            subrequests,
            id: request.id.clone(),
            candidate: candidate.clone(),
            path,
            headers,
            body: document.body().clone(),
            edits,
        })
    }

    fn send(self) -> SubrequestFuture {
        let Self {
            subrequests,
            id,
            candidate,
            path,
            headers,
            body,
            edits,
        } = self;
        subrequests.send_and_discard(Subrequest {
            id,
            candidate,
            method: Method::POST,
            path,
            other_host: None,
            inline_file: None,
            headers,
            body: edits.apply(&body).to_bytes().into(),
            upstream_request_id: UpstreamRequestIdSlot::default(),
            max_wait: Duration::ZERO,
        })
    }
}

/// The path below the channel's base URL, with the query that may be forwarded.
fn mirrored_path(request: &RequestView) -> String {
    let path = request.upstream_path.as_deref().unwrap_or(&request.path);
    let path = header_policy::path_for_provider(path);
    let query = request.query.as_deref();
    let query = query.map(|query| header_policy::query_for_provider(query, &request.headers));
    match query.as_deref() {
        None | Some("") => path.to_owned(),
        Some(query) => format!("{path}?{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_ids_is_copied_and_an_id_always_or_never() {
        for (percent, range) in [
            (0.0001, 0..=10),
            (1.0, 60..=140),
            (50.0, 4_700..=5_300),
            (100.0, 10_000..=10_000),
        ] {
            let parts = percent_to_parts(percent);
            let ids = (0..10_000).map(|number| format!("req_{number}"));
            let copied = ids.filter(|id| request_part(id) < parts).count();
            assert!(range.contains(&copied), "{percent} %: {copied}");
            assert_eq!(request_part("req_7"), request_part("req_7"));
        }
    }
}
