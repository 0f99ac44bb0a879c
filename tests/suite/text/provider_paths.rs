//! Tests of declared protocols whose providers have the model in their path, too.

use crate::harness::caching::{OUTCOME, add_step};
use crate::harness::config::{self, channel};
use crate::harness::error_shape::assert_error_body;
use crate::harness::hostile_models::HOSTILE_MODELS;
use crate::harness::path_models::{GOOD_NAMES, fully_encoded, last_sent, set_models};
use crate::harness::request::{ANN, BOB};
use crate::harness::{Gateway, Request, ScriptedProvider, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 61\r\n\r\n{\"embedding\":{\"values\":[1]},\"result\":{},\"usage\":{\"tokens\":3}}";
const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
const BODY: &str =
    r#"{ "content": {"parts": [{"text": "a gate"}]}, "model": "models/of-the-body" }"#;

/// The standard configuration with two such protocols on a channel at `first`, and on one at `second` for failover.
fn declaring(first: &ScriptedProvider, second: &ScriptedProvider) -> Value {
    let mut config = config::standard("http://127.0.0.1:9");
    let declared = |path: &str, headers: Value| {
        json!({"path": path, "retry": "free", "headers": headers, "usage": {"input": "/tokens"},
            "success": {"embedding": "object", "result": "object"}})
    };
    config["protocols"] = json!({
        "embed": declared("/v1beta/models/{model}:embedContent", json!({"api_key": "x-goog-api-key"})),
        "run": declared("/ai/run/{+model}", json!({})),
    });
    let at = |provider: &ScriptedProvider, key: &str| {
        let base = format!("http://{}/base", provider.address);
        channel(
            &base,
            &["embed", "run"],
            json!({"header": {"name": "x-goog-api-key", "value": key}}),
        )
    };
    config["channels"] =
        json!({"first": at(first, "key-of-first"), "second": at(second, "key-of-second")});
    config["channels"]["second"]["tier"] = json!(1);
    config::without_cool_downs(&mut config);
    let request = json!(["authenticate", {"limit_body": "1MiB"}, "route_model", "rate_limit"]);
    config["routes"] = json!([
        {"name": "embed", "match": "POST /gemini/v1beta/models/{model}:embedContent", "protocol": "embed",
         "request": request, "response": ["meter_usage"]},
        {"name": "run", "match": "POST /run/{+model}", "protocol": "run", "request": request, "response": ["meter_usage"]},
    ]);
    config
}

fn embed(segment: &str) -> Request {
    Request::post(
        &format!("/gemini/v1beta/models/{segment}:embedContent"),
        BODY,
    )
}

#[tokio::test]
async fn the_provider_gets_its_own_path_with_the_channels_name() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let mut config = declaring(&provider, &provider);
    let models: Value = GOOD_NAMES
        .iter()
        .map(|(name, _)| ((*name).to_owned(), format!("x/{name}")))
        .collect();
    set_models(&mut config, &models);
    let gateway = Gateway::start(&config).await;
    for (name, segment) in GOOD_NAMES {
        let mut request = embed(segment);
        request.target.push_str("?alt=sse&key=stolen");
        let answer = gateway.ask(&request).await;
        assert_eq!(answer.status, 200, "{segment}: {}", answer.text());
        let (line, body) = last_sent(&provider);
        let path = line.split(' ').nth(1).unwrap();
        let sent = path.strip_prefix("/base/v1beta/models/");
        let sent = sent.and_then(|path| path.strip_suffix(":embedContent?alt=sse"));
        let sent = sent.unwrap_or_else(|| panic!("{path}"));
        assert!(!sent.contains(['/', ':', '?']), "{path}");
        assert_eq!(decoded(sent), format!("x/{name}"), "{path}");
        assert_eq!(body, BODY);
        let logged = gateway.log_of(&answer).await;
        assert_eq!(
            (&logged["model"], &logged["input_tokens"]),
            (&name.into(), &3.into())
        );
        let answer = gateway
            .ask(&Request::post(&format!("/run/{segment}"), BODY))
            .await;
        assert_eq!(answer.status, 200, "{segment}: {}", answer.text());
        let path = last_sent(&provider).0.split(' ').nth(1).unwrap().to_owned();
        assert_eq!(
            path.strip_prefix("/base/ai/run/").map(decoded),
            Some(format!("x/{name}"))
        );
        assert_eq!(
            path.matches('/').count(),
            5 + name.matches('/').count(),
            "{path}"
        );
    }
}

fn decoded(text: &str) -> String {
    headgate_protocol::percent_encoding::decoded(text).into_owned()
}

#[tokio::test]
async fn no_hostile_name_of_a_caller_or_of_a_channel_leads_to_a_request() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let mut config = declaring(&provider, &provider);
    set_models(&mut config, &json!({"*": "*"}));
    let gateway = Gateway::start(&config).await;
    let mut connection = gateway.connect().await;
    for name in HOSTILE_MODELS {
        let once = fully_encoded(name);
        for segment in [fully_encoded(&once), once] {
            for request in [
                embed(&segment),
                Request::post(&format!("/run/{segment}"), BODY),
                Request::post(&format!("/run/a/{segment}/b"), BODY),
            ] {
                let answer = connection.ask(&request).await;
                assert_error_body(Protocol::Chat, &answer, 400);
                if answer.headers.get("connection") == Some("close") {
                    connection = gateway.connect().await;
                }
            }
        }
    }
    assert!(provider.requests().is_empty());
    let names = HOSTILE_MODELS.iter().enumerate();
    let models: Value = names
        .map(|(index, name)| (format!("m{index}"), json!(name)))
        .collect();
    set_models(&mut config, &models);
    gateway.reload(&config).await;
    for index in 0..HOSTILE_MODELS.len() {
        let answer = gateway.ask(&embed(&format!("m{index}"))).await;
        assert_error_body(Protocol::Chat, &answer, 400);
    }
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn each_attempt_and_each_model_has_a_path_of_its_own() {
    let busy = ScriptedProvider::answering(BUSY).await;
    let good = ScriptedProvider::answering(ANSWER).await;
    let mut config = declaring(&busy, &good);
    config["channels"]["first"]["models"] = json!({"vectors": "one", "first": "alone"});
    config["channels"]["second"]["models"] = json!({"vectors": "two", "spare": "of/spare"});
    config["models"] = json!({"first": {"fallback": {"unavailable": "spare"}}});
    let gateway = Gateway::start(&config).await;
    for (model, tried, served) in [("vectors", "one", "two"), ("first", "alone", "of%2Fspare")] {
        let answer = gateway.ask(&embed(model)).await;
        assert_eq!(answer.status, 200, "{model}: {}", answer.text());
        for (provider, name) in [(&busy, tried), (&good, served)] {
            let line = last_sent(provider).0;
            let expected = format!("POST /base/v1beta/models/{name}:embedContent HTTP/1.1");
            assert_eq!(line, expected, "{model}");
        }
    }
    let key = embed("vectors").without("authorization");
    let answer = gateway
        .ask(&key.clone().header("x-goog-api-key", ANN))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let sent = good.requests().pop().unwrap();
    assert!(
        !sent.contains(ANN) && sent.contains("key-of-second"),
        "{sent}"
    );
    for (request, status) in [
        (key.clone().header("x-goog-api-key", BOB), 403),
        (key.header("x-goog-api-key", "sk-unknown"), 401),
        (embed("none"), 404),
    ] {
        assert_error_body(Protocol::Chat, &gateway.ask(&request).await, status);
    }
}

#[tokio::test]
async fn a_recorded_response_and_a_copy_are_those_of_the_model_in_the_path() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let copies = ScriptedProvider::answering(ANSWER).await;
    let mut config = declaring(&provider, &provider);
    let base = format!("http://{}/copies", copies.address);
    let mut mirrored = channel(&base, &["embed"], json!({"bearer": "sk-of-copies"}));
    mirrored["tier"] = json!(9);
    mirrored["models"] = json!({"demo-large": "copy/large"});
    config["channels"]["copies"] = mirrored;
    add_step(
        &mut config,
        "embed",
        json!({"mirror": {"channel": "copies"}}),
    );
    add_step(&mut config, "embed", json!({"cache": {"ttl": "1h"}}));
    let chain = &mut config::route(&mut config, "embed")["request"];
    chain
        .as_array_mut()
        .unwrap()
        .insert(0, json!("require_json"));
    let gateway = Gateway::start(&config).await;
    for (model, outcome, count) in [
        ("demo-large", "miss", 1),
        ("demo-small", "miss", 2),
        ("demo-large", "hit", 2),
        ("demo-small", "hit", 2),
    ] {
        let answer = gateway.ask(&embed(model)).await;
        assert_eq!(answer.headers.get(OUTCOME), Some(outcome), "{model}");
        assert_eq!(provider.requests().len(), count, "{model}");
    }
    let copy = eventually("a copy", async || copies.requests().pop()).await;
    let line = copy.lines().next().unwrap();
    assert_eq!(
        line,
        "POST /copies/v1beta/models/copy%2Flarge:embedContent HTTP/1.1"
    );
    assert!(copy.ends_with(BODY), "{copy}");
}
