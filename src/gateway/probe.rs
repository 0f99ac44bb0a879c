//! Asks providers from time to time whether they are well, so that no caller has to try one that is not.
//!
//! Its connections are its own: one of HTTP/2 is driven by the thread that made it, and callers'
//! requests must not wait for this one.

use super::exchange::attempt::{self, STALE_CONNECTIONS_MAX};
use super::exchange::prepare::prepare_probe;
use super::listen::stages::{Stages, reached};
use super::upstream::{Connection, ConnectionSource, Upstream};
use crate::catalog::channel::{Channel, Probe};
use crate::channel::addresses::Addresses;
use crate::channel::chance::chance;
use crate::channel::clock::Moment;
use crate::channel::live::Channels;
use crate::channel::outcome::Why;
use crate::channel::probed::Probing;
use crate::reload::Reloader;
use async_trait::async_trait;
use http::StatusCode;
use pingora_core::server::ShutdownWatch;
use pingora_core::services::background::BackgroundService;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

/// How soon a reload is noticed.
const LOOK: Duration = Duration::from_millis(500);
/// The time between two probes is longer by up to this share, so that several gateways spread.
const JITTER: f64 = 0.1;
/// A longer answer is not read to its end.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// The prober of a process.
pub struct Prober {
    reloader: Arc<Reloader>,
    channels: Arc<Channels>,
    stages: Arc<Stages>,
    upstream: Arc<Upstream>,
}

/// The probes of one channel.
#[derive(Default)]
struct Probes {
    /// When the last one began.
    began: Option<Instant>,
    /// From 0 to 1: how much later than usual the next one begins.
    jitter: f64,
    count: usize,
    under_way: Option<JoinHandle<()>>,
}

/// By the channels' fingerprints.
type Known = HashMap<u64, Probes>;

impl Prober {
    pub fn new(
        reloader: Arc<Reloader>,
        channels: Arc<Channels>,
        addresses: Addresses,
        stages: Arc<Stages>,
    ) -> Self {
        Self {
            reloader,
            channels,
            stages,
            upstream: Arc::new(Upstream::new(addresses)),
        }
    }

    /// Begins every probe that is due, drops what is known of channels that are gone, and tells when to look again.
    fn look(&self, known: &mut Known) -> Instant {
        let now = Instant::now();
        let mut next = now + LOOK;
        let snapshot = self.reloader.current();
        self.channels.retain(&snapshot.catalog);
        let probed: HashMap<u64, (&Arc<Channel>, Probe)> = snapshot
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
            let every = self.channels.probed_every(channel, probe, Moment::now());
            if probes.due(every).is_none_or(|due| due <= now) {
                probes.under_way = self.begin(channel, probe, probes.count);
                probes.began = Some(now);
                probes.jitter = chance();
                probes.count = probes.count.wrapping_add(1);
            }
            next = next.min(probes.due(every).unwrap_or(next));
        }
        next
    }

    /// None where a probe is of no use now.
    fn begin(&self, channel: &Arc<Channel>, probe: Probe, turn: usize) -> Option<JoinHandle<()>> {
        let probing = self.channels.probe(channel, turn, Moment::now())?;
        let (upstream, channel) = (self.upstream.clone(), channel.clone());
        Some(tokio::spawn(async move {
            let found = ask(&upstream, &channel, &probing, probe.timeout).await;
            probing.tell(found);
        }))
    }
}

#[async_trait]
impl BackgroundService for Prober {
    /// Until callers are no longer served: who drains chooses no more channels.
    async fn start(&self, _: ShutdownWatch) {
        let mut closing = pin!(reached(self.stages.callers()));
        let mut known = Known::new();
        loop {
            let next = self.look(&mut known);
            tokio::select! {
                () = sleep_until(next) => {}
                () = &mut closing => return,
            }
        }
    }
}

impl Probes {
    /// When the next one begins; none before the first.
    fn due(&self, every: Duration) -> Option<Instant> {
        let wait = every.mul_f64(1.0 + JITTER * self.jitter);
        Some(self.began? + wait)
    }

    fn is_under_way(&self) -> bool {
        let task = self.under_way.as_ref();
        task.is_some_and(|task| !task.is_finished())
    }
}

/// Asks the provider for its models.
async fn ask(
    upstream: &Upstream,
    channel: &Channel,
    probing: &Probing,
    timeout: Duration,
) -> Result<(), Why> {
    let until = Instant::now() + timeout;
    for _ in 0..STALE_CONNECTIONS_MAX {
        let connecting = upstream.connect(channel, probing.credential(), ConnectionSource::Pool);
        let mut connection = match timeout_at(until, connecting).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(_)) | Err(_) => return Err(Why::Unreachable),
        };
        let answered = exchange(&mut connection, channel, probing);
        match timeout_at(until, answered).await {
            Ok(Some(status)) => {
                // What is left of the body tells nothing of its health.
                let _ = timeout_at(until, drain(&mut connection)).await;
                upstream.give_back(connection).await;
                return judge(status);
            }
            Ok(None) => {
                let was_reused = connection.reused;
                upstream.discard(connection).await;
                if !was_reused {
                    break;
                }
            }
            Err(_) => {
                upstream.discard(connection).await;
                return Err(Why::Silent);
            }
        }
    }
    Err(Why::Broken)
}

/// The answer's status; none where the connection breaks.
async fn exchange(
    connection: &mut Connection,
    channel: &Channel,
    probing: &Probing,
) -> Option<StatusCode> {
    let session = &mut connection.session;
    let prepared = prepare_probe(channel, probing.credential());
    let (head, body) = prepared.into_wire(session, channel).ok()?;
    attempt::send(session, head, &body, channel.timeouts.idle)
        .await
        .ok()?;
    connection.is_informed = attempt::read_head(session).await.ok()?;
    Some(session.response_header()?.status)
}

/// Reads the body, so that the connection can be used again.
async fn drain(connection: &mut Connection) {
    let mut bytes = 0;
    while let Ok(Some(piece)) = connection.session.read_response_body().await {
        bytes += piece.len();
        if bytes > ANSWER_BYTES_MAX {
            return;
        }
    }
}

/// A provider that does not list its models answers well all the same.
fn judge(status: StatusCode) -> Result<(), Why> {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(Why::CredentialRefused),
        StatusCode::TOO_MANY_REQUESTS => Err(Why::Busy),
        status if status.is_server_error() => Err(Why::ProviderError),
        _ => Ok(()),
    }
}
