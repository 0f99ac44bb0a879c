//! The traffic of the last hour in memory, for the dashboard: a page that is opened late shows what happened before.

pub mod latency_counts;
#[cfg(test)]
mod tests;

use super::error_side::ErrorSide;
use super::finished_exchange::FinishedExchange;
use foldhash::fast::{FixedState, RandomState};
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::state::lock::lock;
use headgate_core::thread_shards::ThreadShards;
use headgate_protocol::error_class::ErrorClass;
use latency_counts::LatencyCounts;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Length of an interval in seconds.
pub const INTERVAL_SECONDS: u64 = 10;
/// Number of intervals that are kept: an hour.
const INTERVALS_MAX: usize = 360;
/// Number of callers and channels that an interval counts by name; further ones are not counted by name.
const NAMES_MAX: usize = 200;

/// The traffic of the last hour.
#[derive(Default)]
pub struct TrafficHistory {
    /// What each thread has counted since the last interval ended or was read.
    current: ThreadShards<Mutex<TrafficInterval>>,
    /// By their start.
    intervals: Mutex<VecDeque<TrafficInterval>>,
}

/// The requests that ended within an interval.
#[derive(Clone, Default)]
pub struct TrafficInterval {
    /// Start in seconds since the epoch; a multiple of [`INTERVAL_SECONDS`].
    pub start: u64,
    pub requests: u64,
    /// Failed requests by the side that caused the failure, in the order of [`ErrorSide::ALL`].
    pub errors: [u64; 3],
    /// Requests that a limit of their caller refused.
    pub rate_limited: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub first_byte: LatencyCounts,
    pub total: LatencyCounts,
    /// Time spent waiting for providers, for callers, and in the gateway itself.
    pub waits: [Duration; 3],
    pub callers: HashMap<Box<str>, CallerTraffic, RandomState>,
    pub channels: HashMap<Box<str>, ChannelTraffic, RandomState>,
    /// Requests that a provider refused because of what they requested, by channel and model.
    pub refusals: HashMap<Box<str>, ModelRefusals, RandomState>,
}

/// What one caller did within an interval.
#[derive(Clone, Copy, Default)]
pub struct CallerTraffic {
    pub requests: u64,
    pub rate_limited: u64,
    pub tokens: u64,
}

/// Requests for one model that the provider of one channel refused within an interval.
#[derive(Clone, Copy, Default)]
pub struct ModelRefusals {
    /// Those whose callers got the refusal.
    pub requests: u64,
    /// Those that another channel then served.
    pub served_elsewhere: u64,
    /// A hash of the first caller.
    first_caller: u64,
    pub has_several_callers: bool,
}

/// What was sent to one channel by requests that ended within an interval.
#[derive(Clone, Copy, Default)]
pub struct ChannelTraffic {
    /// Requests to the provider: each attempt counts.
    pub requests: u64,
    /// Those that failed, also where another channel then served the caller.
    pub upstream_errors: u64,
    /// Failures that came with a success status.
    pub false_successes: u64,
    /// Whole bodies in place of streams that were requested.
    pub unstreamed: u64,
    /// Number of responses, and the sum of the times to their first bytes, from the start of the attempt.
    pub responses: u32,
    pub first_bytes: Duration,
}

impl TrafficHistory {
    /// Counts a request that ended now.
    pub fn count(&self, request: &FinishedExchange<'_>) {
        let mut current = lock(self.current.own());
        let start = interval_start(SystemTime::now());
        // After a step of the clock to the past, requests count in the last interval.
        if current.start < start {
            self.add(current.take());
            current.start = start;
        }
        current.count(request);
    }

    /// Calls `look` with the intervals that start at `since` or later, oldest first. Intervals without requests are
    /// absent.
    pub fn since<T>(
        &self,
        since: u64,
        look: impl FnOnce(&mut dyn Iterator<Item = &TrafficInterval>) -> T,
    ) -> T {
        for current in self.current.iter() {
            self.add(lock(current).take());
        }
        let intervals = lock(&self.intervals);
        look(&mut intervals.iter().filter(|interval| interval.start >= since))
    }

