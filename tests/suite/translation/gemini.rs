//! Gemini's models for callers of each protocol: a provider that checks what a real one checks.

mod errors;
mod provider;
mod tools;

use super::{events_of, last_request};
use crate::harness::error_shape::assert_error_body;
use crate::harness::hostile_models::HOSTILE_MODELS;
use crate::harness::http_response::json_response;
use crate::harness::{Gateway, PROTOCOLS, Request, ScriptedProvider, config};
use headgate_protocol::Protocol;
use provider::{GeminiAnswer, answering, gemini};
use serde_json::{Value, json};

const KEY: &str = "AIza-canary-9c1f";
const MODEL: &str = "gemini-3-flash-preview";

/// A configuration whose route `route` has only a channel of Gemini.
fn config_for(route: &str, provider: &str) -> Value {
    let mut config = config::standard(provider);
    let credential = json!({"header": {"name": "x-goog-api-key", "value": KEY}});
    let mut channel = config::channel(provider, &["gemini"], credential);
    channel["models"]["demo-large"] = json!(MODEL);
    config["channels"] = json!({"google": channel});
    config["task_keys"] = json!(["a".repeat(32)]);
    config::without_cool_downs(&mut config);
    config::route(&mut config, route)["translate"] = json!(["gemini"]);
    config
}

async fn gateway(route: Protocol, provider: &ScriptedProvider) -> Gateway {
    Gateway::start(&config_for(route.name(), &provider.url())).await
}

/// What a caller got of a response, whole or as a stream.
#[derive(Debug, Default)]
struct CallerView {
    text: String,
    finish: Value,
    input: Value,
    cached: Value,
    output: Value,
}

fn view_of_whole(caller: Protocol, body: &Value) -> CallerView {
    let usage = &body["usage"];
    match caller {
        Protocol::Chat => CallerView {
            text: body["choices"][0]["message"]["content"]
                .as_str()
                .unwrap_or_default()
                .into(),
            finish: body["choices"][0]["finish_reason"].clone(),
            input: usage["prompt_tokens"].clone(),
            cached: usage["prompt_tokens_details"]["cached_tokens"].clone(),
            output: usage["completion_tokens"].clone(),
        },
        Protocol::Messages => CallerView {
            text: joined_texts(&body["content"], "text"),
            finish: body["stop_reason"].clone(),
            input: usage["input_tokens"].clone(),
            cached: usage["cache_read_input_tokens"].clone(),
            output: usage["output_tokens"].clone(),
        },
        _ => CallerView {
            text: body["output"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|item| item["type"] == "message")
                .map(|item| joined_texts(&item["content"], "output_text"))
                .collect(),
            finish: body["status"].clone(),
            input: usage["input_tokens"].clone(),
            cached: usage["input_tokens_details"]["cached_tokens"].clone(),
            output: usage["output_tokens"].clone(),
        },
    }
}

fn joined_texts(parts: &Value, kind: &str) -> String {
    let parts = parts.as_array().into_iter().flatten();
    let texts = parts.filter(|part| part["type"] == kind);
    texts
        .map(|part| part["text"].as_str().unwrap_or_default())
        .collect()
}

fn view_of_stream(caller: Protocol, events: &[(String, Value)]) -> CallerView {
    let values: Vec<&Value> = events.iter().map(|(_, event)| event).collect();
    match caller {
        Protocol::Chat => {
            let text = |event: &&Value| {
                event["choices"][0]["delta"]["content"]
                    .as_str()
                    .map(str::to_owned)
            };
            let finish = values
                .iter()
                .find_map(|event| event["choices"][0]["finish_reason"].as_str());
            assert_eq!(values.last(), Some(&&json!("[DONE]")));
            CallerView {
                text: values.iter().filter_map(text).collect(),
                finish: json!(finish),
                ..CallerView::default()
            }
        }
        Protocol::Messages => {
            let (name, _) = events.last().unwrap();
            assert_eq!(name, "message_stop");
            let last = values
                .iter()
                .find(|event| event["type"] == "message_delta")
                .unwrap();
            let text = |event: &&Value| event["delta"]["text"].as_str().map(str::to_owned);
            CallerView {
                text: values.iter().filter_map(text).collect(),
                finish: last["delta"]["stop_reason"].clone(),
                input: last["usage"]["input_tokens"].clone(),
                cached: last["usage"]["cache_read_input_tokens"].clone(),
                output: last["usage"]["output_tokens"].clone(),
            }
        }
        _ => {
            let (name, last) = events.last().unwrap();
            assert_eq!(name, "response.completed");
            view_of_whole(caller, &last["response"])
        }
    }
}

