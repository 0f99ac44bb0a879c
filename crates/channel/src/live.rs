//! The live state of all channels, by fingerprint, so that it survives a reload.

use super::attempt_statistics::{AttemptStatistics, AttemptStatisticsSummary};
use super::caller_loads::CallerLoads;
use super::clock::MonotonicTime;
use super::drained_channels::DrainedChannels;
use super::health::HealthTracker;
use super::health_status::{HealthReport, HealthStatus};
use super::latency_average::LatencyAverage;
use super::outcome::AttemptOutcome;
use super::retained::CatalogsInUse;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::channel::{Channel, ChannelLimits};
use headgate_core::catalog::model::Candidate;
use headgate_core::state::sliding_window::SlidingWindow;
use headgate_observe::metrics::Metrics;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;
use tokio::sync::Notify;

/// The live state of all channels.
pub struct ChannelStates {
    loads: RwLock<FingerprintMap<Arc<ChannelLoad>>>,
    /// The health of channels, models and credentials; only those that have failed once have an entry.
    healths: RwLock<FingerprintMap<Arc<HealthTracker>>>,
    /// The statistics of models on channels.
    statistics: RwLock<FingerprintMap<Arc<AttemptStatistics>>>,
    /// The latencies of models on channels; only of models that are balanced by them.
    latencies: RwLock<FingerprintMap<Arc<LatencyAverage>>>,
    retained: Mutex<CatalogsInUse>,
    pub(super) drained: DrainedChannels,
    pub(super) caller_loads: Arc<CallerLoads>,
    /// Notified when a channel is below its limits again.
    pub freed: Notify,
    pub(super) metrics: Arc<Metrics>,
}

/// The load of a channel.
#[derive(Debug, Default)]
pub struct ChannelLoad {
    in_flight: AtomicU32,
    /// The time of the last success, in milliseconds of [`MonotonicTime`]; 0 for never.
    last_success_ms: AtomicU64,
    minute: Mutex<MinuteLimitUsage>,
    turn: AtomicU32,
}

/// A limit that a channel has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReachedLimit {
    Concurrent,
    RequestsPerMinute,
    TokensPerMinute,
}

#[derive(Debug, Default)]
struct MinuteLimitUsage {
    requests: SlidingWindow,
    tokens: SlidingWindow,
}

/// Fingerprints are hashes already, so the map does not hash them again.
type FingerprintMap<T> = HashMap<u64, T, BuildHasherDefault<PassThroughHasher>>;

#[derive(Default)]
struct PassThroughHasher(u64);

impl ChannelStates {
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            loads: RwLock::default(),
            healths: RwLock::default(),
            statistics: RwLock::default(),
            latencies: RwLock::default(),
            retained: Mutex::default(),
            drained: DrainedChannels::default(),
            caller_loads: Arc::default(),
            freed: Notify::new(),
            metrics,
        }
    }

    /// Records the catalog in use, and drops the state of channels that are in no catalog any more. Cheap if nothing
    /// has changed.
    pub fn retain(&self, catalog: &Arc<Catalog>) {
        let mut retained = self.retained.lock().unwrap_or_else(PoisonError::into_inner);
        retained.update(catalog, |known| self.drop_all_but(known));
    }

    /// The catalog in use, if there is one.
    pub(super) fn catalog(&self) -> Option<Arc<Catalog>> {
        let retained = self.retained.lock().unwrap_or_else(PoisonError::into_inner);
        retained.current()
    }

    /// The load of `channel`.
    pub fn load(&self, channel: &Channel) -> Arc<ChannelLoad> {
        entry(&self.loads, channel.fingerprint)
    }

    /// Counts an attempt on the model with this fingerprint. Called once for each attempt, at its end.
    pub(super) fn record_attempt(
        &self,
        model: u64,
        now: MonotonicTime,
        outcome: AttemptOutcome,
        latency: Duration,
    ) {
        entry(&self.statistics, model).record(now, outcome, latency);
    }

    /// The latency of a candidate's model; `None` without a model, and if it has no state of its own.
    pub(super) fn candidate_latency(&self, candidate: &Candidate) -> Option<Arc<LatencyAverage>> {
        let model = candidate.model_fingerprint()?;
        Some(entry(&self.latencies, model))
    }

    /// The summary of the attempts of the last five minutes on the model with this fingerprint.
    pub fn attempt_summary(&self, model: u64, now: MonotonicTime) -> AttemptStatisticsSummary {
        let statistics = read(&self.statistics).get(&model).cloned();
        statistics
            .map(|statistics| statistics.summary(now))
            .unwrap_or_default()
    }

    /// The health tracker with this fingerprint; `None` if nothing with this fingerprint ever failed.
    pub fn health(&self, fingerprint: u64) -> Option<Arc<HealthTracker>> {
        read(&self.healths).get(&fingerprint).cloned()
    }

    /// Drops state with none of these fingerprints, except what is in use; returns whether anything was in use.
    fn drop_all_but(&self, known: &HashSet<u64>) -> bool {
        fn sweep<T>(all: &RwLock<FingerprintMap<Arc<T>>>, known: &HashSet<u64>) -> bool {
            let mut is_anything_left = false;
            let mut all = all.write().unwrap_or_else(PoisonError::into_inner);
            all.retain(|fingerprint, state| {
                let is_under_way = Arc::strong_count(state) > 1;
                let is_known = known.contains(fingerprint);
                is_anything_left |= is_under_way && !is_known;
                is_known || is_under_way
            });
            is_anything_left
        }
        sweep(&self.statistics, known);
        sweep(&self.latencies, known);
        let (loads, healths) = (sweep(&self.loads, known), sweep(&self.healths, known));
        loads || healths
    }

    /// The health status of this fingerprint.
    pub fn status(&self, fingerprint: u64, now: MonotonicTime) -> HealthStatus {
        self.health(fingerprint)
            .map_or(HealthStatus::Healthy, |health| health.status(now))
    }

    /// The health with this fingerprint, for the admin pages.
    pub fn health_report(&self, fingerprint: u64, now: MonotonicTime) -> HealthReport {
        self.health(fingerprint)
            .map_or_else(HealthReport::healthy, |health| health.report(now))
    }

    /// Like [`Self::health`], but creates the tracker if there is none.
    pub(super) fn health_or_new(&self, fingerprint: u64) -> Arc<HealthTracker> {
        entry(&self.healths, fingerprint)
    }
}

