//! Tests of requests.

use super::translated;
use headgate_protocol::conversation::ConversationFormat::{Chat, Messages, Responses};
use serde_json::{Value, json};

#[test]
fn a_tool_loop_of_chat_is_a_conversation_of_turns() {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "get weather", "arguments": arguments}});
    let (sent, ledger) = translated(
        Chat,
        &json!({
            "model": "m", "max_completion_tokens": 64, "temperature": 0.50, "stop": ["###"], "stream": true,
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "One."},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]},
                {"role": "assistant", "content": "", "tool_calls": [call("call_1", r#"{"n": 1.0}"#), call("call_2", "")]},
                {"role": "tool", "tool_call_id": "call_2", "content": "rain"},
                {"role": "tool", "tool_call_id": "call_1", "content": "sun"},
                {"role": "user", "content": "And now?"}],
            "tools": [{"type": "function", "function": {"name": "get weather", "description": "Weather", "strict": true,
                "parameters": {"type": "object", "properties": {"n": {"type": "number"}}, "additionalProperties": false}}}],
            "tool_choice": "required"
        }),
    );
    let name = sent["toolConfig"]["tools"][0]["toolSpec"]["name"].clone();
    assert!(name.as_str().unwrap().starts_with("get_weather_"), "{name}");
    let tool_use = |id: &str, input: Value| json!({"toolUse": {"toolUseId": id, "name": name, "input": input}});
    let result = |id: &str, text: &str| json!({"toolResult": {"toolUseId": id, "content": [{"text": text}]}});
    assert_eq!(
        sent,
        json!({
            "system": [{"text": "Be brief."}],
            "messages": [
                {"role": "user", "content": [{"text": "One."}, {"image": {"format": "png", "source": {"bytes": "aGk="}}}]},
                {"role": "assistant", "content": [tool_use("call_1", json!({"n": 1.0})), tool_use("call_2", json!({}))]},
                {"role": "user", "content": [result("call_2", "rain"), result("call_1", "sun"), {"text": "And now?"}]}],
            "inferenceConfig": {"maxTokens": 64, "temperature": 0.5, "stopSequences": ["###"]},
            "toolConfig": {
                "tools": [{"toolSpec": {"name": name, "description": "Weather", "strict": true,
                    "inputSchema": {"json": {"type": "object", "properties": {"n": {"type": "number"}}, "additionalProperties": false}}}}],
                "toolChoice": {"any": {}}}
        })
    );
    assert_eq!(ledger, [""; 0]);
}

#[test]
fn a_document_beside_results_is_in_the_last_result_and_a_lone_one_is_not_sent() {
    let document = json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}});
    let sent_document = |name: &str| json!({"document": {"name": name, "format": "pdf", "source": {"bytes": "aGk="}}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "read"});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {}});
    let request = |content: Value| {
        let tool = json!({"name": "read", "input_schema": {"type": "object"}});
        json!({"model": "m", "max_tokens": 64, "tools": [tool], "messages": [
            {"role": "user", "content": "Read both."}, {"role": "assistant", "content": [call("a"), call("b")]},
            {"role": "user", "content": content}]})
    };
    let (sent, ledger) = translated(
        Messages,
        &request(json!([result("a"), document, result("b")])),
    );
    let content = &sent["messages"][2]["content"];
    assert_eq!(content.as_array().unwrap().len(), 2, "{content}");
    assert_eq!(
        content[0]["toolResult"]["content"],
        json!([{"text": "read"}])
    );
    let name = content[1]["toolResult"]["content"][1]["document"]["name"].clone();
    assert_eq!(
        content[1]["toolResult"]["content"],
        json!([{"text": "read"}, sent_document(name.as_str().unwrap())])
    );
    assert_eq!(ledger.len(), 1, "{ledger:?}");
    assert!(
        ledger[0].contains("stands in the result of the tool before it"),
        "{ledger:?}"
    );

    let text = json!({"type": "text", "text": "And?"});
    let (sent, ledger) = translated(
        Messages,
        &request(json!([result("a"), result("b"), document, text])),
    );
    assert_eq!(
        sent["messages"][2]["content"][2],
        sent_document(
            sent["messages"][2]["content"][2]["document"]["name"]
                .as_str()
                .unwrap()
        )
    );
    assert_eq!(ledger, [""; 0]);

    let alone = json!({"model": "m", "max_tokens": 64, "messages": [{"role": "user", "content": [document]}]});
    let (sent, ledger) = translated(Messages, &alone);
    assert!(
        !sent.to_string().contains("aGk="),
        "what is refused is not sent: {sent}"
    );
    assert!(
        ledger[0].contains("in a message without a text"),
        "{ledger:?}"
    );
}