    /// The traffic of the last `seconds` in one interval.
    pub fn last(&self, seconds: u64) -> TrafficInterval {
        let since = interval_start(SystemTime::now()).saturating_sub(seconds);
        self.since(since, |intervals| {
            let mut sum = TrafficInterval {
                start: since,
                ..TrafficInterval::default()
            };
            intervals.for_each(|interval| sum.merge(interval));
            sum
        })
    }

    /// Adds what a thread has counted.
    fn add(&self, counted: TrafficInterval) {
        if counted.requests == 0 {
            return;
        }
        let mut intervals = lock(&self.intervals);
        match intervals.binary_search_by_key(&counted.start, |interval| interval.start) {
            Ok(known) => intervals[known].merge(&counted),
            Err(place) => {
                intervals.insert(place, counted);
                if intervals.len() > INTERVALS_MAX {
                    intervals.pop_front();
                }
            }
        }
    }
}

impl ModelRefusals {
    fn merge(&mut self, more: Self) {
        self.served_elsewhere += more.served_elsewhere;
        if more.requests == 0 {
            return;
        }
        let is_other = self.requests > 0 && self.first_caller != more.first_caller;
        self.has_several_callers |= is_other || more.has_several_callers;
        self.first_caller = more.first_caller;
        self.requests += more.requests;
    }
}

/// The name of the refusals of a model on a channel. Names of a configuration have no line breaks.
fn refusals_name(channel: &str, model: &str) -> String {
    format!("{channel}\n{model}")
}

impl ChannelTraffic {
    /// The mean time to the first byte; `None` without responses.
    pub fn first_byte(&self) -> Option<Duration> {
        self.first_bytes.checked_div(self.responses)
    }
}

impl TrafficInterval {
    /// What was counted; the interval goes on without it.
    fn take(&mut self) -> Self {
        let start = self.start;
        let rest = Self {
            start,
            ..Self::default()
        };
        std::mem::replace(self, rest)
    }

    fn count(&mut self, request: &FinishedExchange<'_>) {
        let error = request.error_side();
        let rate_limited = u64::from(request.is_rate_limited());
        self.requests += 1;
        if let Some(side) = error {
            self.errors[side as usize] += 1;
        }
        self.rate_limited += rate_limited;
        let tokens = request.usage.map_or([0, 0], |usage| {
            [usage.input_tokens, usage.output_tokens].map(Option::unwrap_or_default)
        });
        // Tokens are what providers report.
        self.input_tokens = self.input_tokens.saturating_add(tokens[0]);
        self.output_tokens = self.output_tokens.saturating_add(tokens[1]);
        if let Some(first_byte) = request.first_byte {
            self.first_byte.add(first_byte);
        }
        self.total.add(request.total);
        self.waits[0] += request.wait_times.upstream.total;
        self.waits[1] += request.wait_times.client.total;
        self.waits[2] += request.wait_times.gateway.total;
        if error == Some(ErrorSide::Caller)
            && request.settlement == ExchangeSettlement::UpstreamError
        {
            self.count_refusal(request);
        }
        if error.is_none() {
            self.count_served_elsewhere(request);
        }
        if let Some(caller) = find_or_add(&mut self.callers, request.caller) {
            caller.requests += 1;
            caller.rate_limited += rate_limited;
            let more = tokens[0].saturating_add(tokens[1]);
            caller.tokens = caller.tokens.saturating_add(more);
        }
        for attempt in request.failed_attempts {
            if let Some(channel) = find_or_add(&mut self.channels, Some(&attempt.channel)) {
                channel.requests += 1;
                channel.upstream_errors += 1;
                let is_success = attempt
                    .status
                    .is_some_and(|status| (200..300).contains(&status));
                channel.false_successes += u64::from(is_success);
            }
        }
        if let Some(channel) = find_or_add(&mut self.channels, request.channel) {
            if !request.has_last_attempt_failed {
                channel.requests += 1;
                channel.upstream_errors += u64::from(error == Some(ErrorSide::Upstream));
                let is_false = request.settlement == ExchangeSettlement::UpstreamError
                    && request.status == 200;
                channel.false_successes += u64::from(is_false);
                channel.unstreamed += u64::from(request.is_unstreamed);
            }
            if let Some(first_byte) = request.upstream_first_byte {
                channel.responses += 1;
                channel.first_bytes += first_byte;
            }
        }
    }