fn answer() -> GeminiAnswer {
    GeminiAnswer {
        parts: vec![
            json!({"text": "The user greets.", "thought": true}),
            json!({"text": "Hel"}),
            json!({"text": "lo \u{1f44b}", "thoughtSignature": "U2lnbmF0dXJl"}),
        ],
        finish: "STOP",
        usage: json!({"promptTokenCount": 20, "cachedContentTokenCount": 5, "candidatesTokenCount": 7,
            "thoughtsTokenCount": 11, "totalTokenCount": 38}),
    }
}

#[tokio::test]
async fn gemini_serves_callers_of_each_protocol() {
    for caller in PROTOCOLS {
        let provider = answering(answer()).await;
        let gateway = gateway(caller, &provider).await;
        let pair = format!("{}->gemini", caller.name());

        let whole = gateway.ask(&Request::ask(caller)).await;
        assert_eq!(whole.status, 200, "{pair}: {}", whole.text());
        let view = view_of_whole(caller, &whole.json());
        assert_eq!(view.text, "Hello \u{1f44b}", "{pair}: {}", whole.text());
        // That of messages does not count what was read from the cache.
        let input = if caller == Protocol::Messages { 15 } else { 20 };
        assert_eq!(
            (view.input, view.cached, view.output),
            (json!(input), json!(5), json!(18)),
            "{pair}"
        );
        let translation = whole.headers.get("x-headgate-translation");
        assert!(
            translation.is_some_and(|it| it.starts_with(&pair)),
            "{translation:?}"
        );
        let (head, body) = last_request(&provider);
        let path = format!("post /v1/models/{MODEL}:generatecontent http/1.1");
        assert!(head.starts_with(&path), "{head}");
        assert!(
            head.contains(&format!("x-goog-api-key: {}", KEY.to_lowercase())),
            "{head}"
        );
        assert_eq!(body["contents"][0]["role"], "user", "{body}");
        assert_eq!(body.get("model"), None);
        assert_usage(&gateway.log_of(&whole).await);

        let streamed = gateway.ask(&Request::ask_stream(caller)).await;
        assert_eq!(streamed.status, 200, "{pair}: {}", streamed.text());
        let view = view_of_stream(caller, &events_of(&streamed.text()));
        assert_eq!(view.text, "Hello \u{1f44b}", "{pair}: {}", streamed.text());
        if caller != Protocol::Chat {
            assert_eq!(
                (view.input, view.cached, view.output),
                (json!(input), json!(5), json!(18)),
                "{pair}"
            );
        }
        let finish = match caller {
            Protocol::Chat => "stop",
            Protocol::Messages => "end_turn",
            _ => "completed",
        };
        assert_eq!(view.finish, finish, "{pair}: {}", streamed.text());
        let (head, _) = last_request(&provider);
        let path = format!("post /v1/models/{MODEL}:streamgeneratecontent?alt=sse http/1.1");
        assert!(head.starts_with(&path), "{head}");
        assert_usage(&gateway.log_of(&streamed).await);
    }
}

/// The counts of the provider: thoughts are part of the output, and cached tokens of the input.
fn assert_usage(log: &Value) {
    assert_eq!(log["settlement"], "complete", "{log}");
    for (name, count) in [
        ("input_tokens", 20),
        ("output_tokens", 18),
        ("cached_input_tokens", 5),
        ("reasoning_tokens", 11),
    ] {
        assert_eq!(log[name], count, "{name}: {log}");
    }
}

