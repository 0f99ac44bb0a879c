//! Tests of sessions of the realtime protocol: models, responses as exchanges, and refusals in band.

use crate::harness::websocket::handshake_at;
use crate::harness::{Gateway, Request, Simulator, WebSocketClient, config};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The standard configuration with a route of sessions and a channel at `provider` that serves `voice`.
pub fn with_sessions(provider: &str) -> Value {
    let mut config = config::standard(provider);
    config["channels"]["voice"] = json!({
        "base_url": provider,
        "credential": {"bearer": config::CREDENTIALS[0]},
        "protocols": ["realtime"],
        "models": {"voice": "gpt-realtime"},
        "health": {"consecutive_failures": 0},
    });
    let routes = config["routes"].as_array_mut().unwrap();
    routes.push(json!({
        "name": "realtime", "match": "GET /v1/realtime", "protocol": "realtime",
        "request": ["authenticate", "route_model", "rate_limit"], "response": ["meter_usage"],
    }));
    config
}

/// The handshake of a session with `voice`.
pub fn session() -> Request {
    handshake_at("/v1/realtime?model=voice")
}

/// A session whose first event was received.
pub async fn open(gateway: &Gateway) -> WebSocketClient {
    let mut client = WebSocketClient::open_by(gateway, &session()).await;
    assert_eq!(client.event().await["type"], "session.created");
    client
}

/// The event of this type, after others.
pub async fn event_of_type(client: &mut WebSocketClient, kind: &str) -> Value {
    loop {
        let event = client.event().await;
        if event["type"] == kind {
            return event;
        }
        assert_ne!(event["type"], "error", "{event}");
    }
}

async fn started() -> (Gateway, Simulator) {
    let simulator = Simulator::start().await;
    let config = with_sessions(&simulator.url());
    (Gateway::start(&config).await, simulator)
}

/// Half a second of silence.
pub fn sound() -> Value {
    json!({"type": "input_audio_buffer.append", "audio": STANDARD.encode(vec![0; 24_000])})
}

#[tokio::test]
async fn a_session_carries_events_both_ways_and_the_provider_gets_its_name_of_the_model() {
    let (gateway, simulator) = started().await;
    let request =
        handshake_at("/v1/realtime?a=b&model=voice&c=d").header("OpenAI-Beta", "realtime=v1");
    let mut client = WebSocketClient::open_by(&gateway, &request).await;
    let created = client.event().await;
    assert_eq!(created["session"]["model"], "gpt-realtime", "{created}");
    let update = json!({"type": "session.update",
        "session": {"type": "realtime", "model": "voice", "output_modalities": ["text"]}});
    client.send(&update).await;
    let updated = client.event().await;
    assert_eq!(updated["type"], "session.updated", "{updated}");
    let item = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]});
    client
        .send(&json!({"type": "conversation.item.create", "item": item}))
        .await;
    client.send(&json!({"type": "response.create"})).await;
    let done = event_of_type(&mut client, "response.done").await;
    assert_eq!(done["response"]["status"], "completed", "{done}");
    let record = simulator.last().await;
    assert_eq!(
        record["path"], "/v1/realtime?a=b&c=d&model=gpt-realtime",
        "{record}"
    );
    let text = record.to_string();
    assert!(text.contains("realtime=v1"), "{record}");
    assert!(!text.contains("canary-5f1c7e"), "{record}");
    assert!(!text.contains("sec-websocket-protocol"), "{record}");
}

#[tokio::test]
async fn each_response_is_an_exchange_with_its_usage() {
    let (gateway, _simulator) = started().await;
    let mut client = open(&gateway).await;
    for _ in 0..2 {
        client.send(&json!({"type": "response.create"})).await;
        let usage = event_of_type(&mut client, "response.done").await["response"]["usage"].clone();
        let input = usage["input_tokens"].clone();
        let line = gateway
            .log_line(|line| line["websocket"] == true && line["input_tokens"] == input)
            .await;
        for (name, value) in [
            ("route", json!("realtime")),
            ("caller", json!("ann")),
            ("model", json!("voice")),
            ("channel", json!("voice")),
            ("status", json!(200)),
            ("settlement", json!("complete")),
            ("output_tokens", usage["output_tokens"].clone()),
            ("cached_input_tokens", json!(4)),
        ] {
            assert_eq!(line[name], value, "{name}: {line}");
        }
    }
    // Begun by the provider at the end of what was said.
    client.send(&sound()).await;
    event_of_type(&mut client, "response.done").await;
    let settled = async || {
        let metrics = gateway.metrics().await;
        let count = metrics.sum(
            "headgate_requests_total",
            &[("route", "realtime"), ("status_class", "2xx")],
        );
        (count == 3.0).then_some(())
    };
    crate::harness::eventually("three responses in the metrics", settled).await;
    let line = gateway.log_line(|line| line["status"] == 101).await;
    assert_eq!(line["settlement"], "complete", "{line}");
    assert_eq!(line["channel_model"], "gpt-realtime", "{line}");
}

