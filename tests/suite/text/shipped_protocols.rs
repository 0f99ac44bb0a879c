//! End-to-end tests of the endpoints whose declarations the program brings along: no file declares them.

use crate::harness::config::{self, channel};
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator};
use serde_json::{Value, json};

/// An endpoint: its protocol, its path, a request without its model, and what its response and its log line have.
struct ShippedEndpoint {
    protocol: &'static str,
    path: &'static str,
    body: Value,
    /// A pointer into the response, which has a value there; empty for bytes.
    result: &'static str,
    /// Input and output tokens that the log has.
    tokens: (Option<u64>, Option<u64>),
    /// Whether a request that a channel answers with 503 may be sent to another one.
    fails_over: bool,
}

fn endpoints() -> Vec<ShippedEndpoint> {
    let endpoint = |protocol, path, body, result, tokens| ShippedEndpoint {
        protocol,
        path,
        body,
        result,
        tokens,
        fails_over: protocol != "image_generation",
    };
    let query = json!({"query": "a gate", "documents": ["a hedge row", "the gate is a gate"]});
    vec![
        endpoint(
            "embeddings",
            "/v1/embeddings",
            json!({"input": ["a gate", "a hedge row"]}),
            "/data/1/embedding/0",
            (Some(5), None),
        ),
        endpoint(
            "completions",
            "/v1/completions",
            json!({"prompt": "Once upon a time", "max_tokens": 6}),
            "/choices/0/text",
            (Some(4), Some(6)),
        ),
        endpoint(
            "moderations",
            "/v1/moderations",
            json!({"input": "this is flagged"}),
            "/results/0/categories/violence",
            (None, None),
        ),
        endpoint(
            "rerank",
            "/v1/rerank",
            query.clone(),
            "/results/0/relevance_score",
            (Some(9), None),
        ),
        endpoint(
            "cohere_rerank",
            "/v2/rerank",
            query,
            "/results/0/relevance_score",
            (Some(9), None),
        ),
        endpoint(
            "image_generation",
            "/v1/images/generations",
            json!({"prompt": "a gate", "size": "1024x1024"}),
            "/data/0/b64_json",
            (Some(2), Some(4160)),
        ),
        endpoint(
            "speech",
            "/v1/audio/speech",
            json!({"input": "Mind the gate.", "voice": "alloy"}),
            "",
            (None, None),
        ),
    ]
}

/// Routes of all endpoints, each with two channels.
fn serving(first: &Simulator, second: &Simulator, directives: &str) -> Value {
    let mut config = config::standard(&second.url());
    let mut channels = json!({});
    let mut routes = Vec::new();
    for ShippedEndpoint { protocol, path, .. } in endpoints() {
        // `/v1` may stand in the base URL, and other versions stand in the path alone.
        let version = if path.starts_with("/v1") { "/v1" } else { "" };
        let base = first.url_obeying(directives).replace("/v1", version);
        channels[format!("{protocol}-1")] = channel(&base, &[protocol], json!({"bearer": "sk-1"}));
        let base = second.url().replace("/v1", version);
        let mut spare = channel(&base, &[protocol], json!({"bearer": "sk-2"}));
        spare["tier"] = 1.into();
        channels[format!("{protocol}-2")] = spare;
        routes.push(json!({
            "name": protocol, "match": format!("POST {path}"), "protocol": protocol,
            "request": [{"use": "body"}, "rate_limit"],
            "response": ["pass_sse", "meter_usage", "restore_model"],
        }));
    }
    config["channels"] = channels;
    config["routes"] = routes.into();
    config::without_cool_downs(&mut config);
    config
}

fn request(endpoint: &ShippedEndpoint, model: &str) -> Request {
    let mut body = endpoint.body.clone();
    body["model"] = model.into();
    Request::post(endpoint.path, body.to_string())
}

