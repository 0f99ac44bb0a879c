//! Tools: parallel calls, their results, and the proofs of thoughts that must come back with them.

use super::super::{events_of, last_request};
use super::provider::{GeminiAnswer, answering};
use super::{config_for, gateway};
use crate::harness::{Gateway, PROTOCOLS, Request, ScriptedProvider};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const SIGNATURE: &str = "Q2lRQjBlMlcvK3NpZ25hdHVyZQ==";

/// Two calls at once, of which the first has the proof of the thoughts before them. The provider gives no ids.
fn calls() -> GeminiAnswer {
    GeminiAnswer {
        parts: vec![
            json!({"text": "I look at both.", "thought": true}),
            json!({"functionCall": {"name": "look", "args": {"at": "left", "n": 1.0}}, "thoughtSignature": SIGNATURE}),
            json!({"functionCall": {"name": "look", "args": {"at": "right"}}}),
        ],
        finish: "STOP",
        usage: json!({"promptTokenCount": 9, "candidatesTokenCount": 4, "thoughtsTokenCount": 2, "totalTokenCount": 15}),
    }
}

/// A request of a caller: its first message, and items of later turns.
fn turn(caller: Protocol, later: &[Value], stream: bool) -> Request {
    let schema = json!({"type": "object", "properties": {"at": {"type": "string"}}});
    let mut messages = vec![json!({"role": "user", "content": "Look."})];
    messages.extend_from_slice(later);
    let mut body = match caller {
        Protocol::Chat => {
            json!({"model": "demo-large", "messages": messages, "reasoning_effort": "low",
            "tools": [{"type": "function", "function": {"name": "look", "parameters": schema}}]})
        }
        Protocol::Messages => {
            json!({"model": "demo-large", "max_tokens": 2000, "messages": messages,
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "tools": [{"name": "look", "input_schema": schema}]})
        }
        _ => json!({"model": "demo-large", "input": messages, "store": false,
            "include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low", "summary": "auto"},
            "tools": [{"type": "function", "name": "look", "parameters": schema, "strict": false}]}),
    };
    if stream {
        body["stream"] = json!(true);
    }
    Request::to(caller, body.to_string())
}

/// What a caller sends back of a turn with calls, with a result for each: the last call first.
fn answered(caller: Protocol, response: &Value) -> Vec<Value> {
    match caller {
        Protocol::Chat => {
            let message = response["choices"][0]["message"].clone();
            let ids: Vec<Value> = each(&message["tool_calls"], |call| call["id"].clone());
            let results = ids.iter().rev().map(|id| {
                json!({"role": "tool", "tool_call_id": id, "content": format!("seen by {id}")})
            });
            std::iter::once(message.clone()).chain(results).collect()
        }
        Protocol::Messages => {
            let content = &response["content"];
            let calls = each(content, |block| block["id"].clone());
            let results: Vec<Value> = calls.iter().filter(|id| id.is_string()).rev().map(|id| {
                json!({"type": "tool_result", "tool_use_id": id, "content": "seen", "is_error": true})
            }).collect();
            vec![
                json!({"role": "assistant", "content": content}),
                json!({"role": "user", "content": results}),
            ]
        }
        _ => {
            let output = response["output"].as_array().unwrap().clone();
            let calls = output.iter().filter(|item| item["type"] == "function_call");
            let results: Vec<Value> = calls.rev().map(|call| {
                json!({"type": "function_call_output", "call_id": call["call_id"], "output": "seen"})
            }).collect();
            output.into_iter().chain(results).collect()
        }
    }
}

fn each(list: &Value, get: impl Fn(&Value) -> Value) -> Vec<Value> {
    list.as_array().into_iter().flatten().map(get).collect()
}

/// The response that a stream makes.
fn assembled(caller: Protocol, events: &[(String, Value)]) -> Value {
    match caller {
        Protocol::Chat => assembled_chat(events),
        Protocol::Messages => assembled_message(events),
        _ => events.last().unwrap().1["response"].clone(),
    }
}

fn assembled_chat(events: &[(String, Value)]) -> Value {
    let (mut thoughts, mut details, mut calls) = (String::new(), Vec::new(), Vec::<Value>::new());
    for (_, event) in events {
        let delta = &event["choices"][0]["delta"];
        thoughts += delta["reasoning_content"].as_str().unwrap_or_default();
        details.extend(each(&delta["reasoning_details"], Value::clone));
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            if call["id"].is_string() {
                calls.push(call.clone());
                continue;
            }
            let open = calls.last_mut().unwrap();
            let whole = open["function"]["arguments"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            open["function"]["arguments"] =
                json!(whole + call["function"]["arguments"].as_str().unwrap());
        }
    }
    json!({"choices": [{"message": {"role": "assistant", "content": null, "reasoning_content": thoughts,
        "reasoning_details": details, "tool_calls": calls}}]})
}