    /// Counts a request that the provider refused because of what it requested.
    fn count_refusal(&mut self, request: &FinishedExchange<'_>) {
        let (Some(channel), Some(model)) = (request.channel, request.model) else {
            return;
        };
        let name = refusals_name(channel, model);
        if let Some(refusals) = find_or_add(&mut self.refusals, Some(&name)) {
            let caller = FixedState::default().hash_one(request.caller);
            refusals.merge(ModelRefusals {
                requests: 1,
                first_caller: caller,
                ..ModelRefusals::default()
            });
        }
    }

    /// Counts a request that was served by another channel than those whose providers refused its model or the account.
    fn count_served_elsewhere(&mut self, request: &FinishedExchange<'_>) {
        let Some(model) = request.model else {
            return;
        };
        let classes = [
            ErrorClass::ModelNotFound,
            ErrorClass::RefusedAccount,
            ErrorClass::RefusedCredential,
        ];
        let refused = (request.failed_attempts.iter())
            .filter(|attempt| classes.iter().any(|class| class.name() == attempt.outcome));
        for attempt in refused {
            let name = refusals_name(&attempt.channel, model);
            if let Some(refusals) = find_or_add(&mut self.refusals, Some(&name)) {
                refusals.served_elsewhere += 1;
            }
        }
    }

    /// The requests for a model that the provider of a channel refused.
    pub fn refusals(&self, channel: &str, model: &str) -> Option<&ModelRefusals> {
        self.refusals.get(&*refusals_name(channel, model))
    }

    fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        for (errors, more) in self.errors.iter_mut().zip(other.errors) {
            *errors += more;
        }
        self.rate_limited += other.rate_limited;
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.first_byte.merge(&other.first_byte);
        self.total.merge(&other.total);
        for (wait, more) in self.waits.iter_mut().zip(other.waits) {
            *wait += more;
        }
        for (name, more) in &other.callers {
            if let Some(caller) = find_or_add(&mut self.callers, Some(name)) {
                caller.requests += more.requests;
                caller.rate_limited += more.rate_limited;
                caller.tokens = caller.tokens.saturating_add(more.tokens);
            }
        }
        for (name, more) in &other.refusals {
            if let Some(refusals) = find_or_add(&mut self.refusals, Some(name)) {
                refusals.merge(*more);
            }
        }
        for (name, more) in &other.channels {
            if let Some(channel) = find_or_add(&mut self.channels, Some(name)) {
                channel.requests += more.requests;
                channel.upstream_errors += more.upstream_errors;
                channel.false_successes += more.false_successes;
                channel.unstreamed += more.unstreamed;
                channel.responses += more.responses;
                channel.first_bytes += more.first_bytes;
            }
        }
    }
}

/// The entry of `name`, which is added if there is room.
fn find_or_add<'m, T: Default>(
    entries: &'m mut HashMap<Box<str>, T, RandomState>,
    name: Option<&str>,
) -> Option<&'m mut T> {
    let name = name?;
    if !entries.contains_key(name) {
        if entries.len() == NAMES_MAX {
            return None;
        }
        entries.insert(name.into(), T::default());
    }
    entries.get_mut(name)
}

fn interval_start(time: SystemTime) -> u64 {
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    seconds - seconds % INTERVAL_SECONDS
}
