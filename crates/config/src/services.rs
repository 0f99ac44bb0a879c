//! `services` of `routes.yaml`: HTTP services that filters call.

use super::channels::UpstreamTlsConfig;
use headgate_core::scalar::{HumanDuration, Secret};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// An HTTP service that filters call for requests and responses.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalloutServiceConfig {
    /// URL that calls are sent to.
    pub url: String,
    /// Headers of each call, such as a key of the service; values are secrets. Default: none.
    #[serde(default)]
    pub headers: BTreeMap<String, Secret>,
    /// Timeout of a call, from its start to the end of the response. Every request of the route waits for it:
    /// raise it only for a service that needs longer. Default: 300ms.
    #[serde(default = "default_timeout")]
    pub timeout: HumanDuration,
    /// Maximum concurrent calls, 1 to 100000; further ones wait until `timeout`. Set it to what the service can take.
    /// Default: 64.
    #[serde(default = "default_concurrent")]
    #[schemars(range(min = 1, max = 100_000))]
    pub concurrent: u32,
    /// Circuit breaker: when the service is no longer called, and for how long.
    #[serde(default)]
    pub breaker: BreakerConfig,
    /// TLS towards the service, if `url` is https. Default: verified with the CA certificates of the system.
    #[serde(default)]
    pub tls: UpstreamTlsConfig,
}

/// When a service is no longer called, and for how long.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BreakerConfig {
    /// Consecutive failures that open the circuit breaker, up to 1000; 0 disables it. Default: 5.
    #[schemars(range(max = 1000))]
    pub consecutive_failures: u32,
    /// How long calls then fail at once; afterwards one call at a time tries. Default: 10s.
    pub cool_down: HumanDuration,
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self {
            consecutive_failures: 5,
            cool_down: HumanDuration::seconds(10),
        }
    }
}

fn default_timeout() -> HumanDuration {
    HumanDuration::milliseconds(300)
}

fn default_concurrent() -> u32 {
    64
}
