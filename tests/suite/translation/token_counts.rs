//! Requests for the number of tokens, on channels of other protocols.

use super::{config_for, last_request};
use crate::harness::error_shape::assert_error_body;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::http_response::json_response;
use crate::harness::{Gateway, Request, ScriptedProvider, config};
use crate::observability::status::run;
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const COUNT_TOKENS: &str = "/v1/messages/count_tokens";
const INPUT_TOKENS: &str = "/v1/responses/input_tokens";

fn messages_count(more: Value) -> Request {
    let mut body = json!({"model": "demo-large", "messages": [{"role": "user", "content": "Hello"}],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}]});
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    Request::post(COUNT_TOKENS, body.to_string()).header("anthropic-version", "2023-06-01")
}

fn responses_count(more: Value) -> Request {
    let mut body = json!({"model": "demo-large", "input": "Hello", "instructions": "Be brief."});
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    Request::post(INPUT_TOKENS, body.to_string())
}

/// A configuration whose channel speaks `channel`, and whose routes for counts are translated into that.
fn counting(channel: &str, provider: &str) -> Value {
    let other = match channel {
        "messages" => "responses",
        _ => "messages",
    };
    let mut config = config_for(other, channel, provider);
    let routes = config["routes"].as_array_mut().unwrap();
    routes.push(
        json!({"name": "input_tokens", "match": format!("POST {INPUT_TOKENS}"),
        "protocol": "responses", "request": [{"use": "body"}]}),
    );
    for (route, protocol) in [("count_tokens", "messages"), ("input_tokens", "responses")] {
        if protocol != channel {
            config::route(&mut config, route)["translate"] = json!([channel]);
        }
    }
    config
}

#[tokio::test]
async fn a_channel_without_counts_gets_nothing_and_the_caller_an_estimate_that_is_named() {
    let provider = ScriptedProvider::answering(Vec::new()).await;
    let gateway = Gateway::start(&counting("chat", &provider.url())).await;
    for (request, pair, object) in [
        (messages_count(json!({})), "messages->chat", Value::Null),
        (
            responses_count(json!({})),
            "responses->chat",
            json!("response.input_tokens"),
        ),
    ] {
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let counted = response.json();
        let tokens = counted["input_tokens"].as_u64().unwrap();
        assert!((10..60).contains(&tokens), "{counted}");
        assert_eq!(counted["object"], object);
        let header = response.headers.get("x-headgate-token-count");
        assert_eq!(header, Some("estimate"));
        let log = gateway.log_of(&response).await;
        assert_eq!(
            log["translation"],
            format!("{pair}; token_count=estimate"),
            "{log}"
        );
        assert_eq!(log["settlement"], "gateway_reply", "{log}");
    }
    assert_eq!(provider.requests().len(), 0);
}

#[tokio::test]
async fn a_provider_of_another_protocol_counts_with_its_own_call() {
    let counted = json!({"object": "response.input_tokens", "input_tokens": 42});
    let provider = ScriptedProvider::answering(json_response(200, &counted)).await;
    let gateway = Gateway::start(&counting("responses", &provider.url())).await;
    let response = gateway.ask(&messages_count(json!({"max_tokens": 9}))).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.json(), json!({"input_tokens": 42}));
    assert_eq!(response.headers.get("x-headgate-token-count"), None);
    let (head, body) = last_request(&provider);
    assert!(
        head.starts_with("post /v1/responses/input_tokens http"),
        "{head}"
    );
    assert_eq!(body["model"], "sim-large-2026-08");
    assert_eq!(body["tools"][0]["name"], "f");
    for member in ["store", "max_output_tokens", "stream", "include"] {
        assert_eq!(body[member], Value::Null, "{member}: {body}");
    }

    let provider =
        ScriptedProvider::answering(json_response(200, json!({"input_tokens": 42}))).await;
    let gateway = Gateway::start(&counting("messages", &provider.url())).await;
    let response = gateway.ask(&responses_count(json!({}))).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.json(), counted);
    let (head, body) = last_request(&provider);
    assert!(
        head.starts_with("post /v1/messages/count_tokens http"),
        "{head}"
    );
    assert!(head.contains("anthropic-version"), "{head}");
    assert_eq!(body["max_tokens"], Value::Null, "{body}");
    assert_eq!(body["messages"][0]["role"], "user");
}

#[tokio::test]
async fn a_response_without_a_count_is_an_error_and_no_number_is_invented() {
    let provider = ScriptedProvider::answering(json_response(200, json!({"tokens": 42}))).await;
    let gateway = Gateway::start(&counting("responses", &provider.url())).await;
    let response = gateway.ask(&messages_count(json!({}))).await;
    assert_error_body(Protocol::Messages, &response, 502);
}