#[tokio::test]
async fn each_endpoint_gets_the_model_of_the_channel_and_is_metered() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&serving(&simulator, &simulator, "delay=0")).await;
    for endpoint in endpoints() {
        let name = endpoint.protocol;
        let answer = gateway.ask(&request(&endpoint, "demo-large")).await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        let sent = simulator.last_body().await;
        let sent: Value = serde_json::from_slice(&sent).unwrap();
        assert_eq!(sent["model"], "sim-large-2026-08", "{name}: {sent}");
        match endpoint.result {
            "" => {
                assert_eq!(answer.headers.get("content-type").unwrap(), "audio/mpeg");
                assert_eq!(answer.body.len(), 14 * 64);
            }
            pointer => {
                let body = answer.json();
                assert!(
                    body.pointer(pointer).is_some_and(|it| !it.is_null()),
                    "{name}: {body}"
                );
                let model = body.get("model").is_none_or(|model| model == "demo-large");
                assert!(model, "{name}: {body}");
            }
        }
        let line = gateway.log_of(&answer).await;
        assert_eq!(line["protocol"], name, "{line}");
        let tokens = (
            line["input_tokens"].as_u64(),
            line["output_tokens"].as_u64(),
        );
        assert_eq!(tokens, endpoint.tokens, "{name}: {line}");
    }
}

