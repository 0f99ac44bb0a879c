//! Limits, health, failover and retries in `routes.yaml`.

use headgate_core::scalar::{ByteSize, HumanDuration};
use schemars::JsonSchema;
use serde::Deserialize;

/// Limits of a channel, in this process; requests above them go to another channel.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelLimitsConfig {
    /// Maximum concurrent requests, at least 1. Set it a little below the limit of the account. Default: no
    /// limit.
    #[schemars(range(min = 1))]
    pub concurrent: Option<u32>,
    /// Maximum requests in any 60 s, at least 1. Default: no limit.
    #[schemars(range(min = 1))]
    pub requests_per_minute: Option<u64>,
    /// Maximum tokens in any 60 s, at least 1, counted when a response ends. Default: no limit.
    #[schemars(range(min = 1))]
    pub tokens_per_minute: Option<u64>,
}

/// When a channel enters a cool-down, and for how long.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelHealthConfig {
    /// Consecutive failures that start a cool-down, up to 1000; 0 disables cool-downs. Lower it for a channel
    /// with few requests. Default: 5.
    #[schemars(range(max = 1000))]
    pub consecutive_failures: Option<u32>,
    /// Percentage of failures, 1 to 100, among at least 20 requests in the last 30 s that starts a cool-down.
    /// Lower it to leave a failing channel earlier. Default: 50.
    #[schemars(range(min = 1, max = 100))]
    pub failure_percent: Option<u8>,
    /// First cool-down; each consecutive one is twice as long. Raise it for a provider whose outages last
    /// longer. Default: 1s.
    pub cool_down: Option<HumanDuration>,
    /// Longest cool-down, not below `cool_down`. Default: 1m.
    pub cool_down_max: Option<HumanDuration>,
    /// First cool-down of a refused credential; each consecutive one is twice as long, up to 10m. Default: 1m.
    pub credential_cool_down: Option<HumanDuration>,
    /// Active health probes. Default: off.
    pub probe: Option<HealthProbeConfig>,
}

/// An active health probe.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HealthProbeConfig {
    /// Interval between probes, at least 100ms.
    pub interval: HumanDuration,
    /// Timeout of a probe. Default: 5s.
    pub timeout: Option<HumanDuration>,
}

/// Failover before the first byte of the response.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FailoverConfig {
    /// Maximum attempts for one request, 1 to 32; 1 disables failover. Raise it if a model has more channels
    /// than this. Default: 4.
    #[schemars(range(min = 1, max = 32))]
    pub max_attempts: Option<u32>,
    /// Whether a first-byte timeout fails over, if the request is text that is neither stored nor run in the
    /// background. Set `false` if a response that takes long must not be paid for twice. Default: true.
    pub on_timeout: Option<bool>,
    /// Buffering of the first events of a stream until one has content, so that an error right after them can
    /// still fail over. Default: on, for 1s and 64KiB.
    pub buffer_first_events: Option<FirstEventBufferConfig>,
    /// How long a request may wait for a channel that is at its limits. Set it if a short wait is better than a
    /// 503. Default: no wait.
    pub queue_timeout: Option<HumanDuration>,
    /// Whether responses carry the number of attempts in `x-headgate-attempts`. Default: false.
    pub report_attempts: Option<bool>,
}

/// Limits for buffering the first events of a stream.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FirstEventBufferConfig {
    /// Whether the first events are buffered. Set `false` if the first event must not be delayed. Default:
    /// true.
    pub enabled: Option<bool>,
    /// Maximum time for which events are buffered. Default: 1s.
    pub time: Option<HumanDuration>,
    /// Maximum size of the buffered events. Default: 64KiB.
    pub size: Option<ByteSize>,
}

/// Retry budget: limit on retries across all requests.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RetryBudgetConfig {
    /// Retries in percent of the requests, 0 to 100. Raise it if single channels often fail and the others have
    /// room. Default: 10.
    #[schemars(range(max = 100))]
    pub budget_percent: u8,
    /// Retries per second that are always allowed, 0 to 100000; they matter while there are few requests.
    /// Default: 10.
    #[schemars(range(max = 100_000))]
    pub min_per_second: u32,
}

impl Default for RetryBudgetConfig {
    fn default() -> Self {
        Self {
            budget_percent: 10,
            min_per_second: 10,
        }
    }
}
