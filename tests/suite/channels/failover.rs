//! Tests of channels that fail: failover, cool-downs and their cost.

use crate::harness::config::{self, channel};
use crate::harness::error_shape::assert_error_body;
use crate::harness::request::body_of;
use crate::harness::{
    Gateway, PROTOCOLS, Request, ScriptedProvider, ScriptedResponse, Simulator, WholeResponse,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;

const ALL: &[&str] = &["chat", "messages", "responses"];

/// A gateway with a bad channel of tier 0 and a good one of tier 1.
struct BadThenGood {
    gateway: Gateway,
    good: Simulator,
}

impl BadThenGood {
    async fn start(bad: &str, change: impl FnOnce(&mut Value)) -> Self {
        let good = Simulator::start().await;
        let mut config = config::standard(&good.url());
        let mut bad = channel(bad, ALL, json!({"bearer": "sk-bad"}));
        let mut last = channel(&good.url(), ALL, json!({"bearer": "sk-good"}));
        bad["tier"] = 0.into();
        last["tier"] = 1.into();
        config["channels"] = json!({"bad": bad, "good": last});
        change(&mut config);
        Self {
            gateway: Gateway::start(&config).await,
            good,
        }
    }

    async fn line(&self, answer: &WholeResponse) -> Value {
        self.gateway.log_of(answer).await
    }
}

fn routes(config: &mut Value) -> impl Iterator<Item = &mut Value> {
    config["routes"].as_array_mut().unwrap().iter_mut()
}

#[tokio::test]
async fn an_error_as_first_event_is_answered_by_the_next_channel() {
    for directives in ["error_event_first", "error_event_after=0", "cut_after=0"] {
        let faulty = Simulator::start().await;
        let world = BadThenGood::start(&faulty.url_obeying(directives), |config| {
            config::without_cool_downs(config);
            for route in routes(config) {
                route["failover"] = json!({"report_attempts": true});
            }
        })
        .await;
        for protocol in PROTOCOLS {
            let answer = world.gateway.ask(&Request::ask_stream(protocol)).await;
            let text = answer.text();
            assert_eq!((answer.status, answer.whole), (200, true), "{text}");
            assert!(!text.contains("\"error\":{"), "{directives}: {text}");
            assert_eq!(answer.headers.get("x-headgate-attempts"), Some("2"));
            let line = world.line(&answer).await;
            assert_eq!(
                (&line["attempts"], &line["channel"]),
                (&json!(2), &json!("good")),
                "{line}"
            );
            assert!(line["committed_ms"].is_number(), "{line}");
        }
        assert_eq!(faulty.records().await.len(), 3);
        assert_eq!(world.good.records().await.len(), 3);
    }
}

#[tokio::test]
async fn an_error_behind_content_is_the_callers_and_no_other_channel_is_asked() {
    let faulty = Simulator::start().await;
    let world = BadThenGood::start(
        &faulty.url_obeying("error_event_after=1"),
        config::without_cool_downs,
    )
    .await;
    for protocol in PROTOCOLS {
        let answer = world.gateway.ask(&Request::ask_stream(protocol)).await;
        assert_eq!(answer.status, 200);
        assert!(answer.text().contains("error"), "{}", answer.text());
        let line = world.gateway.log_of(&answer).await;
        assert_eq!(line["settlement"], "upstream_error", "{line}");
    }
    assert_eq!(world.good.records().await.len(), 0);
}

#[tokio::test]
async fn an_error_event_about_the_request_is_the_callers() {
    let bad_prompt = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no\"}}\n\n";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let provider = ScriptedProvider::start(vec![
        ScriptedResponse::Send(format!("{head}{bad_prompt}").into_bytes()),
        ScriptedResponse::Close,
    ])
    .await;
    let world = BadThenGood::start(&provider.url(), |_| {}).await;
    let answer = world
        .gateway
        .ask(&Request::ask_stream(Protocol::Messages))
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.text(), bad_prompt);
    assert_eq!(world.good.records().await.len(), 0);
}

#[tokio::test]
async fn a_stream_is_held_no_longer_than_its_bounds() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    let framing = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n";
    for (hold, fillers) in [
        (json!({"time": "200ms"}), 1),
        (json!({"time": "1h", "size": "1KiB"}), 20),
    ] {
        let sent = format!("{head}{}", framing.repeat(fillers));
        let provider = ScriptedProvider::start(vec![
            ScriptedResponse::Send(sent.into_bytes()),
            ScriptedResponse::Wait(Duration::from_secs(3600)),
        ])
        .await;
        let world = BadThenGood::start(&provider.url(), |config| {
            config::route(config, "chat")["failover"] = json!({"buffer_first_events": hold});
        })
        .await;
        let mut reply = world
            .gateway
            .open(&Request::ask_stream(Protocol::Chat))
            .await;
        // The test would hang here if held events were never sent.
        reply.until("\"role\":\"assistant\"").await;
        assert_eq!(world.good.records().await.len(), 0);
    }
}