#[tokio::test]
async fn a_handshake_that_opens_no_session_gets_an_error_of_http_and_reaches_no_provider() {
    let simulator = Simulator::start().await;
    let mut config = with_sessions(&simulator.url());
    let callers = config["callers"].as_array_mut().unwrap();
    callers[1]["models"] = json!(["demo-small"]);
    let gateway = Gateway::start(&config).await;
    let bob = session().key(crate::harness::request::BOB);
    for (request, status, code, word) in [
        (
            session().without("authorization"),
            401,
            "invalid_api_key",
            "key",
        ),
        (
            handshake_at("/v1/realtime"),
            400,
            "missing_required_parameter",
            "model",
        ),
        (
            handshake_at("/v1/realtime?model=a&model=voice"),
            400,
            "invalid_value",
            "more than one",
        ),
        (
            handshake_at("/v1/realtime?model=voic"),
            404,
            "model_not_found",
            "voice",
        ),
        (
            handshake_at("/v1/realtime?model=demo-large"),
            404,
            "model_not_found",
            "realtime",
        ),
        (bob, 403, "permission_denied", "voice"),
        (
            handshake_at("/v1/realtime?model=voice&call_id=rtc_1"),
            400,
            "invalid_value",
            "call",
        ),
        (
            handshake_at("/v1/realtime?intent=transcription"),
            400,
            "invalid_value",
            "transcribe",
        ),
        (
            Request::get("/v1/realtime?model=voice"),
            426,
            "upgrade_required",
            "wss://",
        ),
        (
            session().header("Origin", "https://evil.example"),
            403,
            "permission_denied",
            "origin",
        ),
        (
            session().without("Sec-WebSocket-Key"),
            400,
            "invalid_header",
            "sec-websocket-key",
        ),
    ] {
        let answer = gateway.ask(&request).await;
        let error = answer.json()["error"].clone();
        assert_eq!(answer.status, status, "{error}");
        assert_eq!(error["code"], code, "{error}");
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
    }
    assert_eq!(simulator.records().await.len(), 0);
}

#[tokio::test]
async fn what_the_provider_must_not_get_is_refused_in_band_and_the_session_goes_on() {
    let (gateway, simulator) = started().await;
    let mut client = open(&gateway).await;
    for (event, code, param) in [
        (
            r#"{"type":"session.update","event_id":"mine","session":{"model":"gpt-realtime-mini"}}"#,
            "invalid_value",
            json!("session.model"),
        ),
        (
            r#"{"type":"session.update","type":"x"}"#,
            "invalid_json",
            Value::Null,
        ),
        ("[1", "invalid_json", Value::Null),
        ("{}", "missing_required_parameter", json!("type")),
    ] {
        client
            .send_frame(crate::harness::websocket::TEXT, event.as_bytes())
            .await;
        let error = client.event().await;
        assert_eq!(error["type"], "error", "{error}");
        assert_eq!(
            (&error["error"]["code"], &error["error"]["param"]),
            (&json!(code), &param),
            "{error}"
        );
        let event_id = match event.contains("mine") {
            true => json!("mine"),
            false => Value::Null,
        };
        assert_eq!(error["error"]["event_id"], event_id, "{error}");
    }
    // The provider's own refusals pass.
    client.send(&json!({"type": "no.such.event"})).await;
    let error = client.event().await;
    assert_eq!(error["error"]["code"], "invalid_value", "{error}");
    client.send(&json!({"type": "response.create"})).await;
    event_of_type(&mut client, "response.done").await;
    assert_eq!(simulator.records().await.len(), 1);
}

#[tokio::test]
async fn a_response_that_the_provider_does_not_begin_uses_nothing() {
    let simulator = Simulator::start_with(&["--event-ms", "50"]).await;
    let gateway = Gateway::start(&with_sessions(&simulator.url())).await;
    let mut client = open(&gateway).await;
    client.send(&json!({"type": "response.create"})).await;
    let second = json!({"type": "response.create", "event_id": "second"});
    client.send(&second).await;
    let mut kinds = Vec::new();
    loop {
        let event = client.event().await;
        kinds.push(event["type"].as_str().unwrap().to_owned());
        if event["type"] == "error" {
            let code = &event["error"]["code"];
            assert_eq!(code, "conversation_already_has_active_response", "{event}");
            assert_eq!(event["error"]["event_id"], "second", "{event}");
        }
        if event["type"] == "response.done" {
            break;
        }
    }
    assert!(kinds.contains(&"error".to_owned()), "{kinds:?}");
    let refused = gateway
        .log_line(|line| line["settlement"] == "upstream_error")
        .await;
    assert_eq!(refused.get("input_tokens"), None, "{refused}");
    gateway
        .log_line(|line| line["settlement"] == "complete" && line["websocket"] == true)
        .await;
}

#[tokio::test]
async fn a_page_sends_its_key_as_a_subprotocol_where_the_route_takes_it() {
    let simulator = Simulator::start().await;
    let mut config = with_sessions(&simulator.url());
    let key = crate::harness::request::ANN;
    let offer = format!("realtime, openai-insecure-api-key.{key}, openai-beta.realtime-v1");
    let page = session()
        .without("authorization")
        .header("Origin", "https://app.example")
        .header("Sec-WebSocket-Protocol", &offer);
    let route = config::route(&mut config, "realtime");
    let steps = route["request"].as_array_mut().unwrap();
    steps.insert(0, json!({"cors": {"origins": ["https://app.example"]}}));
    let gateway = Gateway::start(&config).await;
    assert_eq!(gateway.ask(&page).await.status, 401);
    config::route(&mut config, "realtime")["websocket"] = json!({"key_in_subprotocol": true});
    gateway.reload(&config).await;
    let mut client = WebSocketClient::open_by(&gateway, &page).await;
    assert_eq!(
        client.headers.get("sec-websocket-protocol"),
        Some("realtime")
    );
    assert_eq!(client.event().await["type"], "session.created");
    client.send(&json!({"type": "response.create"})).await;
    event_of_type(&mut client, "response.done").await;
    let record = simulator.last().await.to_string();
    assert!(
        record.contains("realtime=v1") && !record.contains(key),
        "{record}"
    );
    let other = page
        .clone()
        .without("Origin")
        .header("Origin", "https://evil.example");
    assert_eq!(gateway.ask(&other).await.status, 403);
}
