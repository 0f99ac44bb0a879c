//! Egress as written: where the gateway may go when somebody else names the URL.

use schemars::JsonSchema;
use serde::Deserialize;

/// Destinations that are allowed for URLs in responses or requests, in addition to https at public addresses.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EgressConfig {
    /// Hosts as `host` or `host:port`, and networks as `10.0.0.0/8`.
    pub allow: Vec<String>,
}
