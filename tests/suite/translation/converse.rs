//! Amazon Bedrock's models for callers of each protocol: a provider that frames its streams, and checks what a real one checks.

mod faults;
mod provider;
mod signatures;
mod temporary_keys;

use super::{events_of, last_request};
use crate::harness::error_shape::assert_error_body;
use crate::harness::hostile_models::HOSTILE_MODELS;
use crate::harness::{Gateway, PROTOCOLS, Request, ScriptedProvider, config};
use headgate_protocol::Protocol;
use provider::bedrock;
use serde_json::{Value, json};

const KEY: &str = "bedrock-api-key-canary-51b7";
const MODEL: &str =
    "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-v1:0";

/// A configuration whose route `route` has only channels of Bedrock, at these providers.
fn config_for(route: &str, providers: &[&str]) -> Value {
    let mut config = config::standard(providers[0]);
    let channels = providers.iter().enumerate().map(|(at, provider)| {
        let base_url = provider.trim_end_matches("/v1");
        let mut channel = config::channel(base_url, &["converse"], json!({"bearer": KEY}));
        channel["models"]["demo-large"] = json!(MODEL);
        (format!("bedrock-{at}"), channel)
    });
    config["channels"] = Value::Object(channels.collect());
    config["task_keys"] = json!(["a".repeat(32)]);
    config::without_cool_downs(&mut config);
    config::route(&mut config, route)["translate"] = json!(["converse"]);
    config
}

async fn gateway(route: Protocol, provider: &ScriptedProvider) -> Gateway {
    Gateway::start(&config_for(route.name(), &[&provider.url()])).await
}

/// A first question with a tool, or the turn after it: with what the caller received, and the results.
fn question(caller: Protocol, received: Option<&Value>, stream: bool) -> Request {
    let results = |field: &str, kind: &str, text: &str| {
        let result = move |id: &str| json!({"type": kind, field: id, text: "sun"});
        [result("tooluse_1"), result("tooluse_2")]
    };
    let body = match caller {
        Protocol::Chat => {
            let mut messages = vec![json!({"role": "user", "content": "Weather?"})];
            if let Some(received) = received {
                messages.push(received["choices"][0]["message"].clone());
                let result =
                    |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "sun"});
                messages.extend(["tooluse_1", "tooluse_2"].map(result));
            }
            json!({"model": "demo-large", "stream": stream, "messages": messages,
                "tools": [{"type": "function", "function": {"name": "look"}}]})
        }
        Protocol::Messages => {
            let mut messages = vec![json!({"role": "user", "content": "Weather?"})];
            if let Some(received) = received {
                messages.push(json!({"role": "assistant", "content": received["content"]}));
                let results = results("tool_use_id", "tool_result", "content");
                messages.push(json!({"role": "user", "content": results}));
            }
            json!({"model": "demo-large", "max_tokens": 64, "stream": stream, "messages": messages,
                "tools": [{"name": "look", "input_schema": {"type": "object"}}]})
        }
        _ => {
            let mut input = vec![json!({"role": "user", "content": "Weather?"})];
            if let Some(received) = received {
                input.extend(received["output"].as_array().unwrap().clone());
                input.extend(results("call_id", "function_call_output", "output"));
            }
            json!({"model": "demo-large", "store": false, "stream": stream, "input": input,
                "tools": [{"type": "function", "name": "look"}]})
        }
    };
    Request::to(caller, body.to_string())
}

/// Thoughts, a text and two calls.
fn calls() -> Value {
    let call =
        |id: &str| json!({"toolUse": {"toolUseId": id, "name": "look", "input": {"at": id}}});
    json!([
        {"reasoningContent": {"reasoningText": {"text": "I look twice.", "signature": "c2ln"}}},
        {"text": "Two calls."}, call("tooluse_1"), call("tooluse_2")
    ])
}

