//! Tests of requests that name the model in their path, for providers that read it in the body.

use crate::harness::caching::{OUTCOME, add_step};
use crate::harness::config::{self, channel};
use crate::harness::error_shape::assert_error_body;
use crate::harness::hostile_models::HOSTILE_MODELS;
use crate::harness::path_models::{
    GOOD_NAMES, azure_chat, chat_body, deployment, deployments, fully_encoded, last_sent,
    set_models,
};
use crate::harness::request::BOB;
use crate::harness::{Gateway, Request, ScriptedProvider, Simulator, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

pub const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 38\r\n\r\n{\"id\":\"chat_1\",\"choices\":[],\"usage\":0}";

#[tokio::test]
async fn the_model_of_the_path_is_decoded_once_and_sent_in_the_body() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let mut config = deployments(&format!("http://{}/v1", provider.address));
    let there = |name: &str| format!("there {name}");
    let models: Value = GOOD_NAMES
        .iter()
        .map(|(name, _)| ((*name).to_owned(), there(name)))
        .collect();
    set_models(&mut config, &models);
    let gateway = Gateway::start(&config).await;
    for (name, segment) in GOOD_NAMES {
        let answer = gateway.ask(&azure_chat(segment, &chat_body())).await;
        assert_eq!(answer.status, 200, "{segment}: {}", answer.text());
        let (line, body) = last_sent(&provider);
        assert_eq!(line, "POST /v1/chat/completions HTTP/1.1", "{segment}");
        let mut expected = chat_body();
        expected["model"] = there(name).into();
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body, expected, "{segment}");
        let logged = gateway.log_of(&answer).await;
        assert_eq!(logged["model"], name, "{logged}");
    }
}

#[tokio::test]
async fn the_model_of_the_body_gives_way_to_that_of_the_path() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let gateway = Gateway::start(&deployments(&format!("http://{}/v1", provider.address))).await;
    let ask = async |body: &str| {
        let request = azure_chat("demo-large", &json!(null)).with_body(body.into());
        gateway.ask(&request).await
    };
    for (sent, expected) in [
        (
            r#"{"model": "demo-large",  "messages": [{"role":"user","content":"é"}]}"#,
            r#"{"model": "sim-large-2026-08",  "messages": [{"role":"user","content":"é"}]}"#,
        ),
        (
            r#"{"messages":[{"role":"user","content":"x"}] , "model" : "demo-small", "n":1}"#,
            r#"{"messages":[{"role":"user","content":"x"}] , "model" : "sim-large-2026-08", "n":1}"#,
        ),
        (
            r#"{"model":"no-such","messages":[{"role":"user","content":"x"}]}"#,
            r#"{"model":"sim-large-2026-08","messages":[{"role":"user","content":"x"}]}"#,
        ),
        (
            r#"{"messages":[{"role":"user","content":"x"}]}"#,
            r#"{"messages":[{"role":"user","content":"x"}],"model":"sim-large-2026-08"}"#,
        ),
    ] {
        let answer = ask(sent).await;
        assert_eq!(answer.status, 200, "{sent}: {}", answer.text());
        assert_eq!(last_sent(&provider).1, expected, "{sent}");
    }
    let before = provider.requests().len();
    for sent in [
        r#"{"model":null,"messages":[{"role":"user","content":"x"}]}"#,
        r#"{"model":"","messages":[{"role":"user","content":"x"}]}"#,
        r#"{"model":["demo-small"],"messages":[{"role":"user","content":"x"}]}"#,
        r#"{"Model":"demo-small","messages":[{"role":"user","content":"x"}]}"#,
        r#"{"model":"demo-large","model":"demo-small","messages":[]}"#,
        r#"{"model":"demo-large"}"#,
        r#"[]"#,
        "",
    ] {
        assert_error_body(Protocol::Chat, &ask(sent).await, 400);
    }
    assert_eq!(provider.requests().len(), before);
}