/// The value for the fingerprint in `all`, created if there is none.
fn entry<T: Default>(all: &RwLock<FingerprintMap<Arc<T>>>, fingerprint: u64) -> Arc<T> {
    let known = read(all).get(&fingerprint).cloned();
    known.unwrap_or_else(|| {
        let mut all = all.write().unwrap_or_else(PoisonError::into_inner);
        all.entry(fingerprint).or_default().clone()
    })
}

fn read<T>(all: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    all.read().unwrap_or_else(PoisonError::into_inner)
}

impl ChannelLoad {
    /// The number of requests in flight.
    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// The first limit that prevents another request, if any.
    pub fn reached_limit(
        &self,
        limits: &ChannelLimits,
        now: MonotonicTime,
    ) -> Option<ReachedLimit> {
        self.reached_limits(limits, now).next()
    }

    /// All limits that prevent another request.
    pub fn reached_limits<'l>(
        &'l self,
        limits: &'l ChannelLimits,
        now: MonotonicTime,
    ) -> impl Iterator<Item = ReachedLimit> + 'l {
        ReachedLimit::ALL.into_iter().filter(move |limit| {
            let most = limit.configured_value(limits);
            most.is_some_and(|most| self.counted(*limit, now) >= most)
        })
    }

    /// Whether the channel succeeded within the last `span`.
    pub fn succeeded_within(&self, span: Duration, now: MonotonicTime) -> bool {
        match self.last_success_ms.load(Ordering::Relaxed) {
            0 => false,
            at => now <= MonotonicTime(at).after(span),
        }
    }

    pub(super) fn record_success(&self, now: MonotonicTime) {
        self.last_success_ms.store(now.0.max(1), Ordering::Relaxed);
    }

    /// The count that a limit applies to.
    fn counted(&self, limit: ReachedLimit, now: MonotonicTime) -> u64 {
        let minute = || self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        match limit {
            ReachedLimit::Concurrent => self.in_flight().into(),
            ReachedLimit::RequestsPerMinute => minute().requests.sum(now.0),
            ReachedLimit::TokensPerMinute => minute().tokens.sum(now.0),
        }
    }

    /// A number that increases with every request, to use credentials in turn.
    pub(super) fn next_turn(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed) as usize
    }

    /// Counts a new request; returns false if another request has reached the limit meanwhile.
    pub(super) fn begin(&self, limits: &ChannelLimits, now: MonotonicTime) -> bool {
        let most = limits.concurrent.unwrap_or(u32::MAX);
        let one_more = |count| (count < most).then_some(count + 1);
        let counted = self
            .in_flight
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        if counted.is_err() {
            return false;
        }
        let Some(most) = limits.requests_per_minute else {
            return true;
        };
        let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = minute.requests.sum(now.0) < most;
        match has_room {
            true => minute.requests.add(now.0, 1),
            false => self.end(),
        }
        has_room
    }

    /// Ends a use that [`Self::begin`] allowed.
    pub(super) fn end(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn count_tokens(&self, limits: &ChannelLimits, tokens: u64, now: MonotonicTime) {
        if limits.tokens_per_minute.is_some() {
            let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
            minute.tokens.add(now.0, tokens);
        }
    }
}

impl ReachedLimit {
    const ALL: [Self; 3] = [
        Self::Concurrent,
        Self::RequestsPerMinute,
        Self::TokensPerMinute,
    ];

    /// The configured value of the limit.
    fn configured_value(self, limits: &ChannelLimits) -> Option<u64> {
        match self {
            Self::Concurrent => limits.concurrent.map(u64::from),
            Self::RequestsPerMinute => limits.requests_per_minute,
            Self::TokensPerMinute => limits.tokens_per_minute,
        }
    }

    /// The key of the limit in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Concurrent => "concurrent",
            Self::RequestsPerMinute => "requests_per_minute",
            Self::TokensPerMinute => "tokens_per_minute",
        }
    }
}

impl Hasher for PassThroughHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, fingerprint: u64) {
        self.0 = fingerprint;
    }
}
