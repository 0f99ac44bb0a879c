//! Builds failover, retry budget, channel limits and health policy from their configuration.

use super::ProblemCollector;
use crate::catalog::channel::{ChannelLimits, HealthPolicy, ProbePolicy};
use crate::config::resilience::{
    ChannelLimitsConfig, FailoverConfig, HealthConfig, ProbeConfig, RetryBudgetConfig,
    StreamHoldConfig,
};
use std::time::Duration;

const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
const PROBE_EVERY_MIN: Duration = Duration::from_millis(100);

/// The failover of a route: what happens if a channel fails before the caller has received any byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failover {
    /// The maximum number of attempts per request, at least 1.
    pub attempts: u32,
    /// Whether a request fails over after a timeout.
    pub on_silence: bool,
    /// Bounds of holding back the first events of a stream; `None` to forward every event at once.
    pub hold: Option<StreamHold>,
    /// How long a request may wait for a channel that has reached its limits.
    pub wait: Duration,
    /// Whether responses carry the number of attempts in a header.
    pub tell_attempts: bool,
}

/// The maximum number of retries of all requests together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryBudgetLimits {
    /// In percent of the requests.
    pub percent: u8,
    /// The minimum per second, whatever the share.
    pub per_second: u32,
}

/// Bounds of holding back the first events of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamHold {
    pub time: Duration,
    pub bytes: usize,
}

impl Failover {
    pub fn new(config: &FailoverConfig) -> Self {
        let FailoverConfig {
            attempts,
            on_silence,
            hold,
            wait,
            tell_attempts,
        } = config;
        Self {
            attempts: attempts.unwrap_or(4),
            on_silence: on_silence.unwrap_or(true),
            hold: build_hold(&hold.clone().unwrap_or_default()),
            wait: wait.as_ref().map_or(Duration::ZERO, |wait| wait.duration()),
            tell_attempts: tell_attempts.unwrap_or(false),
        }
    }
}

impl RetryBudgetLimits {
    pub fn new(config: &RetryBudgetConfig) -> Self {
        let RetryBudgetConfig {
            percent,
            per_second,
        } = *config;
        Self {
            percent,
            per_second,
        }
    }
}

/// The limits of a channel.
pub fn limits(config: &ChannelLimitsConfig) -> ChannelLimits {
    let ChannelLimitsConfig {
        in_flight,
        requests_per_minute,
        tokens_per_minute,
    } = *config;
    ChannelLimits {
        in_flight,
        requests_per_minute,
        tokens_per_minute,
    }
}

/// The health policy of a channel; `at` is the pointer to `config`.
pub(crate) fn health(
    config: &HealthConfig,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> HealthPolicy {
    let HealthConfig {
        failures,
        failure_percent,
        cool_down,
        cool_down_max,
        credential_cool_down,
        probe,
    } = config;
    let base = HealthPolicy::default();
    let cool_down = cool_down
        .as_ref()
        .map_or(base.cool_down, |span| span.duration());
    let cool_down_max = cool_down_max
        .as_ref()
        .map_or(base.cool_down_max.max(cool_down), |span| span.duration());
    if cool_down_max < cool_down {
        problems.error(
            &format!("{at}/cool_down_max"),
            "`cool_down_max` must not be less than `cool_down`",
            None,
        );
    }
    if let Some(probe) = probe
        && probe.every.duration() < PROBE_EVERY_MIN
    {
        problems.error(&format!("{at}/probe/every"), "must be at least 100ms", None);
    }
    HealthPolicy {
        failures: failures.unwrap_or(base.failures),
        failure_percent: failure_percent.unwrap_or(base.failure_percent),
        cool_down,
        cool_down_max,
        credential_cool_down: credential_cool_down
            .as_ref()
            .map_or(base.credential_cool_down, |span| span.duration()),
        probe: probe.as_ref().map(build_probe),
    }
}

fn build_hold(config: &StreamHoldConfig) -> Option<StreamHold> {
    let StreamHoldConfig {
        enabled,
        time,
        size,
    } = config;
    enabled.unwrap_or(true).then(|| StreamHold {
        time: time
            .as_ref()
            .map_or(Duration::from_secs(1), |span| span.duration()),
        bytes: size.as_ref().map_or(64 << 10, |size| {
            usize::try_from(size.bytes()).unwrap_or(usize::MAX)
        }),
    })
}

fn build_probe(config: &ProbeConfig) -> ProbePolicy {
    ProbePolicy {
        every: config.every.duration(),
        timeout: config
            .timeout
            .as_ref()
            .map_or(PROBE_TIMEOUT, |span| span.duration()),
    }
}