#[tokio::test]
async fn neither_the_key_of_the_caller_nor_the_version_of_its_api_reaches_the_provider() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let gateway = Gateway::start(&deployments(&format!("http://{}/v1", provider.address))).await;
    let request = azure_chat("demo-large", &chat_body());
    let key = request.headers.last().unwrap().1.clone();
    let request = request.header("x-trace", &key);
    assert_eq!(gateway.ask(&request).await.status, 200);
    let sent = provider.requests().pop().unwrap().to_ascii_lowercase();
    assert!(!sent.contains(&key), "{sent}");
    for absent in ["api-key", "x-trace", "api-version", "openai/deployments"] {
        assert!(!sent.contains(absent), "{absent}: {sent}");
    }
    assert!(sent.contains("authorization: bearer sk-upstream-openai"));
    let before = provider.requests().len();
    let other = request.clone().header("Authorization", "Bearer sk-other");
    assert_error_body(Protocol::Chat, &gateway.ask(&other).await, 401);
    let twice = request.clone().header("api-key", &key);
    assert_error_body(Protocol::Chat, &gateway.ask(&twice).await, 401);
    let mut in_query = request.without("api-key");
    in_query.target.push_str(&format!("&api-key={key}"));
    assert_error_body(Protocol::Chat, &gateway.ask(&in_query).await, 401);
    assert_eq!(provider.requests().len(), before);
}

#[tokio::test]
async fn no_hostile_name_in_the_path_leads_to_a_request_of_a_provider() {
    let simulator = Simulator::start().await;
    let mut config = deployments(&simulator.url());
    set_models(&mut config, &json!({"*": "*"}));
    let gateway = Gateway::start(&config).await;
    let mut connection = gateway.connect().await;
    for name in HOSTILE_MODELS {
        let once = fully_encoded(name);
        for segment in [fully_encoded(&once), once] {
            let answer = connection.ask(&azure_chat(&segment, &chat_body())).await;
            assert_error_body(Protocol::Chat, &answer, 400);
            if answer.headers.get("connection") == Some("close") {
                connection = gateway.connect().await;
            }
        }
    }
    assert!(simulator.records().await.is_empty());
    let answer = gateway.ask(&azure_chat("good", &chat_body())).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn a_model_that_the_caller_may_not_use_is_refused_in_the_format_of_its_protocol() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&deployments(&simulator.url())).await;
    let message = json!({"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]});
    for (protocol, endpoint, body) in [
        (Protocol::Chat, "chat/completions", chat_body()),
        (Protocol::Messages, "messages", message),
    ] {
        for (model, key, status) in [
            ("demo-large", BOB, 403),
            ("demo-lage", BOB, 404),
            ("demo-small", "sk-unknown", 401),
        ] {
            let request = Request::post(&deployment(model, endpoint), body.to_string());
            let request = request.without("authorization").header("api-key", key);
            let answer = gateway.ask(&request).await;
            let message = assert_error_body(protocol, &answer, status);
            assert!(status == 401 || message.contains(model), "{message}");
        }
    }
    assert!(simulator.records().await.is_empty());
    let request = Request::post(&deployment("demo-small", "messages"), {
        json!({"model": "demo-large", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}).to_string()
    });
    // A model of the body that the caller may not use is not the one that is used.
    let request = request.header("anthropic-version", "2023-06-01");
    let answer = gateway.ask(&request.key(BOB)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let sent: Value = serde_json::from_slice(&simulator.last_body().await).unwrap();
    assert_eq!(sent["model"], "sim-small-2026-08");
}

#[tokio::test]
async fn a_stream_a_failover_and_another_model_work_as_on_other_routes() {
    let simulator = Simulator::start().await;
    let mut config = deployments(&simulator.url());
    let mut failing = channel(
        &simulator.url_obeying("status=503"),
        &["chat"],
        json!({"bearer": "sk-1"}),
    );
    failing["models"] =
        json!({"demo-large": "failing-large", "first": "failing-first", "team/*": "failing-*"});
    let models =
        json!({"demo-large": "sim-large-2026-08", "second": "second there", "team/*": "sim/*"});
    config["channels"]["openai"]["models"] = models;
    config["channels"]["openai"]["unpriced"] = json!("allow");
    failing["unpriced"] = json!("allow");
    config["channels"]["openai"]["tier"] = json!(1);
    config["channels"]["failing"] = failing;
    config["models"] = json!({"first": {"fallback": {"unavailable": "second"}}});
    config::without_cool_downs(&mut config);
    let gateway = Gateway::start(&config).await;
    for (segment, sent) in [
        ("demo-large", "sim-large-2026-08"),
        ("first", "second there"),
        ("team%2Fa%2Fb", "sim/a/b"),
    ] {
        let mut body = chat_body();
        body["stream"] = json!(true);
        body["stream_options"] = json!({"include_usage": true});
        let answer = gateway.ask(&azure_chat(segment, &body)).await;
        assert_eq!(answer.status, 200, "{segment}: {}", answer.text());
        assert!(answer.text().ends_with("data: [DONE]\n\n"), "{segment}");
        let line = gateway.log_of(&answer).await;
        assert_eq!(line["attempts"], 2, "{line}");
        assert!(
            line["output_tokens"].as_u64().is_some_and(|it| it > 0),
            "{line}"
        );
        let body: Value = serde_json::from_slice(&simulator.last_body().await).unwrap();
        assert_eq!(body["model"], sent);
        assert_eq!(simulator.last().await["path"], "/v1/chat/completions");
    }
}

#[tokio::test]
async fn the_path_of_the_channel_names_its_model_once() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let base = "/openai/deployments/{model}?api-version=1";
    let mut config = deployments(&format!("http://{}{base}", provider.address));
    set_models(&mut config, &json!({"team/large": "team/there"}));
    let gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&azure_chat("team%2Flarge", &chat_body())).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let (line, _) = last_sent(&provider);
    assert_eq!(
        line,
        "POST /openai/deployments/team%2Fthere/chat/completions?api-version=1 HTTP/1.1"
    );
}

