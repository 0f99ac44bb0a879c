//! Callers of other protocols on channels whose providers have a dialect of their own, and refuse what their vendors refuse.

mod providers;

use super::{config_for, events_of, last_request, stream_response};
use crate::harness::http_response::json_response;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, path_of};
use headgate_protocol::Protocol;
use providers::{DialectProvider, PROVIDERS};
use serde_json::{Value, json};
use std::sync::Arc;

/// A provider that answers as a model that thinks and calls, unless `refusal` has a reason against the request.
async fn provider(refusal: fn(&Value) -> Option<&'static str>) -> ScriptedProvider {
    let answer = move |request: &str| {
        let (_, body) = request.split_once("\r\n\r\n").expect("a head");
        let body: Value = serde_json::from_str(body).expect("a JSON body");
        match refusal(&body) {
            Some(reason) => {
                let error = json!({"error": {"message": reason, "type": "invalid_request_error"}});
                json_response(400, error)
            }
            None => json_response(200, thinking_call()),
        }
    };
    ScriptedProvider::start(vec![ScriptedResponse::Call(Arc::new(answer))]).await
}

fn thinking_call() -> Value {
    let call = json!({"id": "D681PevKs", "type": "function",
        "function": {"name": "look", "arguments": "{}"}});
    json!({"id": "chatcmpl-7", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant",
            "content": null, "reasoning_content": "I look.", "tool_calls": [call]}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12}})
}

/// A gateway that translates messages for a model of a provider, in a dialect.
async fn gateway(provider: &ScriptedProvider, model: &str, dialect: &Value) -> Gateway {
    let mut config = config_for("messages", "chat", &provider.url());
    config["task_keys"] = json!(["k".repeat(32)]);
    let channel = &mut config["channels"]["other"];
    channel["models"] = json!({"demo-large": model});
    channel["dialect"] = dialect.clone();
    Gateway::start(&config).await
}

/// What a coding agent sends in the middle of its work: a call of another model, its result, and a note after it.
fn agent_request(more: &Value) -> Request {
    let mut body = json!({
        "model": "demo-large", "max_tokens": 9000, "system": "Be brief.",
        "metadata": {"user_id": "u"},
        "thinking": {"type": "adaptive"}, "output_config": {"effort": "max"},
        "messages": [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_01ABCDEF", "name": "look", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_01ABCDEF", "content": "a flower"},
                {"type": "text", "text": "Go on."}]}],
        "tools": [{"name": "look", "input_schema": {"type": "object"}}]});
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    Request::to(Protocol::Messages, body.to_string())
}

#[tokio::test]
async fn each_vendor_takes_what_agents_send_in_its_dialect_and_not_without_it() {
    for DialectProvider {
        dialect,
        model,
        more,
        refusal,
        reason,
    } in PROVIDERS
    {
        let provider = provider(refusal).await;
        let request = agent_request(&serde_json::from_str(more).unwrap());
        let answer = gateway(&provider, model, &json!(dialect))
            .await
            .ask(&request)
            .await;
        assert_eq!(answer.status, 200, "{dialect}: {}", answer.text());
        let content = answer.json()["content"].clone();
        assert_eq!(content[0]["type"], "thinking", "{dialect}");
        assert_eq!(content[1]["name"], "look", "{dialect}");

        // The plain protocol, for models of no known name.
        let plain = json!({"chat": {}});
        let answer = gateway(&provider, model, &plain).await.ask(&request).await;
        assert_eq!(answer.status, 400, "{dialect}: {}", answer.text());
        assert!(
            answer.text().contains(reason),
            "{dialect}: {}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn what_a_dialect_leaves_out_is_named() {
    let provider = provider(|_| None).await;
    let gateway = gateway(&provider, "mistral-large-2512", &json!("mistral")).await;
    let answer = gateway.ask(&agent_request(&json!({}))).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let translation = answer.headers.get("x-headgate-translation").unwrap();
    for named in ["metadata.user_id", "output_config.effort", "messages[]"] {
        assert!(translation.contains(named), "{named}: {translation}");
    }
    let log = gateway.log_of(&answer).await;
    assert_eq!(log["translation"], *translation, "{log}");
}

#[tokio::test]
async fn a_dialect_refuses_what_its_provider_cannot_do() {
    let provider = provider(|_| None).await;
    let gateway = gateway(&provider, "glm-5", &json!("glm")).await;
    let forced = json!({"tool_choice": {"type": "any"}});
    let answer = gateway.ask(&agent_request(&forced)).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(
        answer.text().contains("`tool_choice` forces a call"),
        "{}",
        answer.text()
    );
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn thoughts_go_back_where_the_provider_looks_for_them() {
    for (dialect, pointer) in [
        ("deepseek", "/messages/1/reasoning_content"),
        ("openrouter", "/messages/1/reasoning"),
        ("mistral", "/messages/1/content/0/thinking/0/text"),
    ] {
        let provider = provider(|_| None).await;
        let gateway = gateway(&provider, "m", &json!(dialect)).await;
        let question = json!({"role": "user", "content": "Look."});
        let first = json!({"messages": [question]});
        let first = gateway.ask(&agent_request(&first)).await;
        let content = first.json()["content"].clone();
        let result = json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "D681PevKs", "content": "a flower"}]});
        let second =
            json!({"messages": [question, {"role": "assistant", "content": content}, result]});
        let second = gateway.ask(&agent_request(&second)).await;
        assert_eq!(second.status, 200, "{dialect}: {}", second.text());
        let (_, body) = last_request(&provider);
        // The system text is the first message.
        let pointer = pointer.replace("/1/", "/2/");
        assert_eq!(
            body.pointer(&pointer),
            Some(&json!("I look.")),
            "{dialect}: {body}"
        );
    }
}

