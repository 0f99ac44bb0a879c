//! Tests of the reader: bodies, what they mean, and what is refused.

mod settings;
mod wrong_types;

use super::*;
use crate::responses::tests::parse;
use crate::superset::{Arguments, MediaSource};
use serde_json::{Value, json};

/// The turns of a body, and its ledger.
fn read(body: &Value) -> (Value, Vec<String>) {
    let document = parse(body);
    let mut ledger = Ledger::default();
    let request = read_request(&document, &mut ledger);
    let mut turns = vec![json!({"instructions": parts(&request.instructions)})];
    turns.extend(
        request
            .turns
            .iter()
            .map(|turn| json!({ format!("{:?}", turn.role).to_lowercase(): parts(&turn.parts) })),
    );
    (turns.into(), entries(&ledger))
}

fn entries(ledger: &Ledger) -> Vec<String> {
    let entries = ledger.entries().iter();
    let entries =
        entries.map(|entry| format!("{:?} {} {}", entry.outcome, entry.path, entry.reason));
    entries.collect()
}

fn parts(parts: &[Part<'_>]) -> Value {
    let parts = parts.iter().map(|part| {
        let mut shown = kind(&part.kind);
        if let Some(cache) = &part.cache {
            let ttl = cache.ttl.as_ref().map(|ttl| ttl.decoded().into_owned());
            shown.as_array_mut().unwrap().push(json!({"cache": ttl}));
        }
        shown
    });
    parts.collect()
}

fn kind(part: &PartKind<'_>) -> Value {
    let optional = |text: &Option<crate::EscapedText<'_>>| {
        text.as_ref().map(|text| text.decoded().into_owned())
    };
    match part {
        PartKind::Text(text) => json!(["text", text.decoded()]),
        PartKind::Refusal(text) => json!(["refusal", text.decoded()]),
        PartKind::Image { image, detail } => json!(["image", media(image), optional(detail)]),
        PartKind::Document { document, name } => {
            json!(["document", media(document), optional(name)])
        }
        PartKind::Audio { data, format } => json!(["audio", data.decoded(), format.decoded()]),
        PartKind::Thinking {
            text, signature, ..
        } => json!(["thinking", text.decoded(), optional(signature)]),
        PartKind::SealedThinking { data, .. } => json!(["sealed", data.decoded()]),
        PartKind::ToolCall {
            id,
            name,
            arguments,
        } => {
            let arguments = match arguments {
                Arguments::Object(json) => json!(["object", json]),
                Arguments::Text(json) => json!(["text", json.decoded()]),
                Arguments::FreeText(text) => json!(["free", text.decoded()]),
            };
            json!(["call", id.decoded(), name.decoded(), arguments])
        }
        PartKind::ToolResult { id, parts: of, .. } => json!(["result", id.decoded(), parts(of)]),
    }
}

fn media(source: &MediaSource<'_>) -> Value {
    match source {
        MediaSource::Url(url) => json!(["url", url.decoded()]),
        MediaSource::Inline(media) => {
            json!(["inline", media.media_type.decoded(), media.base64.decoded()])
        }
        MediaSource::Text(text) => json!(["text", text.decoded()]),
    }
}

#[test]
fn a_string_is_a_message_of_the_user() {
    let (turns, ledger) = read(&json!({"model": "m", "instructions": "Be brief.", "input": "Hi"}));
    let expected = json!([{"instructions": [["text", "Be brief."]]}, {"user": [["text", "Hi"]]}]);
    assert_eq!(turns, expected);
    assert!(ledger.is_empty());
}

#[test]
fn consecutive_items_of_one_author_are_one_turn() {
    let (turns, ledger) = read(&json!({"instructions": null, "input": [
        {"role": "developer", "content": "Be brief."},
        {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Be kind."}]},
        {"role": "user", "content": [
            {"type": "input_text", "text": "Look:", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"}},
            {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "low"},
            {"type": "input_image", "image_url": "https://a.example/b.png", "detail": null},
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="},
            {"type": "input_file", "file_url": "https://a.example/b.pdf"},
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
        ]},
        {"type": null, "role": "user", "content": "Well?"},
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "sealed",
            "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]},
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "sealed too"},
        {"type": "reasoning", "id": "rs_3", "summary": [], "content": [{"type": "reasoning_text", "text": "Three."}]},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "I see", "annotations": []}, {"type": "refusal", "refusal": "No"}]},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{\"a\": 1}"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "free\ntext"},
        {"type": "function_call_output", "call_id": "c1", "output": "done"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [
            {"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": "https://a.example/c.png"}]},
        {"role": "user", "content": "Go on"},
        {"role": "developer", "content": "Stop."},
    ]}));
    let expected = json!([
        {"instructions": [["text", "Be brief."], ["text", "Be kind."]]},
        {"user": [
            ["text", "Look:", {"cache": "30m"}],
            ["image", ["inline", "image/png", "aGk="], "low"],
            ["image", ["url", "https://a.example/b.png"], null],
            ["document", ["inline", "application/pdf", "aGk="], "a.pdf"],
            ["document", ["url", "https://a.example/b.pdf"], null],
            ["audio", "aGk=", "wav"],
            ["text", "Well?"],
        ]},
        {"assistant": [
            ["thinking", "One.\n\nTwo.", "sealed"],
            ["sealed", "sealed too"],
            ["thinking", "Three.", null],
            ["text", "I see"],
            ["refusal", "No"],
            ["call", "c1", "f", ["text", "{\"a\": 1}"]],
            ["call", "c2", "g", ["free", "free\ntext"]],
        ]},
        {"user": [
            ["result", "c1", [["text", "done"]]],
            ["result", "c2", [["text", "see"], ["image", ["url", "https://a.example/c.png"], null]]],
            ["text", "Go on"],
        ]},
        {"system": [["text", "Stop."]]},
    ]);
    assert_eq!(turns, expected);
    assert!(ledger.is_empty(), "{ledger:?}");
}

