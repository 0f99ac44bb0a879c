//! Tests of requests to Amazon Bedrock, and of its responses and streams.

mod models;
mod requests;
mod responses;
mod streams;

use crate::{
    ChannelSettings, ModelFeatures, ProtocolPair, ResponseContext, ThinkingSealer,
    translate_request,
};
use bytes::Bytes;
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use serde_json::Value;
use std::sync::Arc;

const CLAUDE: &str = "anthropic.claude-sonnet-4-20250514-v1:0";

/// Seals by turning bytes around.
#[derive(Debug)]
struct TurningSealer;

impl ThinkingSealer for TurningSealer {
    fn seal(&self, content: &[u8]) -> Vec<u8> {
        content.iter().rev().copied().collect()
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        Some(self.seal(sealed))
    }
}

fn pair(caller: ConversationFormat) -> ProtocolPair {
    ProtocolPair {
        caller,
        channel: ProviderFormat::Converse,
    }
}

/// What a model gets for a body, and the ledger, a line for each entry.
fn translated_for(model: &str, caller: ConversationFormat, body: &Value) -> (Value, Vec<String>) {
    translated_with(&Arc::default(), model, caller, body)
}

/// The same for a model with these features.
fn translated_with(
    features: &Arc<ModelFeatures>,
    model: &str,
    caller: ConversationFormat,
    body: &Value,
) -> (Value, Vec<String>) {
    let channel = ChannelSettings {
        model: Bytes::from(format!("\"{model}\"")),
        max_output_tokens: 4096,
        has_call_ids: true,
        features: features.clone(),
        sealer: Some(Arc::new(TurningSealer)),
    };
    let body = JsonDocument::parse(body.to_string().into(), &JsonLimits::default()).unwrap();
    let translated = translate_request(pair(caller), &body, &channel);
    let entries = translated.ledger.entries().iter();
    let entries =
        entries.map(|entry| format!("{:?} {} {}", entry.outcome, entry.path, entry.reason));
    let sent = serde_json::from_slice(&translated.body).unwrap();
    (sent, entries.collect())
}

fn translated(caller: ConversationFormat, body: &Value) -> (Value, Vec<String>) {
    translated_for(CLAUDE, caller, body)
}

fn context() -> ResponseContext {
    ResponseContext {
        id: "id1".into(),
        created: 1,
        model: Bytes::from_static(b"\"m\""),
        includes_usage: true,
        sealer: Some(Arc::new(TurningSealer)),
        ..ResponseContext::default()
    }
}
