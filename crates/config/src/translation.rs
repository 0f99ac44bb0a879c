//! Settings of the translation between protocols.

use headgate_translate::OnLoss;
use schemars::JsonSchema;
use serde::Deserialize;

/// What becomes of a request with a member that changes its meaning and that the channel's protocol cannot say.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum OnLossConfig {
    /// The caller gets 400, which names the member.
    #[default]
    Refuse,
    /// The member is left out, and named in the header `x-headgate-translation` and in the log.
    Drop,
}

impl From<OnLossConfig> for OnLoss {
    fn from(config: OnLossConfig) -> Self {
        match config {
            OnLossConfig::Refuse => Self::Refuse,
            OnLossConfig::Drop => Self::Drop,
        }
    }
}
