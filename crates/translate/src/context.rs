//! What a translation knows besides the bytes that it translates.

use crate::dialect::ModelFeatures;
use crate::escaped_text::EscapedText;
use crate::thinking::ThinkingSealer;
use bytes::Bytes;
use std::sync::Arc;

/// What a channel expects of a request in its protocol.
#[derive(Clone, Debug)]
pub struct ChannelSettings {
    /// The channel's name of the model, as a JSON string with quotes.
    pub model: Bytes,
    /// Output tokens of a request that sets no limit, for protocols that demand one.
    pub max_output_tokens: u64,
    /// What the model takes, by the dialect of the channel.
    pub features: Arc<ModelFeatures>,
    /// Whether calls of the gemini protocol have ids, as those of Gemini's API have. Vertex AI refuses them.
    pub has_call_ids: bool,
    /// Opens the seals of thoughts; `None` if the gateway has no keys for that.
    pub sealer: Option<Arc<dyn ThinkingSealer>>,
}

/// What a response in the caller's protocol says besides what the provider's response has.
#[derive(Clone, Debug, Default)]
pub struct ResponseContext {
    /// The end of ids that are made for the response: lower-case letters and digits, unique for each response.
    pub id: Box<str>,
    /// Unix seconds.
    pub created: u64,
    /// The caller's name of the model, as a JSON string with quotes.
    pub model: Bytes,
    /// Whether the provider, which speaks chat, counts thoughts only in the total.
    pub total_has_thoughts: bool,
    /// Whether the caller wants usage in a stream, where that is optional.
    pub includes_usage: bool,
    /// Members of the request that the response repeats, with their JSON text.
    pub repeated: Vec<(&'static str, Box<str>)>,
    /// Seals the provider's thoughts for the caller; `None` if the gateway has no keys for that.
    pub sealer: Option<Arc<dyn ThinkingSealer>>,
    /// Names of the request's tools that take free text and are functions for the provider.
    pub custom_tools: Vec<Box<str>>,
    /// Tools that have another name for the provider than for the caller.
    pub renamed_tools: Vec<RenamedTool>,
}

/// A tool whose name the channel's protocol does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenamedTool {
    /// The caller's name.
    pub name: Box<str>,
    /// The provider's name.
    pub sent: Box<str>,
}

impl ResponseContext {
    /// Whether the caller declared a tool of this name as one of free text.
    pub fn is_custom_tool(&self, name: &EscapedText<'_>) -> bool {
        let mut custom_tools = self.custom_tools.iter();
        custom_tools.any(|custom| **custom == *name.decoded())
    }
}
