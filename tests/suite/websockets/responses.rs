//! Tests of `response.create`: what comes back, what is counted, and what goes wrong in band.

use super::started;
use crate::harness::websocket::{create, handshake};
use crate::harness::{Request, TestSetup, WebSocketClient, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// The types of events, without their number.
fn kinds(events: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<_> = events
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    kinds.dedup();
    kinds
}

#[tokio::test]
async fn the_messages_are_the_events_of_the_stream_over_http() {
    let world = started().await;
    let streamed = world
        .ask(&Request::ask_stream(Protocol::Responses))
        .await
        .text();
    let lines = streamed
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let over_http: Vec<Value> = lines
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let mut client = WebSocketClient::open(&world.gateway).await;
    client.send(&create("Hello", json!({}))).await;
    let events = client.response().await;
    assert_eq!(kinds(&events), kinds(&over_http));
    assert_eq!(events.len(), over_http.len());
    assert!(events.iter().all(|event| event.get("stream_id").is_none()));
}

#[tokio::test]
async fn the_provider_gets_a_request_of_http_without_the_members_and_fields_of_websockets() {
    let world = started().await;
    let mut client = WebSocketClient::open(&world.gateway).await;
    let event = create(
        "Hello",
        json!({"stream_id": "main", "generate": true, "metadata": {"a": "b"}}),
    );
    assert_eq!(client.ask(&event).await["stream_id"], "main");
    let body: Value = serde_json::from_slice(&world.simulator.last_body().await).unwrap();
    for absent in ["type", "stream_id", "generate"] {
        assert_eq!(body.get(absent), None, "{body}");
    }
    assert_eq!(
        (&body["stream"], &body["metadata"]["a"]),
        (&json!(true), &json!("b"))
    );
    let record = world.simulator.last().await;
    let text = record.to_string().to_ascii_lowercase();
    assert!(!text.contains("websocket"), "{record}");
    assert_eq!(record["method"], "POST", "{record}");
}

#[tokio::test]
async fn each_response_is_metered_and_logged_like_one_over_http() {
    let world = started().await;
    let mut client = WebSocketClient::open(&world.gateway).await;
    for _ in 0..3 {
        client.ask(&create("Hello", json!({}))).await;
    }
    let is_message = |line: &Value| line["websocket"] == true;
    let line = world.gateway.log_line(is_message).await;
    assert_eq!(
        (&line["status"], &line["settlement"]),
        (&json!(200), &json!("complete")),
        "{line}"
    );
    assert!(line["total_tokens"].as_u64().unwrap() > 0, "{line}");
    let metrics = world.gateway.metrics().await;
    for (class, count) in [("1xx", 1.0), ("2xx", 3.0)] {
        let labels = [("route", "responses"), ("status_class", class)];
        assert_eq!(
            metrics.sum("headgate_requests_total", &labels),
            count,
            "{class}"
        );
    }
    assert_eq!(metrics.sum("headgate_websockets", &[]), 1.0);
}

#[tokio::test]
async fn errors_come_in_band_with_their_status_and_the_connection_stays_open() {
    let world = TestSetup::with(|config| {
        config::without_cool_downs(config);
        config::route(config, "responses")["websocket"] = json!({});
    })
    .await;
    for (directives, event, status, code) in [
        (
            "",
            create("Hello", json!({"model": "nope"})),
            404,
            json!("model_not_found"),
        ),
        (
            "",
            json!({"type": "response.create", "input": "Hello"}),
            400,
            json!("missing_required_parameter"),
        ),
        (
            "",
            create("Hello", json!({"temperature": "hot"})),
            400,
            json!("invalid_value"),
        ),
        (
            "",
            json!({"type": "response.cancel"}),
            400,
            json!("invalid_value"),
        ),
        (
            "",
            json!({"model": "demo-large"}),
            400,
            json!("missing_required_parameter"),
        ),
        (
            "",
            create("Hello", json!({"stream_id": "a b"})),
            400,
            json!("invalid_stream_id"),
        ),
        (
            "status=429; retry_after=3",
            create("Hello", json!({})),
            429,
            json!("rate_limit_exceeded"),
        ),
        ("status=500", create("Hello", json!({})), 500, Value::Null),
    ] {
        let request = handshake().simulate(directives);
        let mut client = WebSocketClient::open_by(&world.gateway, &request).await;
        for _ in 0..if directives.contains("retry_after") {
            1
        } else {
            2
        } {
            let error = client.ask(&event).await;
            assert_eq!(
                (&error["type"], &error["status"]),
                (&json!("error"), &json!(status)),
                "{error}"
            );
            if code != Value::Null {
                assert_eq!(error["error"]["code"], code, "{error}");
            }
            assert!(
                error["error"]["message"]
                    .as_str()
                    .is_some_and(|text| !text.is_empty()),
                "{error}"
            );
            let headers = &error["headers"];
            if directives.contains("retry_after") {
                assert_eq!(headers["retry-after"], "3", "{error}");
            }
            assert_eq!(headers.get("content-type"), None, "{error}");
        }
    }
}

#[tokio::test]
async fn a_message_that_is_no_json_gets_an_error_and_the_connection_stays_open() {
    let world = started().await;
    let mut client = WebSocketClient::open(&world.gateway).await;
    client.send_frame(0x81, b"{not json").await;
    assert_eq!(client.event().await["error"]["code"], "invalid_json");
    assert_eq!(
        client.ask(&create("Hello", json!({}))).await["type"],
        "response.completed"
    );
}

#[tokio::test]
async fn a_response_that_breaks_off_ends_with_an_error_and_nothing_else() {
    let world = started().await;
    for directives in ["cut_after=2", "end_after_events=5", "error_event_after=2"] {
        let request = handshake().simulate(&format!("{directives}; events=20"));
        let mut client = WebSocketClient::open_by(&world.gateway, &request).await;
        client.send(&create("Hello", json!({}))).await;
        let events = client.response().await;
        let last = events.last().unwrap();
        assert_eq!(last["type"], "error", "{directives}: {last}");
        assert!(
            last["status"].as_u64().is_some_and(|status| status >= 500),
            "{last}"
        );
        assert!(last["error"]["message"].is_string(), "{last}");
        // Nothing follows: the next event is that of the next response.
        client.send(&json!({"type": "response.cancel"})).await;
        let next = client.event().await;
        assert_eq!(next["error"]["param"], "type", "{directives}: {next}");
    }
}

#[tokio::test]
async fn streams_run_side_by_side_and_requests_of_one_stream_one_after_the_other() {
    let world = started().await;
    let request = handshake().simulate("pace=20ms; events=10");
    let mut client = WebSocketClient::open_by(&world.gateway, &request).await;
    for (stream, times) in [("a", 2), ("b", 1)] {
        for _ in 0..times {
            client
                .send(&create("Hello", json!({"stream_id": stream})))
                .await;
        }
    }
    let mut order = Vec::new();
    while order
        .iter()
        .filter(|(_, kind)| kind == "response.completed")
        .count()
        < 3
    {
        let event = client.event().await;
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        if ["response.created", "response.completed"].contains(&event["type"].as_str().unwrap()) {
            order.push((text("stream_id"), text("type")));
        }
    }
    let of = |stream: &str| -> Vec<&str> {
        let own = order.iter().filter(|(id, _)| id == stream);
        own.map(|(_, kind)| kind.as_str()).collect()
    };
    let one = ["response.created", "response.completed"];
    assert_eq!(of("a"), [one, one].concat());
    assert_eq!(of("b"), one);
    let position =
        |stream: &str, kind: &str| order.iter().position(|(id, is)| id == stream && is == kind);
    assert!(position("b", one[0]) < position("a", one[1]), "{order:?}");
}

#[tokio::test]
async fn a_websocket_has_at_most_32_streams() {
    let world = started().await;
    let mut client = WebSocketClient::open(&world.gateway).await;
    for number in 0..32 {
        let event = create("Hello", json!({"stream_id": format!("s{number}")}));
        assert_eq!(client.ask(&event).await["type"], "response.completed");
    }
    let error = client
        .ask(&create("Hello", json!({"stream_id": "one.more"})))
        .await;
    assert_eq!(
        error["error"]["code"], "websocket_stream_limit_reached",
        "{error}"
    );
    assert_eq!(error["stream_id"], "one.more", "{error}");
    for known in [json!({"stream_id": "s7"}), json!({})] {
        assert_eq!(
            client.ask(&create("Hello", known)).await["type"],
            "response.completed"
        );
    }
}

#[tokio::test]
async fn steering_is_refused_by_name_with_its_input() {
    let world = started().await;
    let mut client = WebSocketClient::open(&world.gateway).await;
    let input = json!([{"role": "user", "content": "Stop"}]);
    let steer = json!({"type": "response.steer", "previous_response_id": "resp_1", "input": input});
    let refusal = client.ask(&steer).await;
    assert_eq!(refusal["type"], "response.steer.failed");
    assert_eq!(refusal["error"]["code"], "steering_not_supported");
    assert_eq!(
        refusal["steer"],
        json!({"previous_response_id": "resp_1", "input": input})
    );
}

#[tokio::test]
async fn channels_of_other_protocols_serve_websockets_where_the_route_translates() {
    let world = TestSetup::with(|config| {
        let route = config::route(config, "responses");
        route["websocket"] = json!({});
        route["translate"] = json!(["messages"]);
        config["channels"]["openai"]["protocols"] = json!(["chat"]);
    })
    .await;
    let mut client = WebSocketClient::open(&world.gateway).await;
    let first = client.ask(&create("Hello", json!({"store": false}))).await;
    assert_eq!(first["type"], "response.completed", "{first}");
    let id = first["response"]["id"].clone();
    let next = create(
        "And now?",
        json!({"store": false, "previous_response_id": id}),
    );
    assert_eq!(client.ask(&next).await["type"], "response.completed");
    let body: Value = serde_json::from_slice(&world.simulator.last_body().await).unwrap();
    assert_eq!(body["messages"].as_array().map(Vec::len), Some(3), "{body}");
}