#[tokio::test]
async fn two_models_of_one_body_share_no_recorded_response() {
    let simulator = Simulator::start().await;
    let mut config = deployments(&simulator.url());
    add_step(&mut config, "chat", json!({"cache": {"ttl": "1h"}}));
    add_step(&mut config, "images", json!("idempotency"));
    let gateway = Gateway::start(&config).await;
    let received = async || simulator.records().await.len();
    for (model, outcome, count) in [
        ("demo-large", "miss", 1),
        ("demo-small", "miss", 2),
        ("demo-large", "hit", 2),
        ("demo%2Dsmall", "hit", 2),
    ] {
        let answer = gateway.ask(&azure_chat(model, &chat_body())).await;
        assert_eq!(answer.headers.get(OUTCOME), Some(outcome), "{model}");
        assert_eq!(received().await, count, "{model}");
    }
    let create = |model: &str, key: &str| {
        let target = deployment(model, "images/generations");
        let request = Request::post(&target, r#"{"prompt": "a gate", "size": "1024x1024"}"#);
        request.header("Idempotency-Key", key)
    };
    for (model, key, status, count) in [
        ("demo-large", "one", 200, 3),
        ("demo-small", "one", 422, 3),
        ("demo-small", "two", 200, 4),
        ("demo-large", "one", 200, 4),
        ("demo-large", "two", 422, 4),
    ] {
        let answer = gateway.ask(&create(model, key)).await;
        assert_eq!(answer.status, status, "{model} {key}: {}", answer.text());
        assert_eq!(received().await, count, "{model} {key}");
    }
}

#[tokio::test]
async fn a_copy_has_the_path_and_the_model_of_its_channel() {
    let (simulator, copies) = (Simulator::start().await, Simulator::start().await);
    let mut config = deployments(&simulator.url());
    let mut mirrored = channel(&copies.url(), &["chat"], json!({"bearer": "sk-copies"}));
    mirrored["models"] = json!({"demo-large": "copy large"});
    mirrored["tier"] = json!(9);
    config["channels"]["copies"] = mirrored;
    add_step(
        &mut config,
        "chat",
        json!({"mirror": {"channel": "copies"}}),
    );
    let gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&azure_chat("demo-large", &chat_body())).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let record = eventually("a copy", async || copies.records().await.pop()).await;
    assert_eq!(record["path"], "/v1/chat/completions");
    let body: Value = serde_json::from_slice(&copies.body(&record["n"]).await).unwrap();
    assert_eq!(body["model"], "copy large");
}