#[test]
fn a_request_of_messages_keeps_its_thoughts_caches_and_files() {
    let (sent, ledger) = translated(
        Messages,
        &json!({
            "model": "m", "max_tokens": 4096, "top_k": 5, "stop_sequences": ["###"],
            "thinking": {"type": "enabled", "budget_tokens": 1024, "display": "summarized"},
            "output_config": {"effort": "high"},
            "metadata": {"user_id": "u"},
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
            "messages": [
                {"role": "user", "content": [
                    {"type": "document", "title": "Q3_report.pdf", "context": "of the \"third\" quarter",
                        "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}},
                    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain"}},
                    {"type": "text", "text": "Read.", "cache_control": {"type": "ephemeral"}}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "foreign", "signature": "c2ln"},
                    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1e3}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true, "content": [
                    {"type": "text", "text": "no"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "aGk="}}]}]}],
            "tools": [{"name": "f", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}],
            "tool_choice": {"type": "auto", "disable_parallel_tool_use": true}
        }),
    );
    let cache = json!({"cachePoint": {"type": "default"}});
    assert_eq!(
        sent,
        json!({
            "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
            "messages": [
                {"role": "user", "content": [
                    {"document": {"name": "Q3-report", "context": "of the \"third\" quarter", "format": "pdf", "source": {"bytes": "JVBERi0="}}},
                    {"document": {"name": "document", "format": "txt", "source": {"text": "plain"}}},
                    {"text": "Read."}, cache]},
                {"role": "assistant", "content": [{"toolUse": {"toolUseId": "toolu_1", "name": "f", "input": {"a": 1000.0}}}]},
                {"role": "user", "content": [{"toolResult": {"toolUseId": "toolu_1", "status": "error", "content": [
                    {"text": "no"}, {"image": {"format": "jpeg", "source": {"bytes": "aGk="}}}]}}]}],
            "inferenceConfig": {"maxTokens": 4096, "stopSequences": ["###"]},
            "outputConfig": {"effort": "high"},
            "additionalModelRequestFields": {
                "thinking": {"type": "enabled", "budget_tokens": 1024, "display": "summarized"}, "top_k": 5,
                "tool_choice": {"type": "auto", "disable_parallel_tool_use": true}},
            "additionalModelResponseFieldPaths": ["/stop_sequence"],
            "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object", "properties": {}}}}}, cache]}
        })
    );
    assert_eq!(
        ledger,
        [
            "Dropped metadata.user_id is left out, since the converse protocol has no name for a user",
            "Approximated messages[0].content[0] has a name that the converse protocol does not take as it is",
            "Dropped messages[1].content[0] has thoughts of another provider, which this one cannot check",
        ]
    );
}

#[test]
fn a_request_of_responses_has_its_schema_as_text() {
    let (sent, ledger) = translated(
        Responses,
        &json!({
            "model": "m", "instructions": "Be brief.", "max_output_tokens": 64, "service_tier": "flex",
            "reasoning": {"effort": "medium"}, "temperature": 1, "store": false,
            "text": {"format": {"type": "json_schema", "name": "n", "strict": true, "schema": {"type": "object", "additionalProperties": false}}},
            "input": [
                {"role": "user", "content": "One."},
                {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "call_1", "output": "sun"}],
            "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": false}]
        }),
    );
    assert_eq!(
        sent,
        json!({
            "system": [{"text": "Be brief."}],
            "messages": [
                {"role": "user", "content": [{"text": "One."}]},
                {"role": "assistant", "content": [{"toolUse": {"toolUseId": "call_1", "name": "f", "input": {}}}]},
                {"role": "user", "content": [{"toolResult": {"toolUseId": "call_1", "content": [{"text": "sun"}]}}]}],
            "additionalModelRequestFields": {"thinking": {"type": "adaptive"}},
            "inferenceConfig": {"maxTokens": 64},
            "outputConfig": {"effort": "medium", "textFormat": {"type": "json_schema", "structure": {"jsonSchema": {
                "schema": r#"{"type":"object","additionalProperties":false}"#, "name": "n"}}}},
            "serviceTier": {"type": "flex"},
            "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object", "properties": {}}}}}]}
        })
    );
    assert_eq!(
        ledger,
        [
            "Dropped text.format.strict has no counterpart in the converse protocol",
            "Approximated temperature is left out, since the channel's model does not take it while it thinks",
        ]
    );
}