#[tokio::test]
async fn callers_of_each_protocol_use_tools_and_give_thoughts_back() {
    for caller in PROTOCOLS {
        let provider = bedrock(calls(), "tool_use").await;
        let gateway = gateway(caller, &provider).await;
        let first = gateway.ask(&question(caller, None, false)).await;
        assert_eq!(first.status, 200, "{}", first.text());
        let (head, body) = last_request(&provider);
        let path = "post /model/arn%3aaws%3abedrock%3aeu-west-1%3a123456789012%3ainference-profile%2feu.anthropic.claude-sonnet-4-v1%3a0/converse http";
        assert!(head.starts_with(path), "{head}");
        assert!(
            head.contains(&format!("authorization: bearer {KEY}")),
            "{head}"
        );
        assert_eq!((body.get("model"), body.get("stream")), (None, None));
        let first = first.json();
        assert!(first.to_string().contains("Two calls.") && !first.to_string().contains("c2ln"));
        let usage = &first["usage"];
        let input = [&usage["prompt_tokens"], &usage["input_tokens"]];
        assert!(
            input.contains(&&json!(if caller == Protocol::Messages { 10 } else { 17 })),
            "{usage}"
        );

        let second = gateway.ask(&question(caller, Some(&first), false)).await;
        assert_eq!(second.status, 200, "{}", second.text());
        let (_, body) = last_request(&provider);
        assert_eq!(body["messages"][1]["content"], calls());
        assert_eq!(body["messages"][2]["content"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn a_stream_of_frames_is_a_stream_of_each_caller() {
    for caller in PROTOCOLS {
        let provider = bedrock(calls(), "tool_use").await;
        let gateway = gateway(caller, &provider).await;
        let response = gateway.ask(&question(caller, None, true)).await;
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(
            response.headers.get("content-type"),
            Some("text/event-stream")
        );
        let text = response.text();
        let events = events_of(&text);
        let (name, last) = events.last().unwrap();
        match caller {
            Protocol::Chat => assert_eq!(last, "[DONE]"),
            Protocol::Messages => assert_eq!(name, "message_stop"),
            _ => assert_eq!(name, "response.completed"),
        }
        for piece in ["I look twice.", "Two c", "alls.", "tooluse_1", "tooluse_2"] {
            assert!(text.contains(piece), "{caller:?} {piece}: {text}");
        }
        let (head, _) = last_request(&provider);
        assert!(
            head.lines().next().unwrap().contains("/converse-stream "),
            "{head}"
        );
    }
}

#[tokio::test]
async fn a_model_whose_name_leads_elsewhere_is_refused_before_it_is_sent() {
    let provider = bedrock(json!([{"text": "Hello."}]), "end_turn").await;
    let mut config = config_for("chat", &[&provider.url()]);
    config["channels"]["bedrock-0"]["models"] = json!({"b/*": "*"});
    config["channels"]["bedrock-0"]["unpriced"] = json!("allow");
    let gateway = Gateway::start(&config).await;
    let ask = |name: &str| {
        let messages = json!([{"role": "user", "content": "Hi"}]);
        let body = json!({"model": format!("b/{name}"), "messages": messages});
        Request::to(Protocol::Chat, body.to_string())
    };
    for name in HOSTILE_MODELS {
        // No pattern matches a name with control characters.
        let status = if name.contains(char::is_control) {
            404
        } else {
            400
        };
        assert_error_body(Protocol::Chat, &gateway.ask(&ask(name)).await, status);
    }
    assert_eq!(provider.requests().len(), 0);
    let response = gateway.ask(&ask("a b/ü:x")).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let (head, _) = last_request(&provider);
    let path = "post /model/a%20b%2f%c3%bc%3ax/converse http/1.1";
    assert!(head.starts_with(path), "{head}");
}

#[tokio::test]
async fn what_a_profile_takes_is_in_a_dialect() {
    let provider = bedrock(json!([{"text": "Hello."}]), "end_turn").await;
    let mut config = config_for("messages", &[&provider.url()]);
    let channel = &mut config["channels"]["bedrock-0"];
    let profile = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2";
    channel["models"]["demo-large"] = json!(profile);
    let mut request = json!({"model": "demo-large", "max_tokens": 9, "top_k": 5, "messages": [{"role": "user", "content": "Hi"}]});
    let plain = Gateway::start(&config).await;
    let response = plain
        .ask(&Request::to(Protocol::Messages, request.to_string()))
        .await;
    assert_error_body(Protocol::Messages, &response, 400);
    assert!(response.text().contains("top_k"), "{}", response.text());

    config["channels"]["bedrock-0"]["dialect"] = json!({"models": [{
        "names": ["*:application-inference-profile/a1b2"],
        "converse": {"family": "claude"},
        "messages": {"lacks": {"temperature": "approximated"}}}]});
    let gateway = Gateway::start(&config).await;
    request["temperature"] = json!(0.5);
    let response = gateway
        .ask(&Request::to(Protocol::Messages, request.to_string()))
        .await;
    assert_eq!(response.status, 200, "{}", response.text());
    let (_, body) = last_request(&provider);
    assert_eq!(body["additionalModelRequestFields"], json!({"top_k": 5}));
    assert_eq!(body["inferenceConfig"], json!({"maxTokens": 9}));
    let loss = response.headers.get("x-headgate-translation").unwrap();
    assert!(loss.contains("approximated=temperature"), "{loss}");
}
