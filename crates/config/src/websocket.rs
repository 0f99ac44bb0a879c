//! WebSockets of a route, in `routes.yaml`.

use headgate_core::scalar::{ByteSize, HumanDuration};
use schemars::JsonSchema;
use serde::Deserialize;

/// WebSockets at the paths of a route of the responses protocol: each `response.create` is a request of the route.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RouteWebSocketConfig {
    /// Memory for conversations that clients continue although the provider does not store them, for each WebSocket. Clients send
    /// an older conversation once more. Default: 4MiB.
    pub history: ByteSize,
    /// A client that is silent for this long is pinged, and given up after as long again; at least 1s. Lower it where a load
    /// balancer closes idle connections earlier. Default: 30s.
    pub ping_interval: HumanDuration,
    /// A WebSocket of this age is closed when its responses have ended; at least 1s. Default: 60m.
    pub max_age: HumanDuration,
}

impl Default for RouteWebSocketConfig {
    fn default() -> Self {
        Self {
            history: ByteSize::mebibytes(4),
            ping_interval: HumanDuration::seconds(30),
            max_age: HumanDuration::seconds(3600),
        }
    }
}
