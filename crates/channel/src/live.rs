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
use super::state_map::{StateHandle, StateMap};
use headgate_core::catalog::Catalog;
use headgate_core::catalog::channel::{Channel, ChannelLimits};
use headgate_core::catalog::model::Candidate;
use headgate_core::state::sliding_window::SlidingWindow;
use headgate_core::thread_shards::ThreadGauge;
use headgate_observe::metrics::Metrics;
use std::collections::HashSet;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// The live state of all channels, which its clones share. Each worker has a clone of its own, so that requests change a
/// reference count that no other worker changes.
#[derive(Clone)]
pub struct ChannelStates(Arc<SharedChannelStates>);

/// What all clones of [`ChannelStates`] share.
pub struct SharedChannelStates {
    loads: StateMap<ChannelLoad>,
    /// The health of channels, models and credentials; only those that have failed once have an entry.
    healths: StateMap<HealthTracker>,
    /// The statistics of models on channels.
    statistics: StateMap<AttemptStatistics>,
    /// The latencies of models on channels; only of models that are balanced by them.
    latencies: StateMap<LatencyAverage>,
    retained: Mutex<CatalogsInUse>,
    pub(super) drained: DrainedChannels,
    pub(super) caller_loads: Arc<CallerLoads>,
    /// Notified when a channel is below its limits again.
    pub freed: Notify,
    pub(super) metrics: Arc<Metrics>,
}

/// The load of a channel.
#[derive(Default)]
pub struct ChannelLoad {
    /// The requests in flight that count for a `concurrent` limit, which must not be exceeded by one.
    limited: AtomicU32,
    /// Those that began while the channel had none.
    unlimited: ThreadGauge,
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

impl ChannelStates {
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self(Arc::new(SharedChannelStates {
            loads: StateMap::default(),
            healths: StateMap::default(),
            statistics: StateMap::default(),
            latencies: StateMap::default(),
            retained: Mutex::default(),
            drained: DrainedChannels::default(),
            caller_loads: Arc::default(),
            freed: Notify::new(),
            metrics,
        }))
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
    pub fn load(&self, channel: &Channel) -> StateHandle<ChannelLoad> {
        self.loads.get_or_new(channel.fingerprint)
    }

    /// Counts an attempt on the model with this fingerprint. Called once for each attempt, at its end.
    pub(super) fn record_attempt(
        &self,
        model: u64,
        now: MonotonicTime,
        outcome: AttemptOutcome,
        latency: Duration,
    ) {
        let statistics = self.statistics.get_or_new(model);
        statistics.record(now, outcome, latency);
    }

    /// The latency of a candidate's model; `None` without a model, and if it has no state of its own.
    pub(super) fn candidate_latency(
        &self,
        candidate: &Candidate,
    ) -> Option<StateHandle<LatencyAverage>> {
        let model = candidate.model_fingerprint()?;
        Some(self.latencies.get_or_new(model))
    }

    /// The summary of the attempts of the last five minutes on the model with this fingerprint.
    pub fn attempt_summary(&self, model: u64, now: MonotonicTime) -> AttemptStatisticsSummary {
        let statistics = self.statistics.get(model);
        statistics
            .map(|statistics| statistics.summary(now))
            .unwrap_or_default()
    }

    /// The health tracker with this fingerprint; `None` if nothing with this fingerprint ever failed.
    pub fn health(&self, fingerprint: u64) -> Option<StateHandle<HealthTracker>> {
        self.healths.get(fingerprint)
    }

    /// Drops state with none of these fingerprints, except what is in use; returns whether anything was in use.
    fn drop_all_but(&self, known: &HashSet<u64>) -> bool {
        self.statistics.drop_all_but(known);
        self.latencies.drop_all_but(known);
        let loads = self.loads.drop_all_but(known);
        self.healths.drop_all_but(known) || loads
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
    pub(super) fn health_or_new(&self, fingerprint: u64) -> StateHandle<HealthTracker> {
        self.healths.get_or_new(fingerprint)
    }
}

impl Deref for ChannelStates {
    type Target = SharedChannelStates;

    fn deref(&self) -> &SharedChannelStates {
        &self.0
    }
}

impl ChannelLoad {
    /// The number of requests in flight.
    pub fn in_flight(&self) -> u32 {
        let limited = self.limited.load(Ordering::Relaxed);
        limited.saturating_add(self.unlimited())
    }

    fn unlimited(&self) -> u32 {
        // Not negative but while a request moves to another thread.
        u32::try_from(self.unlimited.sum()).unwrap_or(0)
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
        let now = now.0.max(1);
        // Many requests succeed within a millisecond.
        if self.last_success_ms.load(Ordering::Relaxed) != now {
            self.last_success_ms.store(now, Ordering::Relaxed);
        }
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
        match limits.concurrent {
            None => self.unlimited.add(1),
            Some(most) => {
                let most = most.saturating_sub(self.unlimited());
                let one_more = |count| (count < most).then_some(count + 1);
                let counted =
                    self.limited
                        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
                if counted.is_err() {
                    return false;
                }
            }
        }
        let Some(most) = limits.requests_per_minute else {
            return true;
        };
        let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = minute.requests.sum(now.0) < most;
        match has_room {
            true => minute.requests.add(now.0, 1),
            false => self.end(limits.concurrent.is_some()),
        }
        has_room
    }

    /// Ends a use that [`Self::begin`] allowed, of a channel that had a `concurrent` limit or not.
    pub(super) fn end(&self, is_limited: bool) {
        match is_limited {
            false => self.unlimited.add(-1),
            true => {
                self.limited.fetch_sub(1, Ordering::Relaxed);
            }
        }
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
