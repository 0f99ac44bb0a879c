//! Tests of conditions on filters and channels: which requests a filter acts on, and what happens if a condition fails.

use crate::harness::config::{self, route};
use crate::harness::request::{ANN, BOB};
use crate::harness::{PROTOCOLS, Request, Simulator, TestSetup, body_of};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Appends a filter to the request chain of the chat route.
fn add(config: &mut Value, step: Value) {
    let chain = route(config, "chat")["request"].as_array_mut().unwrap();
    chain.push(step);
}

/// The value of a header that the provider received.
async fn received(simulator: &Simulator, name: &str) -> Option<String> {
    let record = simulator.last().await;
    record["headers"][name].as_str().map(str::to_owned)
}

fn chat_with(field: &str, value: Value) -> Request {
    let mut body = body_of(Protocol::Chat);
    body[field] = value;
    Request::to(Protocol::Chat, body.to_string())
}

#[tokio::test]
async fn a_filter_runs_only_for_requests_that_meet_its_condition() {
    let ask = || Request::ask(Protocol::Chat);
    let cases: Vec<(&str, Request, bool)> = vec![
        (
            r#"request.headers["x-tier"] == "gold""#,
            ask().header("X-Tier", "gold"),
            true,
        ),
        (
            r#"request.headers["x-tier"] == "gold""#,
            ask().header("x-tier", "iron"),
            false,
        ),
        (r#"request.headers["x-tier"] == "gold""#, ask(), false),
        (
            r#""x-tier" in request.headers"#,
            ask().header("x-tier", ""),
            true,
        ),
        (r#""x-tier" in request.headers"#, ask(), false),
        (r#"caller == "ann""#, ask(), true),
        (
            r#"caller == "ann""#,
            ask().key(BOB).with_body(small()),
            false,
        ),
        (r#"model.startsWith("demo-l")"#, ask(), true),
        (r#"model == "demo-small""#, ask(), false),
        (
            r#"request.method == "POST" && request.path.endsWith("/completions")"#,
            ask(),
            true,
        ),
        (r#"route == "chat" && protocol == "chat""#, ask(), true),
        (r#"in_network(client.address, "127.0.0.0/8")"#, ask(), true),
        (r#"in_network(client.address, "10.0.0.0/8")"#, ask(), false),
        (
            r#"json("/max_tokens") != null && json("/max_tokens") > 100"#,
            chat_with("max_tokens", json!(101)),
            true,
        ),
        (
            r#"json("/max_tokens") != null && json("/max_tokens") > 100"#,
            chat_with("max_tokens", json!(100)),
            false,
        ),
        (
            r#"json("/max_tokens") != null && json("/max_tokens") > 100"#,
            ask(),
            false,
        ),
        (r#"json("/messages").size() == 1"#, ask(), true),
        (r#"json("/messages/0/role") == "user""#, ask(), true),
        (
            r#"request.size > 1000"#,
            chat_with("user", json!("u".repeat(1000))),
            true,
        ),
        (r#"request.size > 1000"#, ask(), false),
        (r#"attempt == 1 && channel == "openai""#, ask(), true),
        (r#"channel_model == "sim-large-2026-08""#, ask(), true),
        (r#"channel == "messages""#, ask(), false),
        ("sample(100)", ask(), true),
        ("sample(0)", ask(), false),
    ];
    let name = |index: usize| format!("x-case-{index}");
    let world = TestSetup::with(|config| {
        for (index, (condition, ..)) in cases.iter().enumerate() {
            add(
                config,
                json!({"if": condition, "set_headers": {name(index): "set"}}),
            );
        }
    })
    .await;
    for (index, (condition, request, runs)) in cases.iter().enumerate() {
        let response = world.ask(request).await;
        assert_eq!(response.status, 200, "{condition}: {}", response.text());
        let header = received(&world.simulator, &name(index)).await;
        assert_eq!(header.is_some(), *runs, "{condition}");
    }
}

fn small() -> Vec<u8> {
    let mut body = body_of(Protocol::Chat);
    body["model"] = json!("demo-small");
    body.to_string().into_bytes()
}

#[tokio::test]
async fn a_condition_that_fails_does_what_its_step_has() {
    // A text is compared with a number.
    let failing = r#"json("/user") > 5"#;
    for (on_error, status, is_set) in [
        (None, 500, false),
        (Some("refuse"), 500, false),
        (Some("run"), 200, true),
        (Some("skip"), 200, false),
    ] {
        let mut step = json!({"if": failing, "set_headers": {"x-pool": "fast"}});
        if let Some(on_error) = on_error {
            step["on_error"] = on_error.into();
        }
        let world = TestSetup::with(|config| add(config, step)).await;
        let response = world.ask(&chat_with("user", json!("secret-user"))).await;
        assert_eq!(response.status, status, "{on_error:?}: {}", response.text());
        assert!(!response.text().contains("secret-user"), "{on_error:?}");
        if status == 500 {
            assert!(world.simulator.records().await.is_empty(), "{on_error:?}");
            let line = world.gateway.log_of(&response).await;
            let detail = line["error_detail"].as_str().unwrap_or_default();
            assert!(detail.contains("condition of `set_headers`"), "{line}");
            assert!(!line.to_string().contains("secret-user"), "{line}");
        } else {
            let header = received(&world.simulator, "x-pool").await;
            assert_eq!(header.is_some(), is_set, "{on_error:?}");
        }
    }
}

#[tokio::test]
async fn a_response_filter_runs_by_the_response_and_by_the_request() {
    let cases = [
        ("response.status == 200", true),
        ("response.status >= 400", false),
        (
            r#"response.headers["content-type"].startsWith("application/json")"#,
            true,
        ),
        (r#"caller == "ann" && json("/model") == "demo-large""#, true),
        (r#"channel == "openai""#, true),
        // What cannot be evaluated runs.
        (r#"json("/model") > 5"#, true),
    ];
    let name = |index: usize| format!("x-case-{index}");
    let world = TestSetup::with(|config| {
        let chain = route(config, "chat")["response"].as_array_mut().unwrap();
        for (index, (condition, _)) in cases.iter().enumerate() {
            chain.push(json!({"if": condition, "set_headers": {name(index): "set"}}));
        }
    })
    .await;
    let response = world.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(response.status, 200);
    for (index, (condition, runs)) in cases.iter().enumerate() {
        let header = response.headers.get(&name(index));
        assert_eq!(header.is_some(), *runs, "{condition}");
    }
}

#[tokio::test]
async fn channels_accept_requests_by_their_condition() {
    let world = TestSetup::between(|config, simulator| {
        let credential = json!({"bearer": "sk-of-the-channel"});
        let mut canary = config::channel(&simulator.url(), &["chat"], credential);
        canary["if"] = r#"request.headers["x-canary"] == "1""#.into();
        config["channels"]["canary"] = canary;
        config["channels"]["canary"]["headers"] = json!({"x-channel": "canary"});
        config["channels"]["openai"]["headers"] = json!({"x-channel": "openai"});
        config["channels"]["openai"]["if"] = r#"!("x-canary" in request.headers)"#.into();
    })
    .await;
    for (canary, channel) in [(Some("1"), "canary"), (None, "openai")] {
        for _ in 0..4 {
            let request = Request::ask(Protocol::Chat);
            let request = match canary {
                Some(value) => request.header("x-canary", value),
                None => request,
            };
            assert_eq!(world.ask(&request).await.status, 200);
            let header = received(&world.simulator, "x-channel").await;
            assert_eq!(header.as_deref(), Some(channel));
        }
    }
    let response = world
        .ask(&Request::ask(Protocol::Chat).header("x-canary", "2"))
        .await;
    assert_eq!(response.status, 503, "{}", response.text());
    assert!(response.text().contains("accepts this request"));
}

#[tokio::test]
async fn a_header_may_be_computed() {
    let world = TestSetup::with(|config| {
        add(
            config,
            json!({"set_headers": {
                "x-of-head": {"cel": r#""fast-" + request.headers["x-region"]"#},
                "x-of-body": {"cel": r#"model + "/" + json("/messages/0/role")"#},
            }}),
        );
        add(
            config,
            json!({"set_headers": {"x-of-attempt": {"cel": r#"channel + "-" + string(attempt)"#}}}),
        );
        add(
            config,
            json!({"set_headers": {"x-empty": {"cel": r#"request.headers["x-none"]"#}}}),
        );
        add(
            config,
            json!({"set_headers": {"x-key": {"cel": r#"request.headers["authorization"]"#}}}),
        );
    })
    .await;
    let request = Request::ask(Protocol::Chat)
        .header("x-region", "eu")
        .header("x-empty", "of the caller")
        .header("x_empty", "of the caller");
    assert_eq!(world.ask(&request).await.status, 200);
    let record = world.simulator.last().await;
    for (name, value) in [
        ("x-of-head", json!("fast-eu")),
        ("x-of-body", json!("demo-large/user")),
        ("x-of-attempt", json!("openai-1")),
        ("x-empty", json!(null)),
        ("x-key", json!(null)),
    ] {
        assert_eq!(record["headers"][name], value, "{name}");
    }
    assert!(!record.to_string().contains(ANN));
}

#[tokio::test]
async fn a_computed_header_that_cannot_be_sent_is_an_error() {
    let computed = json!({"set_headers": {"x-user": {"cel": "json(\"/user\")"}}});
    let world = TestSetup::with(|config| {
        add(config, computed.clone());
        let chain = route(config, "messages")["response"]
            .as_array_mut()
            .unwrap();
        chain.push(computed.clone());
    })
    .await;
    for user in ["secret\r\nx-admin: yes", "secret\n", "gr\u{fc}n-secret"] {
        let before = world.simulator.records().await.len();
        let response = world.ask(&chat_with("user", user.into())).await;
        assert_eq!(response.status, 500, "{user:?}: {}", response.text());
        assert!(response.json()["error"].is_object(), "{user:?}");
        assert_eq!(world.simulator.records().await.len(), before, "{user:?}");
        let line = world.gateway.log_of(&response).await;
        let detail = line["error_detail"].as_str().unwrap();
        assert!(detail.contains("value of header `x-user`"), "{line}");
        assert!(!format!("{line}{}", response.text()).contains("secret"));
        // A provider's response is sent without the header.
        let mut body = body_of(Protocol::Messages);
        body["user"] = user.into();
        let response = world
            .ask(&Request::to(Protocol::Messages, body.to_string()))
            .await;
        assert_eq!(response.status, 200, "{user:?}: {}", response.text());
        assert_eq!(response.headers.get("x-user"), None, "{user:?}");
        assert_eq!(response.headers.get("x-admin"), None, "{user:?}");
    }
}

#[tokio::test]
async fn a_reload_changes_conditions_for_new_requests() {
    let world = TestSetup::start().await;
    let mut changed: Value = serde_json::from_str(&world.gateway.config()).unwrap();
    add(
        &mut changed,
        json!({"if": r#"caller == "ann""#, "set_headers": {"x-pool": "fast"}}),
    );
    world.gateway.reload(&changed).await;
    assert_eq!(world.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    let header = received(&world.simulator, "x-pool").await;
    assert_eq!(header.as_deref(), Some("fast"));
}

#[tokio::test]
async fn a_conditional_check_refuses_in_the_shape_of_each_protocol() {
    let world = TestSetup::with(|config| {
        for name in ["chat", "messages", "responses"] {
            let chain = route(config, name)["request"].as_array_mut().unwrap();
            let step = json!({"if": r#"request.headers["x-from"] == "outside""#, "deny_ip": ["127.0.0.0/8"]});
            chain.push(step);
        }
    })
    .await;
    for protocol in PROTOCOLS {
        assert_eq!(world.ask(&Request::ask(protocol)).await.status, 200);
        let outside = Request::ask(protocol).header("x-from", "outside");
        let response = world.ask(&outside).await;
        assert_eq!(response.status, 403, "{protocol:?}: {}", response.text());
        assert!(response.json()["error"].is_object());
    }
}
