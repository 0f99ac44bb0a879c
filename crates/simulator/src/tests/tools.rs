//! Tests of tool calls and structured outputs.

use super::{TEXT_AT, ordinary, post, simulator, with};
use serde_json::{Value, json};

fn weather_tool() -> Value {
    json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}})
}

/// The definition of the tool `get_weather`, in each protocol.
fn tools() -> [Value; 3] {
    let schema = weather_tool();
    [
        json!([{"type": "function", "function": {"name": "get_weather", "parameters": schema}}]),
        json!([{"name": "get_weather", "input_schema": schema}]),
        json!([{"type": "web_search"}, {"type": "function", "name": "get_weather", "parameters": schema}]),
    ]
}

#[tokio::test]
async fn a_forced_tool_is_called_with_fitting_arguments() {
    let simulator = simulator();
    let choices = [
        json!({"tool_choice": {"type": "function", "function": {"name": "get_weather"}}}),
        json!({"tool_choice": {"type": "tool", "name": "get_weather"}}),
        json!({"tool_choice": "required"}),
    ];
    let call_at = [
        "/choices/0/message/tool_calls/0/function",
        "/content/0",
        "/output/0",
    ];
    let requests = ordinary()
        .into_iter()
        .zip(tools())
        .zip(choices)
        .zip(call_at);
    for ((((path, body), tools), choice), call_at) in requests {
        let body = with(&with(&body, &json!({"tools": tools})), &choice);
        let json = post(&simulator, path, &body).await.json();
        let call = json.pointer(call_at).unwrap();
        assert_eq!(call["name"], "get_weather", "{path}");
        let arguments = match call.get("input") {
            Some(input) => input.clone(),
            None => serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap(),
        };
        assert!(
            jsonschema::is_valid(&weather_tool(), &arguments),
            "{path} {arguments}"
        );
    }
}

#[tokio::test]
async fn a_tool_result_is_answered_with_text() {
    let [chat_tools, messages_tools, responses_tools] = tools();
    let requested = json!({"role": "user", "content": "How is the weather?"});
    let histories = [
        (
            "/v1/chat/completions",
            json!({"tools": chat_tools, "messages": [requested,
            {"role": "assistant", "tool_calls": []}, {"role": "tool", "tool_call_id": "c", "content": "wet"}]}),
        ),
        (
            "/v1/messages",
            json!({"tools": messages_tools, "max_tokens": 99, "messages": [requested,
            {"role": "assistant", "content": []},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "wet"}]}]}),
        ),
        (
            "/v1/responses",
            json!({"tools": responses_tools, "input": [requested,
            {"type": "function_call_output", "call_id": "c", "output": "wet"}]}),
        ),
    ];
    let simulator = simulator();
    for ((path, body), text_at) in histories.into_iter().zip(TEXT_AT) {
        let json = post(&simulator, path, &with(&body, &json!({"model": "m"})))
            .await
            .json();
        assert!(
            json.pointer(text_at).is_some_and(Value::is_string),
            "{path} {json}"
        );
    }
}

#[tokio::test]
async fn a_schema_for_the_answer_is_kept() {
    let schema = weather_tool();
    let formats = [
        json!({"response_format": {"type": "json_schema", "json_schema": {"name": "w", "schema": schema}}}),
        json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}}),
        json!({"text": {"format": {"type": "json_schema", "name": "w", "schema": schema}}}),
    ];
    let simulator = simulator();
    for (((path, body), format), text_at) in ordinary().into_iter().zip(formats).zip(TEXT_AT) {
        let json = post(&simulator, path, &with(&body, &format)).await.json();
        let text = json.pointer(text_at).and_then(Value::as_str).unwrap();
        let value = serde_json::from_str(text).unwrap();
        assert!(jsonschema::is_valid(&schema, &value), "{path} {text}");
    }
}