#[tokio::test]
async fn a_channel_that_counts_precedes_an_estimate_also_in_a_later_tier() {
    let counted = json!({"object": "response.input_tokens", "input_tokens": 42});
    let provider = ScriptedProvider::answering(json_response(200, counted)).await;
    let mut config = counting("chat", &provider.url());
    let credential = json!({"bearer": config::CREDENTIALS[0]});
    let mut later = config::channel(&provider.url(), &["responses"], credential);
    later["tier"] = json!(1);
    config["channels"]["later"] = later;
    config::route(&mut config, "count_tokens")["translate"] = json!(["chat", "responses"]);
    let gateway = Gateway::start(&config).await;
    let response = gateway.ask(&messages_count(json!({}))).await;
    assert_eq!(response.json(), json!({"input_tokens": 42}));
    assert_eq!(response.headers.get("x-headgate-token-count"), None);
}

#[tokio::test]
async fn what_a_translation_refuses_is_not_counted_either() {
    let provider = ScriptedProvider::answering(Vec::new()).await;
    let gateway = Gateway::start(&counting("chat", &provider.url())).await;
    let search = json!([{"type": "web_search_20250305", "name": "web_search"}]);
    let refused = gateway.ask(&messages_count(json!({"tools": search}))).await;
    assert_error_body(Protocol::Messages, &refused, 400);
    assert!(refused.text().contains("tools[0]"), "{}", refused.text());
    let stored = json!({"previous_response_id": "resp_1"});
    let refused = gateway.ask(&responses_count(stored)).await;
    assert_error_body(Protocol::Responses, &refused, 400);
}

#[tokio::test]
async fn an_estimate_spends_no_tokens_of_a_limit_and_counts_as_a_request() {
    let provider = ScriptedProvider::answering(Vec::new()).await;
    let mut config = counting("chat", &provider.url());
    let steps = config::route(&mut config, "count_tokens")["request"].as_array_mut();
    steps.unwrap().push(json!("rate_limit"));
    config["callers"][0]["limits"] =
        json!({"requests_per_minute": 3, "tokens_per_minute": 100_000});
    let gateway = Gateway::start(&config).await;
    let long = json!({"messages": [{"role": "user", "content": "word ".repeat(60_000)}]});
    for _ in 0..3 {
        // Each one reserves most of the limit.
        let response = gateway.ask(&messages_count(long.clone())).await;
        assert_eq!(response.status, 200, "{}", response.text());
    }
    let response = gateway.ask(&messages_count(long)).await;
    assert_error_body(Protocol::Messages, &response, 429);
}

#[tokio::test]
async fn a_count_reserves_no_tokens_whoever_counts() {
    for channel in ["chat", "responses", "messages"] {
        let counted = json!({"object": "response.input_tokens", "input_tokens": 42});
        let provider = ScriptedProvider::answering(json_response(200, counted)).await;
        let mut config = counting(channel, &provider.url());
        let steps = config::route(&mut config, "count_tokens")["request"].as_array_mut();
        steps.unwrap().push(json!("rate_limit"));
        config["callers"][0]["limits"] =
            json!({"requests_per_minute": 9, "tokens_per_minute": 1000});
        let gateway = Gateway::start(&config).await;
        let long = json!({"messages": [{"role": "user", "content": "word ".repeat(60_000)}]});
        for requests_left in ["8", "7"] {
            let response = gateway.ask(&messages_count(long.clone())).await;
            assert_eq!(response.status, 200, "{channel}: {}", response.text());
            let left = |kind: &str| {
                response
                    .headers
                    .get(&format!("anthropic-ratelimit-{kind}-remaining"))
            };
            assert_eq!(left("tokens"), Some("1000"), "{channel}");
            assert_eq!(left("requests"), Some(requests_left), "{channel}");
        }
    }
}

#[test]
fn explain_prints_the_estimate() {
    let folder = folder_with_schemas();
    let config = counting("chat", "http://127.0.0.1:9");
    let file = folder.write("routes.yaml", config.to_string());
    let body = r#"{"model":"demo-large","messages":[{"role":"user","content":"hello"}]}"#;
    let file = file.to_str().unwrap();
    let (code, text, errors) = run(
        &["explain", COUNT_TOKENS, "-d", body, "--config", file],
        &[],
    );
    assert_eq!((code, &*errors), (0, ""), "{text}");
    assert!(text.contains("local reply with status 200"), "{text}");
    assert!(text.contains("\"input_tokens\":"), "{text}");
    assert!(!text.contains("chat/completions"), "{text}");
}
