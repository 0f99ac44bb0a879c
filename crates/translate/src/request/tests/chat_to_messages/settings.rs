//! Settings, and what users show, of chat callers on channels of messages.

use super::{PAIR, call, request, sent, user};
use crate::ModelFeatures;
use crate::dialect::ThinkingRequest;
use crate::request::tests::translated;
use serde_json::{Value, json};

#[test]
fn settings_have_their_counterparts() {
    let tools = json!([{"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "g"}}]);
    let allowed = |mode: &str| {
        json!({"tools": tools, "tool_choice": {"type": "allowed_tools",
        "allowed_tools": {"mode": mode, "tools": [{"type": "function", "function": {"name": "g"}}]}}})
    };
    let only_g = json!([{"name": "g", "input_schema": {"type": "object", "properties": {}}}]);
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let adaptive = json!({"type": "adaptive"});
    let cases = [
        (
            json!({"reasoning_effort": "high"}),
            json!({"thinking": adaptive, "output_config": {"effort": "high"}}),
        ),
        (
            json!({"reasoning_effort": "minimal"}),
            json!({"thinking": adaptive, "output_config": {"effort": "low"}}),
        ),
        (
            json!({"reasoning_effort": "none"}),
            json!({"thinking": {"type": "disabled"}, "output_config": null}),
        ),
        (
            json!({"reasoning_effort": "low", "tools": tools, "tool_choice": "required"}),
            json!({"thinking": null, "output_config": {"effort": "low"}, "tool_choice": {"type": "any"}}),
        ),
        (
            json!({"reasoning_effort": "low", "temperature": 0.5, "top_p": 0.5}),
            json!({"thinking": adaptive, "temperature": null, "top_p": null}),
        ),
        (
            allowed("required"),
            json!({"tools": only_g, "tool_choice": {"type": "any"}}),
        ),
        (
            allowed("auto"),
            json!({"tools": only_g, "tool_choice": {"type": "auto"}}),
        ),
        (
            json!({"tools": tools, "tool_choice": "none", "parallel_tool_calls": false}),
            json!({"tool_choice": {"type": "none"}}),
        ),
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}}),
            json!({"output_config": {"format": {"type": "json_schema", "schema": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}}}}),
        ),
        (
            json!({"response_format": {"type": "json_object"}}),
            json!({"system": [{"type": "text", "text": "Answer with one JSON object and nothing else."}]}),
        ),
        (
            json!({"max_completion_tokens": null, "max_tokens": 5}),
            json!({"max_tokens": 5}),
        ),
        (
            json!({"max_completion_tokens": null}),
            json!({"max_tokens": 4096}),
        ),
        (
            json!({"service_tier": "default"}),
            json!({"service_tier": "standard_only"}),
        ),
        (
            json!({"service_tier": "flex"}),
            json!({"service_tier": null}),
        ),
        (
            json!({"stop": ["a", "b"]}),
            json!({"stop_sequences": ["a", "b"]}),
        ),
        (
            json!({"stop": ["\n\n", "b", ""]}),
            json!({"stop_sequences": ["b"]}),
        ),
        (json!({"stop": "\n"}), json!({"stop_sequences": null})),
        (
            json!({"user": "alice@example.com"}),
            json!({"metadata": {"user_id": "user_67023fc4a7ff2a46"}}),
        ),
        (
            json!({"n": 1, "logprobs": false, "seed": 7}),
            json!({"n": null, "seed": null}),
        ),
    ];
    for (members, expected) in cases {
        let (sent, _) = sent(&request(&json!([user("a")]), members.clone()));
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(sent[name], *value, "{members}");
        }
    }
}