#[tokio::test]
async fn stored_responses_are_not_retried_on_timeout() {
    let mute =
        ScriptedProvider::start(vec![ScriptedResponse::Wait(Duration::from_secs(3600))]).await;
    let world = BadThenGood::start(&mute.url(), |config| {
        config::without_cool_downs(config);
        config["channels"]["bad"]["timeouts"] = json!({"first_byte": "200ms"});
    })
    .await;
    for (protocol, member, value, may_follow) in [
        (Protocol::Chat, "store", json!(true), false),
        (Protocol::Chat, "store", json!(false), true),
        (Protocol::Chat, "user", json!("u"), true),
        (Protocol::Messages, "temperature", json!(1), true),
        (Protocol::Responses, "store", json!(false), true),
        (Protocol::Responses, "user", json!("u"), false),
        (Protocol::Responses, "background", json!(true), false),
    ] {
        let mut body = body_of(protocol);
        body[member] = value;
        let answer = world
            .gateway
            .ask(&Request::to(protocol, body.to_string()))
            .await;
        match may_follow {
            true => assert_eq!(answer.status, 200, "{body}"),
            false => drop(assert_error_body(protocol, &answer, 504)),
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_in_an_error_counts_as_a_failure() {
    let faulty = Simulator::start().await;
    let world = BadThenGood::start(&faulty.url_obeying("error_event_after=1"), |config| {
        config["channels"]["bad"]["health"] = json!({"consecutive_failures": 1, "cool_down": "1h"});
    })
    .await;
    for is_error in [true, false, false] {
        let answer = world
            .gateway
            .ask(&Request::ask_stream(Protocol::Chat))
            .await;
        assert_eq!(
            answer.text().contains("error"),
            is_error,
            "{}",
            answer.text()
        );
        // The failure is counted after the caller has read the last event.
        world.gateway.log_of(&answer).await;
    }
    assert_eq!(faulty.records().await.len(), 1);
}

#[tokio::test]
async fn on_timeout_false_waits_for_the_provider() {
    let mute =
        ScriptedProvider::start(vec![ScriptedResponse::Wait(Duration::from_secs(3600))]).await;
    let world = BadThenGood::start(&mute.url(), |config| {
        config["channels"]["bad"]["timeouts"] = json!({"first_byte": "200ms"});
        config::route(config, "chat")["failover"] = json!({"on_timeout": false});
    })
    .await;
    let answer = world.gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_error_body(Protocol::Chat, &answer, 504);
    let should_retry = answer.headers.get("x-should-retry");
    assert_eq!(should_retry, Some("false"), "its SDK would pay twice");
    assert_eq!(world.good.records().await.len(), 0);
}

#[tokio::test]
async fn a_provider_that_names_a_time_is_not_asked_again_before() {
    let busy = Simulator::start().await;
    let url = busy.url_obeying("status=429;retry_after=3600");
    // Without the time that the provider names, the next request would be sent to it.
    let world = BadThenGood::start(&url, |config| {
        config["channels"]["bad"]["health"] = json!({"cool_down": "1ms"});
    })
    .await;
    for _ in 0..5 {
        let answer = world.gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    assert_eq!(busy.records().await.len(), 1);
    let metrics = world.gateway.metrics().await;
    let why = [("channel", "bad"), ("reason", "rate_limited")];
    assert_eq!(metrics.sum("headgate_cool_downs_total", &why), 1.0);
}

#[tokio::test]
async fn a_failing_channel_cools_down_and_is_retried() {
    let faulty = Simulator::start().await;
    let url = faulty.url_obeying("status=500;times=4");
    let world = BadThenGood::start(&url, |config| {
        config["channels"]["bad"]["health"] =
            json!({"consecutive_failures": 3, "cool_down": "300ms"});
    })
    .await;
    let request = Request::ask(Protocol::Chat);
    let ask = || world.gateway.ask(&request);
    for _ in 0..10 {
        assert_eq!(ask().await.status, 200);
    }
    assert_eq!(
        faulty.records().await.len(),
        3,
        "three failures in a row are enough"
    );
    // The first trial fails, a later one succeeds.
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    loop {
        let answer = ask().await;
        assert_eq!(answer.status, 200);
        if world.line(&answer).await["channel"] == "bad" {
            break;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "it is never tried again"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_refused_credential_is_not_reported_as_the_callers_error() {
    for (directives, code) in [
        ("status=401", "refused_credential"),
        ("status=429;code=insufficient_quota", "refused_account"),
    ] {
        let provider = Simulator::start().await;
        let mut config = config::standard(&provider.url_obeying(directives));
        config["channels"]["openai"]["timeouts"] = json!({});
        let gateway = Gateway::start(&config).await;
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_error_body(Protocol::Chat, &answer, 502);
        assert!(answer.text().contains("operator"), "{}", answer.text());
        // The credential is now in cool-down, and responses carry Retry-After.
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_error_body(Protocol::Chat, &answer, 503);
        assert!(answer.headers.get("retry-after").is_some());
        assert_eq!(provider.records().await.len(), 1);
        let line = gateway.log_of(&answer).await;
        let detail = line["error_detail"].as_str().unwrap();
        assert!(detail.contains(code), "{detail}");
        assert!(
            !answer.text().contains(code),
            "callers are not told: {}",
            answer.text()
        );
        let metrics = gateway.metrics().await;
        let key = [("channel", "openai"), ("credential", "1")];
        assert_eq!(metrics.sum("headgate_credential_refused", &key), 1.0);
        config["channels"]["openai"]["credential"] = json!({"bearer": "sk-another"});
        let file = gateway.folder.path().join("routes.yaml");
        std::fs::write(file, config.to_string()).unwrap();
        assert_eq!(gateway.page("POST", "/reload").await.status, 200);
        let metrics = gateway.metrics().await;
        assert_eq!(metrics.sum("headgate_credential_refused", &key), 0.0);
    }
}

#[tokio::test]
async fn the_keys_of_a_channel_are_used_in_turn_and_one_that_is_refused_is_left_out() {
    let provider = Simulator::start().await;
    let mut config = config::standard(&provider.url());
    let openai = config["channels"]["openai"].as_object_mut().unwrap();
    openai.remove("credential");
    openai.insert(
        "credentials".into(),
        json!([{"bearer": "sk-one"}, {"bearer": "sk-two"}, {"bearer": "sk-three"}]),
    );
    let gateway = Gateway::start(&config).await;
    for _ in 0..6 {
        assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    }
    let mut used: Vec<String> = Vec::new();
    for record in provider.records().await {
        used.push(record["headers"]["authorization"].as_str().unwrap().into());
    }
    used.sort();
    let each_twice = ["one", "one", "three", "three", "two", "two"];
    assert_eq!(used, each_twice.map(|key| format!("Bearer sk-{key}")));
    // The provider refuses one credential; the next one serves the same request.
    let answer = gateway
        .ask(&Request::ask(Protocol::Chat).simulate("status=401;times=1"))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(gateway.log_of(&answer).await["attempts"], 2);
}

#[tokio::test]
async fn a_channel_at_its_limit_is_skipped_or_waited_for() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    config["channels"]["openai"]["limits"] = json!({"concurrent": 1});
    config::route(&mut config, "responses")["failover"] = json!({"queue_timeout": "30s"});
    let gateway = Gateway::start(&config).await;
    let slow = Request::ask_stream(Protocol::Chat).simulate("pace=20ms; events=100");
    let mut reply = gateway.open(&slow).await;
    reply.until("data:").await;
    let refused = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_error_body(Protocol::Chat, &refused, 503);
    assert_eq!(refused.headers.get("retry-after"), Some("1"));
    let patient = Request::ask(Protocol::Responses);
    let (waited, rest) = tokio::join!(gateway.ask(&patient), reply.rest());
    assert!(rest.whole);
    assert_eq!(waited.status, 200, "{}", waited.text());
}

#[tokio::test]
async fn attempts_are_bounded_by_the_route_and_by_the_budget() {
    for (retries, attempts, made) in [
        (json!({"budget_percent": 100, "min_per_second": 1000}), 2, 2),
        (json!({"budget_percent": 100, "min_per_second": 1000}), 4, 3),
        (json!({"budget_percent": 0, "min_per_second": 0}), 4, 1),
    ] {
        let faulty = Simulator::start().await;
        let mut config = config::standard(&faulty.url_obeying("status=500"));
        for name in ["second", "third"] {
            config["channels"][name] = config["channels"]["openai"].clone();
        }
        config["retries"] = retries;
        config::route(&mut config, "chat")["failover"] = json!({"max_attempts": attempts});
        let gateway = Gateway::start(&config).await;
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(
            answer.status,
            500,
            "the provider's own words: {}",
            answer.text()
        );
        assert_eq!(faulty.records().await.len(), made);
        assert_eq!(gateway.log_of(&answer).await["attempts"], made);
    }
}

#[tokio::test]
async fn health_outlives_a_reload_that_does_not_change_the_channel() {
    let busy = Simulator::start().await;
    let good = Simulator::start().await;
    let mut config = config::standard(&good.url());
    let mut bad = config["channels"]["openai"].clone();
    bad["base_url"] = busy.url_obeying("status=429;retry_after=3600").into();
    config["channels"]["openai"]["tier"] = 1.into();
    config["channels"]["bad"] = bad;
    let gateway = Gateway::start(&config).await;
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    config["models"]["demo-large"]["display_name"] = "Another".into();
    config["channels"]["bad"]["weight"] = 7.into();
    gateway.folder.write("routes.yaml", config.to_string());
    assert_eq!(gateway.page("POST", "/reload").await.status, 200);
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    assert_eq!(busy.records().await.len(), 1);
}
