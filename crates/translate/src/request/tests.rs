//! Tests of whole requests, for pairs of protocols.

mod attacks;
mod chat_to_messages;
mod clients;
mod dialects;
mod joins;
mod messages_to_chat;
mod responses_to_chat;
mod round_trips;
mod values;

use crate::dialect::CacheMarkForm;
use crate::{ChannelSettings, ModelFeatures, ProtocolPair, TranslatedRequest, translate_request};
use bytes::Bytes;
use headgate_protocol::conversation::ConversationFormat;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use serde_json::Value;
use std::sync::Arc;

pub(crate) const fn pair(caller: ConversationFormat, channel: ConversationFormat) -> ProtocolPair {
    ProtocolPair {
        caller,
        channel: channel.provider_format(),
    }
}

pub(crate) fn channel(features: ModelFeatures) -> ChannelSettings {
    ChannelSettings {
        model: Bytes::from_static(b"\"provider's model\""),
        max_output_tokens: 4096,
        has_call_ids: true,
        features: Arc::new(features),
        sealer: None,
    }
}

/// A model that takes marks at the end of prefixes that are cached.
pub(crate) fn with_cache_marks() -> ModelFeatures {
    let mut features = ModelFeatures::default();
    features.chat.cache_marks = CacheMarkForm::Breakpoint;
    features.responses.cache_marks = CacheMarkForm::Breakpoint;
    features
}

pub(crate) fn translated_text(
    pair: ProtocolPair,
    body: String,
    features: ModelFeatures,
) -> TranslatedRequest {
    let document = JsonDocument::parse(body.into(), &JsonLimits::default()).unwrap();
    translate_request(pair, &document, &channel(features))
}

/// What is sent for a body, and the ledger, a line for each entry.
pub(crate) fn translated(
    pair: ProtocolPair,
    body: &Value,
    features: ModelFeatures,
) -> (Value, Vec<String>) {
    let translated = translated_text(pair, body.to_string(), features);
    let entries = translated.ledger.entries().iter();
    let entries =
        entries.map(|entry| format!("{:?} {} {}", entry.outcome, entry.path, entry.reason));
    let sent = serde_json::from_slice(&translated.body);
    (sent.unwrap(), entries.collect())
}
