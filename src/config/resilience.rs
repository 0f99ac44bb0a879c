//! Channels that fail, as written: limits, health, failover, retries.

use crate::scalar::{ByteSize, HumanDuration};
use schemars::JsonSchema;
use serde::Deserialize;

/// How much a channel may be given; what is over goes to another channel.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelLimitsConfig {
    /// Requests at one time.
    #[schemars(range(min = 1))]
    pub in_flight: Option<u32>,
    /// Requests in any 60 s.
    #[schemars(range(min = 1))]
    pub requests_per_minute: Option<u64>,
    /// Tokens in any 60 s, counted when an answer is over.
    #[schemars(range(min = 1))]
    pub tokens_per_minute: Option<u64>,
}

/// When a channel is left alone, and for how long.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HealthConfig {
    /// Failures in a row after which it is left alone; 0 for never. 5 if absent.
    #[schemars(range(max = 1000))]
    pub failures: Option<u32>,
    /// Share of failures, in percent, among at least 20 requests of the last 30 s. 50 if absent.
    #[schemars(range(min = 1, max = 100))]
    pub failure_percent: Option<u8>,
    /// The first cool-down; each one that follows at once is twice as long. 1s if absent.
    pub cool_down: Option<HumanDuration>,
    /// The longest cool-down. 1m if absent.
    pub cool_down_max: Option<HumanDuration>,
    /// The first cool-down of a credential that the provider refused. 1m if absent.
    pub credential_cool_down: Option<HumanDuration>,
    /// Asks the provider for its models from time to time; off if absent.
    pub probe: Option<ProbeConfig>,
}

/// A request that asks a provider whether it is well.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeConfig {
    /// How often.
    pub every: HumanDuration,
    /// How long the answer may take. 5s if absent.
    pub timeout: Option<HumanDuration>,
}

/// What happens when a channel fails before a caller has any of its answer.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FailoverConfig {
    /// Most channels to try for one request; 1 for no failover. 4 if absent.
    #[schemars(range(min = 1, max = 32))]
    pub attempts: Option<u32>,
    /// Whether a provider that is silent for too long is given up for another one, where the request
    /// is text that the provider neither stores nor works on in the background. true if absent.
    pub on_silence: Option<bool>,
    /// How long the first events of a stream are held while they only frame the answer, so that an
    /// error right behind them can still be answered by another channel. 1s if absent.
    pub hold: Option<StreamHoldConfig>,
    /// How long a request may wait for a channel that has reached its limits. Not at all if absent.
    pub wait: Option<HumanDuration>,
    /// Tells callers how many attempts their answer took, in `x-headgate-attempts`. false if absent.
    pub tell_attempts: Option<bool>,
}

/// Bounds of holding a stream's first events.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StreamHoldConfig {
    /// false to let every event through as it comes. true if absent.
    pub enabled: Option<bool>,
    /// 1s if absent.
    pub time: Option<HumanDuration>,
    /// 64KiB if absent.
    pub size: Option<ByteSize>,
}

/// How many further attempts all requests together may take.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RetryBudgetConfig {
    /// In percent of the requests.
    #[schemars(range(max = 100))]
    pub percent: u8,
    /// So many a second in any case.
    #[schemars(range(max = 100_000))]
    pub per_second: u32,
}

impl Default for RetryBudgetConfig {
    fn default() -> Self {
        Self {
            percent: 10,
            per_second: 10,
        }
    }
}
