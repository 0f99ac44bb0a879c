//! `cloud` of a channel, in `routes.yaml`.

use headgate_protocol::ProviderCloud;
use schemars::JsonSchema;
use serde::Deserialize;

/// A cloud whose API has paths and members of its own for the requests of a protocol.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ProviderCloudConfig {
    /// Claude on Vertex AI: `base_url` ends with `/publishers/anthropic`.
    VertexAi,
}

impl From<ProviderCloudConfig> for ProviderCloud {
    fn from(config: ProviderCloudConfig) -> Self {
        match config {
            ProviderCloudConfig::VertexAi => Self::VertexAi,
        }
    }
}