#[test]
fn what_cannot_be_read_is_named_with_its_path() {
    let input = |item: Value| json!({"input": [item]});
    let content = |part: Value| json!({"input": [{"role": "user", "content": [part]}]});
    let stored = "names a file that only its provider stores; send its data or a URL";
    let cases = [
        (json!([]), "AlwaysRefused  must be an object, not an array; AlwaysRefused input is missing".to_owned()),
        (json!({}), "AlwaysRefused input is missing".into()),
        (json!({"input": 5}), "AlwaysRefused input must be a string or an array, not a number".into()),
        (
            json!({"input": "a", "previous_response_id": "resp_1"}),
            "AlwaysRefused previous_response_id names what only its provider stores; send the whole conversation as `input`".into(),
        ),
        (
            json!({"input": "a", "conversation": {"id": "conv_1"}}),
            "AlwaysRefused conversation names what only its provider stores; send the whole conversation as `input`".into(),
        ),
        (
            json!({"input": "a", "prompt": {"id": "p"}}),
            "AlwaysRefused prompt names what only its provider stores; send the whole conversation as `input`".into(),
        ),
        (
            json!({"input": "a", "background": true}),
            "AlwaysRefused background needs a provider that stores the response; leave it out".into(),
        ),
        (json!({"input": "a", "store": true}), "Dropped store is not possible: the response is not stored".into()),
        (json!({"input": "a", "stream": "yes"}), "AlwaysRefused stream must be a boolean, not a string".into()),
        (
            json!({"input": "a", "include": ["reasoning.encrypted_content", "message.output_text.logprobs"]}),
            "Refused include[1] asks for `message.output_text.logprobs`, which no other protocol has".into(),
        ),
        (
            json!({"input": "a", "include": "reasoning.encrypted_content"}),
            "AlwaysRefused include must be an array, not a string".into(),
        ),
        (input(json!(7)), "AlwaysRefused input[0] must be an object, not a number".into()),
        (
            input(json!({"id": "msg_1"})),
            "AlwaysRefused input[0] refers to an item that only its provider stores; send the item itself".into(),
        ),
        (
            input(json!({"type": "item_reference", "id": "msg_1"})),
            "AlwaysRefused input[0] refers to an item that only its provider stores; send the item itself".into(),
        ),
        (
            input(json!({"type": "local_shell_call", "action": {}})),
            "Refused input[0] is of type `local_shell_call`, which no other protocol has".into(),
        ),
        (
            input(json!({"type": "compaction", "encrypted_content": "x"})),
            "AlwaysRefused input[0] is a compaction, which only its provider can read".into(),
        ),
        (
            input(json!({"role": "tool", "content": "x"})),
            "AlwaysRefused input[0].role must be `user`, `assistant`, `system` or `developer`, not a string".into(),
        ),
        (input(json!({"role": "user"})), "AlwaysRefused input[0].content is missing".into()),
        (
            input(json!({"type": "function_call", "name": "f", "arguments": "{}"})),
            "AlwaysRefused input[0].call_id is missing".into(),
        ),
        (
            input(json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": {}})),
            "AlwaysRefused input[0].arguments must be a string, not an object".into(),
        ),
        (
            input(json!({"type": "function_call_output", "output": "x"})),
            "AlwaysRefused input[0].call_id is missing".into(),
        ),
        (
            input(json!({"type": "reasoning", "id": "rs_1", "summary": []})),
            "Dropped input[0] has neither a text nor `encrypted_content`".into(),
        ),
        (
            input(json!({"role": "system", "content": [{"type": "input_image", "image_url": "https://a.example"}]})),
            "Refused input[0].content[0] is not text, and no other protocol has it in instructions".into(),
        ),
        (
            content(json!({"type": "input_image", "file_id": "file_1"})),
            format!("AlwaysRefused input[0].content[0].file_id {stored}"),
        ),
        (
            content(json!({"type": "input_file", "file_id": "file_1"})),
            format!("AlwaysRefused input[0].content[0].file_id {stored}"),
        ),
        (
            content(json!({"type": "input_file", "file_data": "aGk="})),
            "AlwaysRefused input[0].content[0].file_data must be a data URI, such as `data:application/pdf;base64,…`, not a string".into(),
        ),
        (
            content(json!({"type": "input_video", "video_url": "https://a.example"})),
            "Refused input[0].content[0] is of type `input_video`, which no other protocol has".into(),
        ),
        (content(json!({"text": "x"})), "AlwaysRefused input[0].content[0].type is missing".into()),
        (content(json!("x")), "AlwaysRefused input[0].content[0] must be an object, not a string".into()),
    ];
    for (body, entry) in cases {
        assert_eq!(read(&body).1.join("; "), entry, "{body}");
    }
}