fn assembled_message(events: &[(String, Value)]) -> Value {
    let (mut content, mut input) = (Vec::<Value>::new(), String::new());
    for (name, event) in events {
        let delta = &event["delta"];
        match name.as_str() {
            "content_block_start" => {
                content.push(event["content_block"].clone());
                input.clear();
            }
            "content_block_delta" => {
                let block = content.last_mut().unwrap();
                input += delta["partial_json"].as_str().unwrap_or_default();
                for member in ["thinking", "signature"] {
                    if let Some(piece) = delta[member].as_str() {
                        let whole = block[member].as_str().unwrap_or_default().to_owned();
                        block[member] = json!(whole + piece);
                    }
                }
            }
            "content_block_stop" => {
                let block = content.last_mut().unwrap();
                if block["type"] == "tool_use" {
                    block["input"] = serde_json::from_str(&input).unwrap();
                }
            }
            _ => {}
        }
    }
    json!({"content": content})
}

async fn check_next_turn(
    caller: Protocol,
    gateway: &Gateway,
    provider: &ScriptedProvider,
    response: &Value,
) {
    let later = answered(caller, response);
    let second = gateway.ask(&turn(caller, &later, false)).await;
    assert_eq!(
        second.status,
        200,
        "{caller:?}: {} for {later:?}",
        second.text()
    );
    let (_, body) = last_request(provider);
    let step = &body["contents"][1]["parts"];
    let calls: Vec<&Value> = step
        .as_array()
        .unwrap()
        .iter()
        .filter(|part| part.get("functionCall").is_some())
        .collect();
    assert_eq!(calls.len(), 2, "{caller:?}: {step}");
    assert_eq!(
        calls[0]["thoughtSignature"], SIGNATURE,
        "{caller:?}: {step}"
    );
    assert_eq!(calls[1].get("thoughtSignature"), None, "{caller:?}: {step}");
    assert_eq!(
        calls[0]["functionCall"]["args"].to_string(),
        r#"{"at":"left","n":1.0}"#
    );
    assert_eq!(
        step[0],
        json!({"text": "I look at both.", "thought": true}),
        "{caller:?}"
    );
    let results = body["contents"][2]["parts"].as_array().unwrap();
    for (call, result) in calls.iter().zip(results) {
        assert_eq!(
            result["functionResponse"]["id"], call["functionCall"]["id"],
            "{caller:?}"
        );
        let key = if caller == Protocol::Messages {
            "error"
        } else {
            "output"
        };
        let text = result["functionResponse"]["response"][key].as_str();
        assert!(
            text.is_some_and(|text| text.starts_with("seen")),
            "{caller:?}: {result}"
        );
    }
}

#[tokio::test]
async fn parallel_calls_come_back_with_the_proof_of_the_thoughts_before_them() {
    for caller in PROTOCOLS {
        let provider = answering(calls()).await;
        let gateway = gateway(caller, &provider).await;
        let whole = gateway.ask(&turn(caller, &[], false)).await;
        assert_eq!(whole.status, 200, "{}", whole.text());
        assert!(!whole.text().contains(SIGNATURE), "{}", whole.text());
        check_next_turn(caller, &gateway, &provider, &whole.json()).await;

        let streamed = gateway.ask(&turn(caller, &[], true)).await;
        let events = events_of(&streamed.text());
        assert!(!streamed.text().contains(SIGNATURE), "{}", streamed.text());
        check_next_turn(caller, &gateway, &provider, &assembled(caller, &events)).await;
    }
}

#[tokio::test]
async fn vertex_gets_no_ids_of_calls() {
    for caller in PROTOCOLS {
        let provider = answering(calls()).await;
        let mut config = config_for(caller.name(), &provider.url());
        let publisher = "projects/p/locations/l/publishers/google";
        config["channels"]["google"]["base_url"] = json!(format!("{}/{publisher}", provider.url()));
        let gateway = Gateway::start(&config).await;
        let first = gateway.ask(&turn(caller, &[], false)).await;
        check_next_turn(caller, &gateway, &provider, &first.json()).await;
        let (head, body) = last_request(&provider);
        assert!(
            head.starts_with(&format!("post /v1/{publisher}/models/")),
            "{head}"
        );
        let parts = body["contents"].as_array().unwrap().iter();
        let mut parts = parts.flat_map(|content| content["parts"].as_array().unwrap());
        let has_id = |part: &&Value| {
            let inner = part.get("functionCall").or(part.get("functionResponse"));
            inner.is_some_and(|inner| inner.get("id").is_some())
        };
        assert_eq!(parts.find(has_id), None, "{caller:?}: {body}");
    }
}

#[tokio::test]
async fn calls_of_another_model_are_marked_as_such_and_named() {
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":\"left\"}"}});
    let later = [
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "call_1", "content": "seen"}),
    ];
    for (model, mark) in [
        (
            "gemini-3-flash-preview",
            json!("skip_thought_signature_validator"),
        ),
        ("gemini-2.5-pro", Value::Null),
    ] {
        let provider = super::gemini(json!({"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]})).await;
        let mut config = config_for("chat", &provider.url());
        config["channels"]["google"]["models"]["demo-large"] = json!(model);
        let gateway = Gateway::start(&config).await;
        let response = gateway.ask(&turn(Protocol::Chat, &later, false)).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let (_, body) = last_request(&provider);
        assert_eq!(
            body["contents"][1]["parts"][0]["thoughtSignature"], mark,
            "{body}"
        );
        let translation = response.headers.get("x-headgate-translation").unwrap();
        assert_eq!(
            translation.contains("messages[].tool_calls[]"),
            mark.is_string(),
            "{translation}"
        );
    }
}
