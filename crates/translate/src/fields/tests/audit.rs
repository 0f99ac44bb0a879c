//! What the walk over a document notes.

use crate::fields::{TableSubject, audit_event, audit_request, audit_response, table};
use crate::{Ledger, OnLoss, ProtocolPair};
use bytes::Bytes;
use headgate_protocol::conversation::ConversationFormat::{self, Chat, Messages, Responses};
use headgate_protocol::conversation::ProviderFormat;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use serde_json::{Value, json};

fn document(body: &Value) -> JsonDocument {
    let body = Bytes::from(body.to_string());
    JsonDocument::parse(body, &JsonLimits::default()).unwrap()
}

fn audited(caller: ConversationFormat, channel: ConversationFormat, body: &Value) -> Ledger {
    let mut ledger = Ledger::default();
    let channel = channel.provider_format();
    let pair = ProtocolPair { caller, channel };
    audit_request(pair, document(body).root(), &mut ledger);
    ledger
}

#[test]
fn all_tables_can_be_read() {
    let requests = ConversationFormat::ALL.map(TableSubject::Request);
    let responses = ProviderFormat::ALL.map(TableSubject::Response);
    let events = ProviderFormat::ALL.map(TableSubject::Event);
    for subject in requests.into_iter().chain(responses).chain(events) {
        let table = table(subject);
        assert_eq!(table.subject, subject);
        assert!(table.rows.len() > 10, "{subject:?}");
        let mut others: Vec<ProviderFormat> = match subject {
            TableSubject::Request(_) => ProviderFormat::ALL.to_vec(),
            TableSubject::Response(_) | TableSubject::Event(_) => ConversationFormat::ALL
                .map(ConversationFormat::provider_format)
                .to_vec(),
        };
        others.retain(|other| *other != subject.format());
        assert_eq!(*table.columns, others, "{subject:?}");
    }
}

/// The entries of a ledger, without the way out.
fn lines(ledger: &Ledger) -> Vec<String> {
    let entries = ledger.entries().iter();
    let lines = entries.map(|entry| {
        let reason = entry.reason.split(';').next().unwrap();
        format!("{:?} {} {}", entry.outcome, entry.path, reason)
    });
    lines.collect()
}

#[test]
fn a_request_of_fields_that_all_protocols_have_leaves_no_entry() {
    let body = json!({
        "model": "m", "max_tokens": 5, "temperature": 1, "stream": true,
        "messages": [
            {"role": "system", "content": "a"},
            {"role": "user", "content": [
                {"type": "text", "text": "b"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
            ]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "1", "content": "c"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"any": {"thing": 1}}}}],
    });
    assert_eq!(lines(&audited(Chat, Messages, &body)), [""; 0]);
    assert_eq!(lines(&audited(Chat, Responses, &body)), [""; 0]);
}

#[test]
fn each_loss_is_noted_with_its_path_and_reason() {
    let body = json!({
        "model": "m", "seed": 5, "n": 2, "logit_bias": {"1": 2}, "response_format": {"type": "json_object"},
        "messages": [
            {"role": "user", "name": "u", "content": [
                {"type": "file", "file": {"file_id": "file-1", "filename": "f"}},
                {"type": "video_url", "video_url": {"url": "u"}},
            ]},
        ],
    });
    let ledger = audited(Chat, Messages, &body);
    assert_eq!(
        lines(&ledger),
        [
            "Refused logit_bias has no counterpart in the messages protocol",
            "AlwaysRefused messages[0].content[0].file.file_id names a file that only its provider stores",
            "Refused messages[0].content[1] has the type `video_url`, which has no counterpart in the messages protocol",
            "Dropped messages[0].name has no counterpart in the messages protocol",
            "Refused n asks for several answers, and the messages protocol has one",
            "Approximated response_format has the type `json_object`, which is sent as an instruction",
            "Dropped seed has no counterpart in the messages protocol",
        ]
    );
    let refusal = ledger.refusal(OnLoss::Refuse).unwrap();
    assert_eq!(
        refusal.reason,
        "has no counterpart in the messages protocol; remove it, or let the route drop it with `on_loss: drop`"
    );
    let refusal = ledger.refusal(OnLoss::Drop).unwrap();
    assert_eq!(
        refusal.reason,
        "names a file that only its provider stores; send its data or a URL"
    );
}

