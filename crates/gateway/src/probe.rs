//! Active health probes: requests the model list of providers at intervals.
//!
//! The prober has its own connections: an HTTP/2 connection is driven by the thread that opened it, and callers'
//! requests must not depend on the prober's thread.

use super::listen::drain_state::{DrainState, until_set};
use super::request_id;
use super::upstream::client::failure_reason;
use super::upstream::provider_target::below_base_url_without_model;
use super::upstream::request::{PreparedBody, PreparedRequest};
use super::upstream::{ChannelWithCredential, UpstreamClient};
use async_trait::async_trait;
use headgate_channel::active_probe::ProbeAttempt;
use headgate_channel::address_cache::AddressCache;
use headgate_channel::clock::MonotonicTime;
use headgate_channel::live::ChannelStates;
use headgate_channel::outcome::{AttemptFailure, AttemptOutcome, FailureReason};
use headgate_channel::retry_policy::SendProgress;
use headgate_config::reload::SnapshotReloader;
use headgate_core::catalog::channel::{Channel, ProbePolicy, Timeouts};
use headgate_core::random::random_fraction;
use headgate_core::request_id::RequestId;
use headgate_protocol::error_class::{ErrorClassifier, ErrorSubject};
use headgate_protocol::fault::Fault;
use headgate_protocol::json::skim;
use headgate_protocol::{header_policy, response_verdict};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use pingora_core::server::ShutdownWatch;
use pingora_core::services::background::BackgroundService;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

/// Maximum delay until a reload takes effect.
const RELOAD_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum extension of the probe interval, as a share of it, so that several gateways do not probe in step.
const JITTER: f64 = 0.1;
/// Maximum number of bytes of a probe response that are read.
const RESPONSE_BYTES_MAX: usize = 4 << 20;

/// The health prober of the process.
pub struct ChannelHealthProber {
    reloader: Arc<SnapshotReloader>,
    channels: Arc<ChannelStates>,
    drain_state: Arc<DrainState>,
    upstream: Arc<UpstreamClient>,
}

/// Probe state of one channel.
#[derive(Default)]
struct ChannelProbeSchedule {
    /// When the last probe started.
    began: Option<Instant>,
    /// Extension of the current interval, as a share of [`JITTER`] from 0 to 1.
    jitter: f64,
    count: usize,
    under_way: Option<JoinHandle<()>>,
}

/// Probe state by channel fingerprint.
type ProbeSchedules = HashMap<u64, ChannelProbeSchedule>;

impl ChannelHealthProber {
    pub fn new(
        reloader: Arc<SnapshotReloader>,
        channels: Arc<ChannelStates>,
        addresses: AddressCache,
        drain_state: Arc<DrainState>,
    ) -> Self {
        Self {
            reloader,
            channels,
            drain_state,
            upstream: Arc::new(UpstreamClient::new(addresses)),
        }
    }

    /// Starts all probes that are due, drops the state of removed channels, and returns when to check again.
    fn start_due_probes(&self, known: &mut ProbeSchedules) -> Instant {
        let now = Instant::now();
        let mut next = now + RELOAD_POLL_INTERVAL;
        let snapshot = self.reloader.current();
        self.channels.retain(&snapshot.catalog);
        let probed: HashMap<u64, (&Arc<Channel>, ProbePolicy)> = snapshot
            .catalog
            .channels()
            .filter_map(|channel| Some((channel.fingerprint, (channel, channel.health.probe?))))
            .collect();
        known.retain(|fingerprint, probes| {
            let stays = probed.contains_key(fingerprint);
            if let (false, Some(probe)) = (stays, &probes.under_way) {
                probe.abort();
            }
            stays
        });
        for (fingerprint, (channel, probe)) in probed {
            let probes = known.entry(fingerprint).or_default();
            if probes.is_under_way() {
                continue;
            }
            let every = self
                .channels
                .probe_interval(channel, probe, MonotonicTime::now());
            if probes.due(every).is_none_or(|due| due <= now) {
                probes.under_way = self.begin(channel, probe, probes.count);
                probes.began = Some(now);
                probes.jitter = random_fraction();
                probes.count = probes.count.wrapping_add(1);
            }
            next = next.min(probes.due(every).unwrap_or(next));
        }
        next
    }

    /// Starts a probe; `None` if the channel needs none now.
    fn begin(
        &self,
        channel: &Arc<Channel>,
        probe: ProbePolicy,
        turn: usize,
    ) -> Option<JoinHandle<()>> {
        let probing = self.channels.probe(channel, turn, MonotonicTime::now())?;
        let (upstream, channel) = (self.upstream.clone(), channel.clone());
        Some(tokio::spawn(async move {
            let id = request_id::new();
            let found = send_probe(&upstream, &channel, &probing, &id, probe.timeout).await;
            probing.report(found, &id);
        }))
    }
}

