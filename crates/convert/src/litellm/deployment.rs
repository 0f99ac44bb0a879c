//! A model at a provider, as LiteLLM has it.

use crate::channel_draft::ChannelDraftSettings;

/// An entry of `model_list` that a channel can serve.
#[derive(Clone)]
pub struct Deployment {
    /// Path of the entry, such as `model_list[0]`.
    pub path: String,
    /// The model that callers name; several entries may have the same.
    pub group: String,
    pub provider: &'static str,
    pub channel_model: String,
    pub settings: ChannelDraftSettings,
    pub prices: Vec<(&'static str, String)>,
    /// `order`: lower ones are used first.
    pub order: Option<u64>,
}

/// Why an entry is no channel, and what to do instead.
pub struct DeploymentRejection {
    pub why: String,
    pub instead: &'static str,
}