#[tokio::test]
async fn only_what_is_not_bought_one_by_one_is_sent_to_a_second_channel() {
    let (bad, good) = (Simulator::start().await, Simulator::start().await);
    let gateway = Gateway::start(&serving(&bad, &good, "status=503")).await;
    for endpoint in endpoints() {
        let name = endpoint.protocol;
        let answer = gateway.ask(&request(&endpoint, "demo-large")).await;
        let expected = if endpoint.fails_over {
            (200, 2)
        } else {
            (502, 1)
        };
        let line = gateway.log_of(&answer).await;
        let attempts = line["attempts"].as_u64().unwrap();
        assert_eq!(
            (answer.status, attempts),
            expected,
            "{name}: {}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn speech_is_what_a_provider_sends_unless_it_is_an_error() {
    let good = Simulator::start().await;
    let bad = ScriptedProvider::start(vec![]).await;
    let mut config = serving(&good, &good, "delay=0");
    config["channels"]["speech-1"]["base_url"] = bad.url().into();
    config::with_unlimited_retries(&mut config);
    let gateway = Gateway::start(&config).await;
    let endpoints = endpoints();
    let speech = endpoints.iter().find(|it| it.protocol == "speech").unwrap();
    let request = request(speech, "demo-large");
    let error = r#"{"error":{"message":"The model is overloaded.","type":"server_error"}}"#;
    for (head, body, channel) in [
        (
            "200 OK\r\nContent-Type: audio/mpeg",
            "ID3 sound",
            "speech-1",
        ),
        (
            "200 OK\r\nContent-Type: application/octet-stream",
            "ID3 sound",
            "speech-1",
        ),
        ("200 OK", "ID3 sound", "speech-1"),
        (
            "200 OK\r\nContent-Type: audio/pcm",
            "{\u{1}{\u{1}",
            "speech-1",
        ),
        ("200 OK\r\nContent-Type: audio/mpeg", error, "speech-2"),
        ("200 OK\r\nContent-Type: audio/mpeg", "", "speech-2"),
        (
            "200 OK\r\nContent-Type: text/event-stream",
            "data: {\"type\":\"speech.audio.delta\",\"audio\":\"SUQz\"}\n\n",
            "speech-1",
        ),
        (
            "200 OK\r\nContent-Type: application/json",
            r#"{"audio":"SUQz"}"#,
            "speech-1",
        ),
        (
            "200 OK\r\nContent-Type: application/json",
            error,
            "speech-2",
        ),
        ("200 OK\r\nContent-Type: text/plain", error, "speech-2"),
        ("200 OK", error, "speech-2"),
        (
            "200 OK\r\nContent-Type: text/plain",
            "overloaded",
            "speech-2",
        ),
        ("200 OK", "<html>", "speech-2"),
        ("200 OK", "", "speech-2"),
        ("204 No Content", "", "speech-2"),
    ] {
        let length = match head {
            "204 No Content" => String::new(),
            _ => format!("Content-Length: {}\r\n", body.len()),
        };
        let response = format!("HTTP/1.1 {head}\r\n{length}\r\n{body}");
        bad.next(vec![ScriptedResponse::Send(response.into_bytes())]);
        let answer = gateway.ask(&request).await;
        assert_eq!(answer.status, 200, "{head} {body}: {}", answer.text());
        let line = gateway.log_of(&answer).await;
        assert_eq!(line["channel"], channel, "{head} {body}: {line}");
        assert!(
            channel == "speech-2" || answer.text() == body,
            "{}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn errors_have_the_shape_that_the_clients_of_each_endpoint_read() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&serving(&simulator, &simulator, "delay=0")).await;
    for endpoint in endpoints() {
        let name = endpoint.protocol;
        let message = match name {
            "cohere_rerank" => "/message",
            _ => "/error/message",
        };
        let good = request(&endpoint, "demo-large");
        for (request, status) in [
            (good.without("Authorization"), 401),
            (request(&endpoint, "demo-lage"), 404),
            (Request::post(endpoint.path, "{\"model\""), 400),
            (Request::post(endpoint.path, "{}"), 400),
        ] {
            let answer = gateway.ask(&request).await;
            assert_eq!(answer.status, status, "{name}: {}", answer.text());
            let body = answer.json();
            let message = body.pointer(message).and_then(Value::as_str);
            assert!(
                message.is_some_and(|text| !text.is_empty()),
                "{name}: {body}"
            );
        }
    }
}

#[tokio::test]
async fn a_stream_of_completions_passes_and_is_metered() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&serving(&simulator, &simulator, "delay=0")).await;
    let body = json!({
        "model": "demo-large", "prompt": "Once upon a time", "max_tokens": 6, "stream": true,
        "stream_options": {"include_usage": true},
    });
    let answer = gateway
        .ask(&Request::post("/v1/completions", body.to_string()))
        .await;
    assert_eq!(
        (answer.status, answer.whole),
        (200, true),
        "{}",
        answer.text()
    );
    assert!(
        answer.text().ends_with("data: [DONE]\n\n"),
        "{}",
        answer.text()
    );
    let line = gateway.log_of(&answer).await;
    assert_eq!(line["output_tokens"], 6, "{line}");
}

#[tokio::test]
async fn a_stream_of_images_ends_with_the_whole_image_and_is_metered() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&serving(&simulator, &simulator, "delay=0")).await;
    let body =
        json!({"model": "demo-large", "prompt": "a gate", "stream": true, "partial_images": 2});
    let answer = gateway
        .ask(&Request::post("/v1/images/generations", body.to_string()))
        .await;
    assert_eq!(
        (answer.status, answer.whole),
        (200, true),
        "{}",
        answer.text()
    );
    assert_eq!(
        answer
            .text()
            .matches("event: image_generation.partial_image")
            .count(),
        2
    );
    assert_eq!(
        answer
            .text()
            .matches("event: image_generation.completed")
            .count(),
        1
    );
    let line = gateway.log_of(&answer).await;
    assert!(line["output_tokens"].as_u64() > Some(0), "{line}");
}

#[tokio::test]
async fn a_declaration_of_the_same_name_counts_in_place_of_the_shipped_one() {
    let (bad, good) = (Simulator::start().await, Simulator::start().await);
    let mut config = serving(&bad, &good, "status=503");
    config["protocols"] = json!({"embeddings": {"retry": "paid"}});
    let gateway = Gateway::start(&config).await;
    let body = json!({"model": "demo-large", "input": "a gate"});
    let answer = gateway
        .ask(&Request::post("/v1/embeddings", body.to_string()))
        .await;
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(good.records().await.is_empty());
}
