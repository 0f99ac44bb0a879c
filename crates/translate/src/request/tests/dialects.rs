//! Tests of requests in the dialects of providers.

mod calls;
mod reasoning;
mod settings;

use super::{pair, translated};
use crate::dialect::tests::shipped_dialect;
use headgate_protocol::conversation::ConversationFormat::{self, Chat, Messages, Responses};
use serde_json::{Value, json};

/// What is sent to a model of a provider for a body with more members, and the ledger.
fn sent(
    caller: ConversationFormat,
    channel: ConversationFormat,
    (dialect, model): (&str, &str),
    more: &Value,
) -> (Value, Vec<String>) {
    let mut body = match caller {
        Responses => json!({"model": "m", "input": [{"role": "user", "content": "a"}]}),
        Messages => {
            json!({"model": "m", "max_tokens": 9000, "messages": [{"role": "user", "content": "a"}]})
        }
        Chat => json!({"model": "m", "messages": [{"role": "user", "content": "a"}]}),
    };
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    let features = shipped_dialect(dialect).for_model(model).as_ref().clone();
    translated(pair(caller, channel), &body, features)
}

/// What is sent to a provider of chat for a messages request.
fn sent_to(provider: (&str, &str), more: &Value) -> (Value, Vec<String>) {
    sent(Messages, Chat, provider, more)
}