/// A chat request of these messages, with more members.
fn chat(messages: &Value, more: &Value) -> Value {
    let mut body = json!({"model": "m", "messages": messages});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    body
}

#[test]
fn what_the_protocol_does_not_have_is_refused_by_its_path() {
    let user = json!({"role": "user", "content": "a"});
    let function = |arguments: &str| json!({"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}]});
    let result = json!({"role": "tool", "tool_call_id": "c", "content": "x"});
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    let part =
        |part: Value| json!([{"role": "user", "content": [part, {"type": "text", "text": "a"}]}]);
    let url = |url: &str| part(json!({"type": "image_url", "image_url": {"url": url}}));
    let file =
        |data: &str| json!({"type": "file", "file": {"file_data": data, "filename": "f.bin"}});
    let with_tools = json!({"tools": tools});
    let none = json!({});
    for (messages, more, refused) in [
        (
            url("https://a.example/b.png"),
            &none,
            "Refused messages[0].content[0]",
        ),
        (
            url("s3://bucket/b.png"),
            &none,
            "Refused messages[0].content[0]",
        ),
        (
            url("data:image/tiff;base64,aGk="),
            &none,
            "Refused messages[0].content[0]",
        ),
        (
            part(file("data:application/zip;base64,aGk=")),
            &none,
            "Refused messages[0].content[0]",
        ),
        (
            json!([{"role": "user", "content": [file("data:application/pdf;base64,aGk=")]}]),
            &none,
            "Refused messages[0].content[0]",
        ),
        (
            json!([user, function("{}"), result]),
            &none,
            "Refused tools",
        ),
        (
            json!([user, function("[1]"), result]),
            &with_tools,
            "AlwaysRefused messages[1].tool_calls[0]",
        ),
        (
            json!([user, function("{"), result]),
            &with_tools,
            "AlwaysRefused messages[1].tool_calls[0]",
        ),
        (
            json!([user, function("{}"), result]),
            &json!({"tools": tools, "tool_choice": "none"}),
            "Refused tool_choice",
        ),
        (
            json!([{"role": "assistant", "content": "a"}, user]),
            &none,
            "AlwaysRefused messages[0]",
        ),
        (
            json!([user, {"role": "assistant", "content": "a"}]),
            &none,
            "Refused messages[1]",
        ),
        (
            json!([user, {"role": "system", "content": "a"}, user]),
            &none,
            "Refused messages[1]",
        ),
        (json!([user]), &json!({"n": 2}), "Refused n"),
        (
            json!([user]),
            &json!({"logprobs": true}),
            "Refused logprobs",
        ),
        (json!([user]), &json!({"zzz": 1}), "Refused zzz"),
    ] {
        let body = chat(&messages, more);
        let (_, ledger) = translated(Chat, &body);
        let is_refused = ledger.iter().any(|entry| {
            entry
                .strip_prefix(refused)
                .is_some_and(|rest| rest.starts_with(' '))
        });
        assert!(is_refused, "{body}: {ledger:?}");
    }
}

#[test]
fn audio_is_a_block_if_the_protocol_has_its_format() {
    let message = |format: &str| {
        json!([{"role": "user", "content": [
            {"type": "text", "text": "Listen."},
            {"type": "input_audio", "input_audio": {"data": "AA==", "format": format}}]}])
    };
    let (sent, ledger) = translated(Chat, &chat(&message("wav"), &json!({})));
    assert_eq!(
        sent["messages"][0]["content"][1],
        json!({"audio": {"format": "wav", "source": {"bytes": "AA=="}}})
    );
    assert_eq!(ledger, [""; 0]);
    let (_, ledger) = translated(Chat, &chat(&message("midi"), &json!({})));
    assert!(
        ledger[0].starts_with("Refused messages[0].content[1] is audio of a format "),
        "{ledger:?}"
    );
}
