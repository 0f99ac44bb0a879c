//! WebSockets of a route, in `routes.yaml`.

use headgate_core::scalar::{ByteSize, HumanDuration};
use schemars::JsonSchema;
use serde::Deserialize;

/// WebSockets at the paths of a route: of `responses`, each `response.create` is a request of the route; of `realtime`, each
/// WebSocket is a session with a channel.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RouteWebSocketConfig {
    /// Only of `responses`: memory for conversations that clients continue although the provider does not store them, for each WebSocket. Clients send
    /// an older conversation once more. Default: 4MiB.
    pub history: ByteSize,
    /// A client that is silent for this long is pinged, and given up after as long again; at least 1s. Lower it where a load
    /// balancer closes idle connections earlier. Default: 30s.
    pub ping_interval: HumanDuration,
    /// A WebSocket of this age is closed when its responses have ended; at least 1s. Default: 60m.
    pub max_age: HumanDuration,
    /// Whether web pages, which cannot set headers of a WebSocket, may send the key of a caller as a subprotocol,
    /// `openai-insecure-api-key.KEY`. It is visible to every script of the page: use keys of little worth. Default: false.
    pub key_in_subprotocol: bool,
}

impl Default for RouteWebSocketConfig {
    fn default() -> Self {
        Self {
            history: ByteSize::mebibytes(4),
            ping_interval: HumanDuration::seconds(30),
            max_age: HumanDuration::seconds(3600),
            key_in_subprotocol: false,
        }
    }
}