#[tokio::test]
async fn a_file_declares_dialects_that_are_based_on_shipped_ones() {
    let provider = provider(|_| None).await;
    let mut config = config_for("messages", "chat", &provider.url());
    config["dialects"] = json!({"house": {"based_on": "vllm", "chat": {"adds": {"priority": 3}},
        "models": [{"names": ["old-*"], "chat": {"output_limit": "max_tokens"}}]}});
    let channel = &mut config["channels"]["other"];
    channel["models"] = json!({"demo-large": "new-1", "demo-small": "old-1"});
    channel["dialect"] = json!("house");
    let gateway = Gateway::start(&config).await;
    for (model, limit) in [
        ("demo-large", "max_completion_tokens"),
        ("demo-small", "max_tokens"),
    ] {
        let more = json!({"model": model, "top_k": 5});
        let answer = gateway.ask(&agent_request(&more)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let (_, body) = last_request(&provider);
        assert_eq!(body[limit], 9000, "{model}: {body}");
        assert_eq!(body["priority"], 3, "{model}");
        assert_eq!(body["top_k"], 5, "{model}");
        assert_eq!(
            body["chat_template_kwargs"]["enable_thinking"], true,
            "{model}"
        );
    }
}

#[tokio::test]
async fn requests_in_the_channel_s_own_protocol_are_sent_as_they_are() {
    let provider = provider(|_| None).await;
    let mut config = config_for("messages", "chat", &provider.url());
    config["channels"]["other"]["dialect"] = json!("mistral");
    let gateway = Gateway::start(&config).await;
    let body = r#"{"model":"demo-large", "user":"u","reasoning_effort":"max","messages":[{"role":"user","content":"a"}]}"#;
    let answer = gateway
        .ask(&Request::post(path_of(Protocol::Chat), body))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let request = provider.requests().pop().unwrap();
    let sent = body.replace("demo-large", "sim-large-2026-08");
    assert!(request.ends_with(&sent), "{request}");
}

#[tokio::test]
async fn a_list_of_thoughts_goes_back_with_its_proofs() {
    let details = json!([
        {"type": "reasoning.text", "text": "I look.", "signature": "c2ln", "format": "anthropic-claude-v1", "index": 0},
        {"type": "reasoning.encrypted", "data": "c2VhbGVk", "id": "rs_1", "format": "openai-responses-v1", "index": 1}]);
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}});
    let mut whole = thinking_call();
    whole["choices"][0]["message"] = json!({"role": "assistant", "content": null, "reasoning": "I look.",
        "reasoning_details": details, "tool_calls": [call]});
    let chunk = |delta: Value, finish: Value| {
        json!({"id": "gen-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let piece = |detail: Value| chunk(json!({"reasoning_details": [detail]}), Value::Null);
    let mut first = details[0].clone();
    first.as_object_mut().unwrap().remove("text");
    let text = |text: &str| json!({"type": "reasoning.text", "text": text, "format": "anthropic-claude-v1", "index": 0});
    let streamed_call = json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "look", "arguments": "{}"}}]});
    let chunks = [
        piece(text("I ")),
        piece(text("look.")),
        piece(first),
        piece(details[1].clone()),
        chunk(streamed_call, Value::Null),
        chunk(json!({}), json!("tool_calls")),
    ];
    let question = json!({"role": "user", "content": "Look."});
    for is_stream in [false, true] {
        let provider = provider(|_| None).await;
        let gateway = gateway(&provider, "m", &json!("openrouter")).await;
        provider.next(vec![ScriptedResponse::Send(match is_stream {
            true => stream_response(&chunks, "data: [DONE]\n\n"),
            false => json_response(200, &whole),
        })]);
        let ask = json!({"messages": [question], "stream": is_stream});
        let answer = gateway.ask(&agent_request(&ask)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let content = match is_stream {
            true => content_of_stream(&events_of(&answer.text())),
            false => answer.json()["content"].clone(),
        };
        assert_eq!(content[0]["thinking"], "I look.", "{content}");
        assert_eq!(content[1]["type"], "redacted_thinking", "{content}");
        assert!(!content.to_string().contains("c2ln"), "{content}");

        let result = json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_1", "content": "a flower"}]});
        let second =
            json!({"messages": [question, {"role": "assistant", "content": content}, result]});
        let second = gateway.ask(&agent_request(&second)).await;
        assert_eq!(second.status, 200, "{}", second.text());
        let (_, body) = last_request(&provider);
        assert_eq!(
            body["messages"][2]["reasoning_details"], details,
            "{is_stream}: {body}"
        );
    }
}

/// The blocks of a streamed message.
fn content_of_stream(events: &[(String, Value)]) -> Value {
    let mut blocks: Vec<Value> = Vec::new();
    for (_, event) in events {
        let block = event["index"].as_u64().unwrap_or_default() as usize;
        match event["type"].as_str() {
            Some("content_block_start") => blocks.push(event["content_block"].clone()),
            Some("content_block_delta") => {
                for member in ["thinking", "signature"] {
                    if let Some(more) = event["delta"][member].as_str() {
                        let known = blocks[block][member].as_str().unwrap_or_default();
                        blocks[block][member] = json!(format!("{known}{more}"));
                    }
                }
            }
            _ => {}
        }
    }
    json!(blocks)
}
