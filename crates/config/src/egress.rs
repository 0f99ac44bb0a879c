//! `egress` of `routes.yaml`: destinations of URLs that providers or callers send.

use headgate_core::scalar::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

/// Destinations that are allowed for URLs in responses or requests, in addition to https at public addresses.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EgressAllowlistConfig {
    /// Additional destinations, also with http: `host`, `host:port`, or a network such as `10.0.0.0/8`.
    /// An empty text is none. Default: none.
    pub allow: Vec<String>,
    /// Proxy for URLs of callers and providers, callbacks and media, such as `http://user:password@proxy.example:3128` or
    /// `socks5://proxy.example:1080`. Names are resolved and checked here, and the proxy connects to the checked address.
    /// Default: direct connections.
    pub proxy: Option<Secret>,
}