#[test]
fn neutral_values_leave_no_entry() {
    let body = json!({
        "n": 1, "store": false, "logprobs": false, "tools": [], "seed": null, "frequency_penalty": 0,
        "logit_bias": {}, "modalities": ["text"], "stop": [], "unknown": null, "messages": [],
    });
    assert_eq!(lines(&audited(Chat, Messages, &body)), [""; 0]);
    assert_eq!(lines(&audited(Chat, Responses, &body)), [""; 0]);
    let body = json!({"n": 10, "logprobs": true, "frequency_penalty": 0.5});
    assert_eq!(audited(Chat, Messages, &body).entries().len(), 3);
}

#[test]
fn what_no_table_knows_is_refused() {
    let body = json!({
        "extra": 1,
        "messages": [
            {"role": "user", "content": [{"type": "hologram", "text": "a"}, {"text": "no type"}, {"type": 5}]},
            {"role": "wizard", "content": "a"},
            {"role": "user", "content": {"type": "text"}},
            {"role": "user", "content": "a", "a key\"": 1},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "extra": true}}],
        "response_format": {"type": "json_schema", "extra": 1},
    });
    let known = "that the gateway knows in the chat protocol";
    let expected = [
        format!("Refused extra is not a member {known}"),
        format!("Refused messages[0].content[0] has the type `hologram`, not one {known}"),
        format!("Refused messages[0].content[1] has no type {known}"),
        format!("Refused messages[1] has the role `wizard`, not one {known}"),
        format!("Refused messages[2].content is an object, not a value {known}"),
        format!("Refused messages[3].a key\\\" is not a member {known}"),
        format!("Refused response_format.extra is not a member {known}"),
        format!("Refused tools[0].function.extra is not a member {known}"),
    ];
    assert_eq!(lines(&audited(Chat, Messages, &body)), expected);
}

#[test]
fn an_item_without_type_is_a_message_or_a_reference() {
    let body = json!({"input": [
        {"role": "user", "content": "a"},
        {"type": null, "content": [{"type": "input_text", "text": "b"}]},
        {"id": "msg_1"},
        {"status": "completed"},
    ]});
    let known = "that the gateway knows in the responses protocol";
    assert_eq!(
        lines(&audited(Responses, Chat, &body)),
        [
            "AlwaysRefused input[2] names an item that only its provider stores".to_owned(),
            format!("Refused input[3] has no type {known}"),
        ]
    );
}

#[test]
fn fields_of_a_kind_have_one_entry() {
    let message = json!({"role": "user", "name": "u", "content": "a", "extra": 1});
    let body = json!({"messages": vec![message; 10_000]});
    let ledger = audited(Chat, Messages, &body);
    let paths = ledger
        .entries()
        .iter()
        .map(|entry| (entry.path.as_str(), entry.count));
    let paths: Vec<_> = paths.collect();
    assert_eq!(
        paths,
        [("messages[0].extra", 10_000), ("messages[0].name", 10_000)]
    );
}

#[test]
fn what_no_table_knows_of_a_response_is_counted_without_indexes() {
    let (caller, channel) = (Chat, ProviderFormat::Messages);
    let pair = ProtocolPair { caller, channel };
    let block = json!({"type": "text", "text": "a", "extra": 1});
    let body = json!({
        "id": "msg_1", "content": [block, block, {"type": "hologram"}], "a caller's text": 1, "other": null,
    });
    let mut ledger = Ledger::default();
    audit_response(pair, document(&body).root(), true, &mut ledger);
    assert_eq!(ledger.log_text(), "dropped=?,content[].extra*2,content[]");
    let hologram = ledger.entries().last().unwrap();
    let expected =
        "has the type `hologram`, not one that the gateway knows in the messages protocol";
    assert_eq!(hologram.reason, expected);
    assert_eq!(ledger.refusal(OnLoss::Refuse), None);
}

#[test]
fn events_of_a_stream_share_entries() {
    let (caller, channel) = (Messages, ProviderFormat::Chat);
    let pair = ProtocolPair { caller, channel };
    let chunk = json!({
        "id": "c", "obfuscation": "x", "system_fingerprint": "fp", "extra": 1, "choices": [{"index": 0, "delta": {"content": "a"}}],
    });
    let mut ledger = Ledger::default();
    for _ in 0..1000 {
        audit_event(pair, document(&chunk).root(), true, &mut ledger);
    }
    assert_eq!(
        ledger.log_text(),
        "dropped=extra*1000,system_fingerprint*1000"
    );
}