#[tokio::test]
async fn a_model_whose_name_leads_elsewhere_is_refused_before_it_is_sent() {
    let provider = answering(answer()).await;
    let mut config = config_for("chat", &provider.url());
    config["channels"]["google"]["models"] = json!({"g/*": "*"});
    config["channels"]["google"]["unpriced"] = json!("allow");
    let gateway = Gateway::start(&config).await;
    for name in HOSTILE_MODELS {
        // No pattern matches a name with control characters.
        let status = if name.contains(char::is_control) {
            404
        } else {
            400
        };
        let body =
            json!({"model": format!("g/{name}"), "messages": [{"role": "user", "content": "Hi"}]});
        let request = Request::to(Protocol::Chat, body.to_string());
        assert_error_body(Protocol::Chat, &gateway.ask(&request).await, status);
    }
    assert_eq!(provider.requests().len(), 0);
    let body = json!({"model": "g/a b/ü:x", "messages": [{"role": "user", "content": "Hi"}]});
    let response = gateway
        .ask(&Request::to(Protocol::Chat, body.to_string()))
        .await;
    assert_eq!(response.status, 200, "{}", response.text());
    let (head, _) = last_request(&provider);
    let path = "post /v1/models/a%20b%2f%c3%bc:x:generatecontent http/1.1";
    assert!(head.starts_with(path), "{head}");
}

#[tokio::test]
async fn gemini_serves_after_another_protocol_failed_and_the_other_way_round() {
    let completion = json!({"id": "chatcmpl-7", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "chat"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}});
    let busy = json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
    for (chat, google, expected) in [
        (
            (503, json!({"error": {"message": "Busy."}})),
            None,
            "Hello \u{1f44b}",
        ),
        ((200, completion), Some((503, busy)), "chat"),
    ] {
        let chat = ScriptedProvider::answering(json_response(chat.0, chat.1)).await;
        let google = match google {
            None => answering(answer()).await,
            Some((status, body)) => ScriptedProvider::answering(json_response(status, body)).await,
        };
        let mut config = config_for("messages", &google.url());
        let credential = json!({"bearer": config::CREDENTIALS[0]});
        config["channels"]["chat"] = config::channel(&chat.url(), &["chat"], credential);
        config["channels"]["google"]["tier"] = json!(if expected == "chat" { 0 } else { 1 });
        config["channels"]["chat"]["tier"] = json!(if expected == "chat" { 1 } else { 0 });
        config::route(&mut config, "messages")["translate"] = json!(["gemini", "chat"]);
        config::without_cool_downs(&mut config);
        let gateway = Gateway::start(&config).await;
        let response = gateway.ask(&Request::ask(Protocol::Messages)).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let view = view_of_whole(Protocol::Messages, &response.json());
        assert_eq!(view.text, expected);
        assert!(!chat.requests().is_empty() && !google.requests().is_empty());
    }
}

#[tokio::test]
async fn a_blocked_prompt_is_a_refusal() {
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 4, "totalTokenCount": 4}});
    for (caller, finish) in [
        (Protocol::Chat, "content_filter"),
        (Protocol::Messages, "refusal"),
        (Protocol::Responses, "incomplete"),
    ] {
        let provider = gemini(blocked.clone()).await;
        let gateway = gateway(caller, &provider).await;
        let whole = gateway.ask(&Request::ask(caller)).await;
        assert_eq!(whole.status, 200, "{}", whole.text());
        assert_eq!(
            view_of_whole(caller, &whole.json()).finish,
            finish,
            "{}",
            whole.text()
        );
        let streamed = gateway.ask(&Request::ask_stream(caller)).await;
        assert_eq!(streamed.status, 200, "{}", streamed.text());
        assert!(streamed.text().contains(finish), "{}", streamed.text());
        assert_eq!(gateway.log_of(&streamed).await["settlement"], "complete");
    }
}
