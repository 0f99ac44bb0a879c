//! Builds failover, retry budget, channel limits and health policy from their configuration.

use super::ProblemCollector;
use crate::resilience::{
    ChannelHealthConfig, ChannelLimitsConfig, FailoverConfig, FirstEventBufferConfig,
    HealthProbeConfig, RetryBudgetConfig,
};
use headgate_core::catalog::channel::{ChannelLimits, HealthPolicy, ProbePolicy};
use std::time::Duration;

const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
const PROBE_INTERVAL_MIN: Duration = Duration::from_millis(100);

/// The failover of a route: what happens if a channel fails before the caller has received any byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failover {
    /// The maximum number of attempts per request, at least 1.
    pub max_attempts: u32,
    /// Whether a request fails over after a timeout.
    pub on_timeout: bool,
    /// Bounds of holding back the first events of a stream; `None` to forward every event at once.
    pub buffer_first_events: Option<FirstEventBufferLimits>,
    /// How long a request may wait for a channel that has reached its limits.
    pub queue_timeout: Duration,
    /// Whether responses carry the number of attempts in a header.
    pub report_attempts: bool,
}

/// The maximum number of retries of all requests together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatewayRetryBudgetLimits {
    /// In percent of the requests.
    pub budget_percent: u8,
    /// The minimum per second, whatever the share.
    pub min_per_second: u32,
}

/// Bounds of holding back the first events of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstEventBufferLimits {
    pub time: Duration,
    pub bytes: usize,
}

impl Failover {
    pub fn new(config: &FailoverConfig) -> Self {
        let FailoverConfig {
            max_attempts,
            on_timeout,
            buffer_first_events,
            queue_timeout,
            report_attempts,
        } = config;
        Self {
            max_attempts: max_attempts.unwrap_or(4),
            on_timeout: on_timeout.unwrap_or(true),
            buffer_first_events: build_event_buffer(
                &buffer_first_events.clone().unwrap_or_default(),
            ),
            queue_timeout: queue_timeout
                .as_ref()
                .map_or(Duration::ZERO, |span| span.duration()),
            report_attempts: report_attempts.unwrap_or(false),
        }
    }
}

impl GatewayRetryBudgetLimits {
    pub fn new(config: &RetryBudgetConfig) -> Self {
        let RetryBudgetConfig {
            budget_percent,
            min_per_second,
        } = *config;
        Self {
            budget_percent,
            min_per_second,
        }
    }
}

/// The limits of a channel.
pub fn limits(config: &ChannelLimitsConfig) -> ChannelLimits {
    let ChannelLimitsConfig {
        concurrent,
        requests_per_minute,
        tokens_per_minute,
    } = *config;
    ChannelLimits {
        concurrent,
        requests_per_minute,
        tokens_per_minute,
    }
}

/// The health policy of a channel; `at` is the pointer to `config`.
pub(crate) fn health(
    config: &ChannelHealthConfig,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> HealthPolicy {
    let ChannelHealthConfig {
        consecutive_failures,
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
        && probe.interval.duration() < PROBE_INTERVAL_MIN
    {
        problems.error(
            &format!("{at}/probe/interval"),
            "must be at least 100ms",
            None,
        );
    }
    HealthPolicy {
        consecutive_failures: consecutive_failures.unwrap_or(base.consecutive_failures),
        failure_percent: failure_percent.unwrap_or(base.failure_percent),
        cool_down,
        cool_down_max,
        credential_cool_down: credential_cool_down
            .as_ref()
            .map_or(base.credential_cool_down, |span| span.duration()),
        probe: probe.as_ref().map(build_probe),
    }
}

fn build_event_buffer(config: &FirstEventBufferConfig) -> Option<FirstEventBufferLimits> {
    let FirstEventBufferConfig {
        enabled,
        time,
        size,
    } = config;
    enabled.unwrap_or(true).then(|| FirstEventBufferLimits {
        time: time
            .as_ref()
            .map_or(Duration::from_secs(1), |span| span.duration()),
        bytes: size.as_ref().map_or(64 << 10, |size| {
            usize::try_from(size.bytes()).unwrap_or(usize::MAX)
        }),
    })
}

fn build_probe(config: &HealthProbeConfig) -> ProbePolicy {
    ProbePolicy {
        interval: config.interval.duration(),
        timeout: config
            .timeout
            .as_ref()
            .map_or(PROBE_TIMEOUT, |span| span.duration()),
    }
}