#[tokio::test]
async fn one_route_serves_paths_with_the_model_and_without() {
    let simulator = Simulator::start().await;
    let mut config = deployments(&simulator.url());
    config::route(&mut config, "chat")["match"] = json!([
        "POST /v1/chat/completions",
        format!("POST {}", deployment("{model}", "chat/completions")),
        "POST /models/{+model}/v1/chat/completions",
    ]);
    let gateway = Gateway::start(&config).await;
    let mut named = chat_body();
    named["model"] = json!("demo-small");
    for (target, body, model) in [
        ("/v1/chat/completions", &named, "sim-small-2026-08"),
        (
            &*deployment("demo-large", "chat/completions"),
            &named,
            "sim-large-2026-08",
        ),
        (
            "/models/demo-large/v1/chat/completions",
            &chat_body(),
            "sim-large-2026-08",
        ),
    ] {
        let answer = gateway.ask(&Request::post(target, body.to_string())).await;
        assert_eq!(answer.status, 200, "{target}: {}", answer.text());
        let sent: Value = serde_json::from_slice(&simulator.last_body().await).unwrap();
        assert_eq!(sent["model"], model, "{target}");
        assert_eq!(simulator.last().await["path"], "/v1/chat/completions");
    }
    let without = Request::post("/v1/chat/completions", chat_body().to_string());
    assert_error_body(Protocol::Chat, &gateway.ask(&without).await, 400);
}

#[tokio::test]
async fn a_model_named_like_an_endpoint_is_no_endpoint() {
    const FAILURE: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 54\r\n\r\n{\"error\":{\"message\":\"overloaded\",\"code\":\"overloaded\"}}";
    let failing = ScriptedProvider::answering(FAILURE).await;
    let good = ScriptedProvider::answering(ANSWER).await;
    let names = ["demo-large", "speech", "cancel", "count_tokens", "compact"];
    let mut config = deployments(&format!("http://{}/v1", failing.address));
    let models: Value = names
        .iter()
        .map(|name| ((*name).to_owned(), "there"))
        .collect();
    let mut spare = channel(
        &format!("http://{}/v1", good.address),
        &["chat", "own"],
        json!({"bearer": "sk-spare"}),
    );
    spare["tier"] = json!(1);
    config["channels"]["spare"] = spare;
    config["channels"]["openai"]["protocols"] = json!(["chat", "own"]);
    set_models(&mut config, &models);
    config::without_cool_downs(&mut config);
    config["protocols"] =
        json!({"own": {"extends": "chat", "retry": "free", "path": "/run/{model}"}});
    config["routes"] = json!(["chat", "own"].map(|protocol| json!({
        "name": protocol, "match": format!("POST /{protocol}/{{model}}"), "protocol": protocol,
        "request": [{"use": "body"}], "response": ["meter_usage"],
    })));
    let gateway = Gateway::start(&config).await;
    for protocol in ["chat", "own"] {
        for name in names {
            let target = format!("/{protocol}/{name}");
            let answer = gateway
                .ask(&Request::post(&target, chat_body().to_string()))
                .await;
            assert_eq!(answer.status, 200, "{target}: {}", answer.text());
            let line = gateway.log_of(&answer).await;
            assert_eq!(line["attempts"], 2, "{target}: {line}");
            let path = if protocol == "chat" {
                "/v1/chat/completions"
            } else {
                "/v1/run/there"
            };
            assert_eq!(
                last_sent(&good).0,
                format!("POST {path} HTTP/1.1"),
                "{target}"
            );
        }
    }
}