#[async_trait]
impl BackgroundService for ChannelHealthProber {
    /// Runs until the process closes to callers: a draining process selects no more channels.
    async fn start(&self, _: ShutdownWatch) {
        let mut closing = pin!(until_set(self.drain_state.callers()));
        let mut known = ProbeSchedules::new();
        loop {
            let next = self.start_due_probes(&mut known);
            tokio::select! {
                () = sleep_until(next) => {}
                () = &mut closing => return,
            }
        }
    }
}

impl ChannelProbeSchedule {
    /// When the next probe is due; `None` before the first.
    fn due(&self, every: Duration) -> Option<Instant> {
        let wait = every.mul_f64(1.0 + JITTER * self.jitter);
        Some(self.began? + wait)
    }

    fn is_under_way(&self) -> bool {
        let task = self.under_way.as_ref();
        task.is_some_and(|task| !task.is_finished())
    }
}

/// Requests the provider's model list.
async fn send_probe(
    upstream: &UpstreamClient,
    channel: &Channel,
    probing: &ProbeAttempt,
    id: &RequestId,
    timeout: Duration,
) -> Result<(), AttemptFailure> {
    let target = ChannelWithCredential {
        channel,
        credential: probing.credential(),
    };
    let failure = |failure: Option<AttemptFailure>| {
        failure.unwrap_or_else(|| AttemptFailure::new(FailureReason::ConnectionClosed))
    };
    if let Some(wait) = target.credential_wait() {
        wait.await;
    }
    let request = model_list_request(target, None, id, timeout)
        .map_err(|fault| failure(failure_reason(fault.kind).map(AttemptFailure::new)))?;
    let mut response = upstream
        .send(target, &request, &mut SendProgress::default())
        .await
        .map_err(|error| failure(error.failure()))?;
    let status = response.status;
    response.decode_content();
    // Only a connection whose response was read to its end can be reused.
    let body = response.read_bounded(RESPONSE_BYTES_MAX).await;
    response.give_back().await;
    health_of_status(status)?;
    match status.is_success() {
        true => health_of_body(&channel.errors, status, &body.bytes),
        false => Ok(()),
    }
}

/// A request for the channel's model list, a cheap request that most providers support: below its base URL, or at another
/// path.
pub(super) fn model_list_request(
    target: ChannelWithCredential<'_>,
    path: Option<String>,
    id: &RequestId,
    timeout: Duration,
) -> Result<PreparedRequest, Fault> {
    let channel = target.channel;
    let mut headers = header_policy::request_headers_for_provider(&HeaderMap::new());
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    for protocol in &*channel.protocols {
        if let Some((name, version)) = &protocol.descriptor().headers.version {
            headers.insert(name, HeaderValue::from_static(version));
        }
    }
    let path = match path {
        Some(path) => path,
        None => below_base_url_without_model(channel, "/models")?,
    };
    let body = PreparedBody::Absent;
    let prepared = PreparedRequest::new(target, Some(id), Method::GET, path, headers, body)?;
    Ok(PreparedRequest {
        timeouts: Timeouts {
            connect: timeout,
            first_byte: timeout,
            idle: timeout,
            total: timeout,
        },
        may_repeat: true,
        ..prepared
    })
}

/// A success whose body is an error is no sign of health. Other bodies do not matter.
fn health_of_body(
    errors: &ErrorClassifier,
    status: StatusCode,
    body: &[u8],
) -> Result<(), AttemptFailure> {
    // A list of models is a success, whatever else the body has.
    let has_list = skim::find(body, &["data"]).is_some_and(|data| body[data].starts_with(b"["));
    if has_list || !response_verdict::is_failure(body) {
        return Ok(());
    }
    let error = errors.classify_response(status.as_u16(), body, ErrorSubject::Resource);
    match AttemptOutcome::from_error(error, status, None, None) {
        AttemptOutcome::Failure(failure) => Err(failure),
        AttemptOutcome::Success | AttemptOutcome::ClientError => Ok(()),
    }
}

/// A provider without a model list counts as healthy.
fn health_of_status(status: StatusCode) -> Result<(), AttemptFailure> {
    let reason = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => FailureReason::RefusedCredential,
        StatusCode::TOO_MANY_REQUESTS => FailureReason::RateLimited,
        status if status.is_server_error() => FailureReason::ServerError,
        _ => return Ok(()),
    };
    Err(AttemptFailure {
        status: Some(status),
        ..AttemptFailure::new(reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_list_that_is_an_error_is_no_sign_of_health() {
        for (body, reason) in [
            (r#"{"object":"list","data":[]}"#, None),
            ("<html>", None),
            ("[]", None),
            (
                r#"{"error":{"message":"m","code":"invalid_api_key"}}"#,
                Some(FailureReason::RefusedCredential),
            ),
            (
                r#"{"code":500,"msg":"busy","data":null}"#,
                Some(FailureReason::ServerError),
            ),
            (
                r#"{"error":{"message":"m","type":"invalid_request_error"}}"#,
                None,
            ),
        ] {
            let found = health_of_body(&ErrorClassifier::BUILT_IN, StatusCode::OK, body.as_bytes());
            assert_eq!(found.err().map(|failure| failure.reason), reason, "{body}");
        }
    }
}