#[test]
fn an_effort_is_a_budget_for_older_models() {
    let mut features = ModelFeatures::default();
    features.messages.thinking = ThinkingRequest::Budget;
    features.messages.effort = false;
    let turns = json!([user("a")]);
    let calls = json!([user("a"), {"role": "assistant", "tool_calls": [call("c", "f", "{}")]},
        {"role": "tool", "tool_call_id": "c", "content": "x"}]);
    let enabled = |tokens: u64| json!({"type": "enabled", "budget_tokens": tokens});
    let left_out = Value::Null;
    let cases = [
        (&turns, "minimal", 9000, enabled(2048)),
        (&turns, "medium", 9000, enabled(4096)),
        (&turns, "xhigh", 90_000, enabled(16_384)),
        (&turns, "high", 3000, enabled(1500)),
        (&turns, "high", 2000, left_out.clone()),
        (&turns, "none", 9000, json!({"type": "disabled"})),
        (&calls, "high", 9000, left_out),
    ];
    for (messages, effort, limit, thinking) in cases {
        let more = json!({"reasoning_effort": effort, "max_completion_tokens": limit});
        let (sent, ledger) = translated(PAIR, &request(messages, more), features.clone());
        assert_eq!(sent["thinking"], thinking, "{effort} {limit}");
        assert_eq!(sent["output_config"], Value::Null);
        let is_noted = ledger.iter().any(|it| it.contains("reasoning_effort"));
        assert_eq!(is_noted, effort != "none", "{ledger:?}");
    }
}

#[test]
fn media_are_sent_if_the_protocol_takes_them() {
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let file =
        |data: &str| json!({"type": "file", "file": {"filename": "a.txt", "file_data": data}});
    let source = |kind: &str, source: Value| json!({"type": kind, "source": source});
    let mut text = source(
        "document",
        json!({"type": "text", "media_type": "text/plain", "data": "é\n"}),
    );
    let mut pdf = source(
        "document",
        json!({"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}),
    );
    (text["title"], pdf["title"]) = ("a.txt".into(), "a.txt".into());
    let cases = [
        (
            image("https://a.example/b"),
            Ok(source(
                "image",
                json!({"type": "url", "url": "https://a.example/b"}),
            )),
        ),
        (
            image("data:image/webp;base64,aGk="),
            Ok(source(
                "image",
                json!({"type": "base64", "media_type": "image/webp", "data": "aGk="}),
            )),
        ),
        (file("data:application/pdf;base64,JVBERi0="), Ok(pdf)),
        (file("data:text/plain;base64,w6kK"), Ok(text)),
        (
            image("data:image/svg+xml;base64,aGk="),
            Err("Refused messages[0].content[1] is an image of a type"),
        ),
        (
            image("data:image/png,hi"),
            Err("Refused messages[0].content[1] is neither a URL"),
        ),
        (
            image("file:///etc/passwd"),
            Err("Refused messages[0].content[1] is neither a URL"),
        ),
        (
            file("data:application/zip;base64,aGk="),
            Err("Refused messages[0].content[1] is a document of a type"),
        ),
        (
            file("data:text/plain;base64,/w=="),
            Err("Refused messages[0].content[1] is a document of a type"),
        ),
        (
            file("JVBERi0="),
            Err("AlwaysRefused messages[0].content[1].file.file_data must be a data URI"),
        ),
        (
            json!({"type": "file", "file": {"file_id": "file-1"}}),
            Err("AlwaysRefused messages[0].content[1].file.file_id"),
        ),
        (
            json!({"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}),
            Err("Refused messages[0].content[1] has the type `input_audio`"),
        ),
    ];
    for (part, expected) in cases {
        let content = json!([{"type": "text", "text": "Look:"}, part]);
        let (sent, ledger) = sent(&request(
            &json!([{"role": "user", "content": content}]),
            json!({}),
        ));
        let written = &sent["messages"][0]["content"][1];
        match expected {
            Ok(block) => assert_eq!(*written, block),
            Err(entry) => {
                assert!(written.is_null(), "{written}");
                assert!(
                    ledger.iter().any(|it| it.starts_with(entry)),
                    "{part}: {ledger:#?}"
                );
            }
        }
    }
}
