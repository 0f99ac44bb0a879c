//! Tests of the writer: what each part of a request becomes, and requests that are read and written again.

mod settings;

use super::*;
use crate::dialect::{CacheMarkForm, ModelFeatures};
use crate::escaped_text::EscapedText;
use crate::responses::read_request;
use crate::responses::tests::parse;
use crate::superset::{
    Arguments, CacheMark, ContentRole, MediaSource, ReasoningSettings, SamplingSettings,
    ThinkingOrigin, Turn,
};
use crate::tool_names::sent_name;
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_protocol::json::{DocumentNode, JsonDocument};
use serde_json::{Value, json};
use std::sync::Arc;

fn channel(has_cache_marks: bool) -> ChannelSettings {
    let mut features = ModelFeatures::default();
    if has_cache_marks {
        features.responses.cache_marks = CacheMarkForm::Breakpoint;
    }
    ChannelSettings {
        model: bytes::Bytes::from_static(b"\"their-model\""),
        max_output_tokens: 4096,
        features: Arc::new(features),
        has_call_ids: true,
        sealer: None,
    }
}

/// A request without anything, of a protocol and a body.
fn request(protocol: ConversationFormat, body: DocumentNode<'_>) -> Request<'_> {
    Request {
        protocol,
        body,
        instructions: Vec::new(),
        turns: Vec::new(),
        tools: Vec::new(),
        tool_choice: None,
        parallel_tool_calls: None,
        sampling: SamplingSettings::default(),
        reasoning: ReasoningSettings::default(),
        output_format: None,
        stream: None,
        user: None,
    }
}

/// What is written besides the members that each request has.
fn write(request: &Request<'_>) -> (Value, Vec<String>) {
    write_for(request, &channel(true))
}

fn write_for(request: &Request<'_>, channel: &ChannelSettings) -> (Value, Vec<String>) {
    let mut ledger = Ledger::default();
    let body = write_request(request, channel, &mut ledger);
    let mut body: Value = serde_json::from_slice(&body).unwrap();
    let members = body.as_object_mut().unwrap();
    assert_eq!(members.remove("model"), Some("their-model".into()));
    assert_eq!(members.remove("store"), Some(false.into()));
    let include = json!(["reasoning.encrypted_content"]);
    assert_eq!(members.remove("include"), Some(include));
    let entries = ledger.entries().iter();
    let entries =
        entries.map(|entry| format!("{:?} {} {}", entry.outcome, entry.path, entry.reason));
    (body, entries.collect())
}

fn text(text: &'static str) -> EscapedText<'static> {
    EscapedText::plain(text)
}

fn part<'a>(at: DocumentNode<'a>, kind: PartKind<'a>) -> Part<'a> {
    Part {
        at,
        kind,
        cache: None,
    }
}

fn empty() -> JsonDocument {
    parse(&json!({"x": {}}))
}

#[test]
fn instructions_are_a_member_or_a_message() {
    let document = empty();
    let at = document.root();
    let mut request = request(ConversationFormat::Messages, at);
    request.instructions = vec![part(at, PartKind::Text(text("One")))];
    let alone = json!([{"type": "message", "role": "system",
        "content": [{"type": "input_text", "text": "One"}]}]);
    assert_eq!(write(&request).0, json!({"input": alone}));
    request.turns = vec![Turn {
        role: ContentRole::User,
        parts: vec![part(at, PartKind::Text(text("Hi")))],
        at,
    }];
    let (body, _) = write(&request);
    assert_eq!(body["instructions"], "One");
    assert_eq!(body["input"].as_array().map(Vec::len), Some(1));
    request.turns.clear();
    let mut marked = part(at, PartKind::Text(text("Two")));
    marked.cache = Some(CacheMark {
        at,
        ttl: Some(text("30m")),
    });
    request.instructions.push(marked);
    let expected = json!([{"type": "message", "role": "system", "content": [
        {"type": "input_text", "text": "One"},
        {"type": "input_text", "text": "Two", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"}}]}]);
    assert_eq!(write(&request).0["input"], expected);
}

#[test]
fn turns_are_items() {
    let document = empty();
    let at = document.root();
    let call = |id, name, arguments| {
        let (id, name) = (text(id), text(name));
        part(
            at,
            PartKind::ToolCall {
                id,
                name,
                arguments,
            },
        )
    };
    let result = |id, parts, is_error| {
        let id = text(id);
        part(
            at,
            PartKind::ToolResult {
                id,
                parts,
                is_error,
            },
        )
    };
    let plain = |content| part(at, PartKind::Text(text(content)));
    let image = |url| {
        let image = MediaSource::from_uri(text(url));
        part(
            at,
            PartKind::Image {
                image,
                detail: None,
            },
        )
    };
    let document = |document, name| part(at, PartKind::Document { document, name });
    let turn = |role, parts| Turn { role, parts, at };
    let mut request = request(ConversationFormat::Chat, at);
    request.turns = vec![
        turn(
            ContentRole::User,
            vec![
                plain("Look"),
                plain(""),
                image("data:image/png;base64,aGk="),
                document(
                    MediaSource::from_uri(text("data:application/pdf;base64,aGk=")),
                    None,
                ),
                document(
                    MediaSource::from_uri(text("https://a.example/b")),
                    Some(text("b.pdf")),
                ),
                document(MediaSource::Text(text("Text")), Some(text("Title"))),
            ],
        ),
        turn(
            ContentRole::Assistant,
            vec![
                plain("I see"),
                part(at, PartKind::Refusal(text("No"))),
                call("c1", "f", Arguments::Object(r#"{"a": 1.0}"#)),
                call("c2", "g.h", Arguments::Text(text("{}"))),
                plain("More"),
                call("c3", "free", Arguments::FreeText(text("a\n\"b\""))),
            ],
        ),
        turn(
            ContentRole::User,
            vec![
                result("c1", vec![plain("one")], false),
                result("c2", vec![plain("two")], true),
                result(
                    "c3",
                    vec![plain("three"), image("https://a.example/c.png")],
                    true,
                ),
                result("c4", vec![], false),
                plain("Go on"),
            ],
        ),
        turn(ContentRole::System, vec![plain("Stop")]),
    ];
    let (body, ledger) = write(&request);
    let error = "The tool reported an error:\n";
    let renamed = sent_name(&text("g.h"), ProviderFormat::Responses);
    let renamed = renamed.decoded();
    let expected = json!([
        {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "Look"},
            {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
            {"type": "input_file", "filename": "document.pdf", "file_data": "data:application/pdf;base64,aGk="},
            {"type": "input_file", "filename": "b.pdf", "file_url": "https://a.example/b"},
            {"type": "input_text", "text": "Title\n\nText"}]},
        {"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "I see"}, {"type": "refusal", "refusal": "No"}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\": 1.0}"},
        {"type": "function_call", "call_id": "c2", "name": renamed, "arguments": "{}"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "More"}]},
        {"type": "custom_tool_call", "call_id": "c3", "name": "free", "input": "a\n\"b\""},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {"type": "function_call_output", "call_id": "c2", "output": format!("{error}two")},
        {"type": "custom_tool_call_output", "call_id": "c3", "output": [
            {"type": "input_text", "text": error}, {"type": "input_text", "text": "three"},
            {"type": "input_image", "image_url": "https://a.example/c.png"}]},
        {"type": "function_call_output", "call_id": "c4", "output": ""},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on"}]},
        {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Stop"}]},
    ]);
    assert_eq!(body, json!({"input": expected}));
    assert!(ledger.is_empty(), "{ledger:?}");
}

#[test]
fn what_has_no_counterpart_is_in_the_ledger() {
    let document = empty();
    let at = document.root().get("x").unwrap();
    let thinking = part(
        at,
        PartKind::SealedThinking {
            data: text("sealed"),
            origin: ThinkingOrigin::Caller,
        },
    );
    let image = PartKind::Image {
        image: MediaSource::Url(text("https://a.example")),
        detail: None,
    };
    let audio = PartKind::Audio {
        data: text("aGk="),
        format: text("wav"),
    };
    let marked = |ttl: Option<&'static str>| Part {
        at,
        kind: PartKind::Text(text("a")),
        cache: Some(CacheMark {
            at,
            ttl: ttl.map(text),
        }),
    };
    let (user, assistant) = (ContentRole::User, ContentRole::Assistant);
    let cases = [
        (
            user,
            part(at, audio),
            true,
            "Refused x is audio, which has no counterpart in the responses protocol",
        ),
        (
            assistant,
            part(at, image),
            true,
            "Refused x is an image of the assistant, which the responses protocol does not have",
        ),
        (
            assistant,
            thinking,
            true,
            "Dropped x has thoughts of another provider, which this one cannot check\nAlwaysRefused  has no message, which the responses protocol demands",
        ),
        (
            user,
            marked(None),
            false,
            "Dropped x is left out, since the channel's model is not known to take it",
        ),
        (
            user,
            marked(Some("5m")),
            true,
            "Approximated x becomes the default lifetime of the channel's protocol",
        ),
        (user, marked(Some("12h")), true, ""),
        (user, marked(None), true, ""),
        (
            assistant,
            marked(None),
            true,
            "Dropped x is in a message of the assistant, where the responses protocol has none",
        ),
    ];
    for (role, part, cache_breakpoints, expected) in cases {
        let mut request = request(ConversationFormat::Chat, document.root());
        let parts = vec![part];
        request.turns = vec![Turn { role, parts, at }];
        let (_, ledger) = write_for(&request, &channel(cache_breakpoints));
        assert_eq!(ledger.join("\n"), expected);
    }
}

#[test]
fn the_start_of_an_answer_is_refused_where_it_would_be_continued() {
    let document = empty();
    let at = document.root().get("x").unwrap();
    for (protocol, is_refused) in [
        (ConversationFormat::Messages, true),
        (ConversationFormat::Chat, false),
    ] {
        let mut request = request(protocol, document.root());
        request.turns = vec![Turn {
            role: ContentRole::Assistant,
            parts: vec![part(at, PartKind::Text(text("It is")))],
            at,
        }];
        let (_, ledger) = write(&request);
        assert_eq!(ledger.len(), usize::from(is_refused), "{ledger:?}");
    }
}

#[test]
fn a_request_that_is_read_and_written_again_is_the_same() {
    let body = json!({"instructions": "Be brief.", "input": [
        {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "Look", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}},
            {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "original"},
            {"type": "input_image", "image_url": "https://a.example/b.png"},
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="},
            {"type": "input_file", "file_url": "https://a.example/b.pdf"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}], "encrypted_content": "sealed"},
        {"type": "reasoning", "summary": [], "encrypted_content": "sealed too"},
        {"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "I see"}, {"type": "refusal", "refusal": "No"}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\": 1.0e3"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "free", "input": "text"},
        {"type": "function_call_output", "call_id": "c1", "output": "done"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [
            {"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "https://a.example/c.png"}]},
        {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Stop"}]}],
        "tools": [
            {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}, "strict": true},
            {"type": "custom", "name": "free", "format": {"type": "grammar", "syntax": "lark", "definition": "d"}}],
        "tool_choice": {"type": "custom", "name": "free"}, "parallel_tool_calls": true,
        "max_output_tokens": 16, "temperature": 0.5, "top_p": 1.0, "stream": true,
        "reasoning": {"effort": "low", "summary": "detailed"},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {"a": 1}, "strict": false}, "verbosity": "low"},
        "metadata": {"a": "b"}, "service_tier": "priority", "user": "u", "safety_identifier": "s"});
    let document = parse(&body);
    let mut ledger = Ledger::default();
    let request = read_request(&document, &mut ledger);
    assert!(ledger.is_empty(), "{:?}", ledger.entries());
    let (written, entries) = write(&request);
    assert!(entries.is_empty(), "{entries:?}");
    assert_eq!(written, body);
}

#[test]
fn a_large_conversation_takes_linear_time() {
    let call = r#"{"type":"custom_tool_call","call_id":"cN","name":"f","input":"x"},{"type":"custom_tool_call_output","call_id":"cN","output":"x"},"#;
    let calls: String = (0..10_000)
        .map(|call_number| call.replace('N', &call_number.to_string()))
        .collect();
    let huge = "x".repeat(10 << 20);
    let body = format!(
        r#"{{"input":[{calls}{{"type":"function_call","call_id":"c","name":"f","arguments":"{huge}"}}]}}"#
    );
    let document =
        JsonDocument::parse(body.into(), &headgate_protocol::json::JsonLimits::default()).unwrap();
    let mut ledger = Ledger::default();
    let request = read_request(&document, &mut ledger);
    let written = write_request(&request, &channel(false), &mut ledger);
    assert!(written.len() > 10 << 20);
    assert!(ledger.is_empty());
}
