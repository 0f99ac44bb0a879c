//! Tests of held streams: bytes, windows, failures in the middle, and what holding adds to the first byte.

use crate::harness::error_shape::assert_error_event;
use crate::harness::http_response::json_response;
use crate::harness::request::BOB;
use crate::harness::service::{
    CONTINUE, FORBIDDEN, STREAM_HEAD, add_service, call_on_responses, gateway_with_checks,
    moderation, payloads, respond,
};
use crate::harness::whole_streams::whole;
use crate::harness::{
    Gateway, PROTOCOLS, Request, ScriptedProvider, ScriptedResponse, body_of, config, eventually,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

const DONE: &str = "data: [DONE]\n\n";

fn send(text: &str) -> ScriptedResponse {
    ScriptedResponse::Send(text.into())
}

/// A script: this stream, and its end.
fn whole_stream(events: &str) -> Vec<ScriptedResponse> {
    vec![send(STREAM_HEAD), send(events), ScriptedResponse::Close]
}

fn delta(text: &str) -> String {
    let data = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    format!("data: {data}\n\n")
}

fn finish() -> String {
    let data = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    format!("data: {data}\n\n{DONE}")
}

/// A gateway whose text routes hold streams of `provider`.
async fn gateway(
    provider: &ScriptedProvider,
    service: &ScriptedProvider,
    settings: &Value,
) -> Gateway {
    let limits = json!({"timeout": "500ms", "breaker": {"consecutive_failures": 0}});
    gateway_with_checks(provider, service, limits, settings).await
}

#[tokio::test]
async fn a_stream_that_is_allowed_is_the_same_byte_for_byte() {
    for hold in [
        json!({"events": 1}),
        json!({"events": 2}),
        json!({"bytes": "1"}),
        json!({"events": 10_000, "time": "30s", "bytes": "16MiB"}),
    ] {
        let service = ScriptedProvider::start(respond(CONTINUE)).await;
        let provider = ScriptedProvider::answering("").await;
        let gateway = gateway(&provider, &service, &json!({"hold": hold})).await;
        for protocol in PROTOCOLS {
            let (events, _) = whole(protocol);
            let stream = format!(": hello\n\n{}\n\n", events.join("\n\n"));
            provider.next(whole_stream(&stream));
            let answer = gateway.ask(&Request::ask_stream(protocol)).await;
            assert!(answer.whole, "{hold} {protocol:?}");
            assert_eq!(answer.text(), stream, "{hold} {protocol:?}");
            let line = gateway.log_of(&answer).await;
            assert_ne!(line["settlement"], "denied", "{line}");
        }
        for payload in payloads(&service) {
            assert_eq!(payload["phase"], "stream", "{payload}");
            assert!(
                payload["response"]["window"].as_u64().unwrap() > 0,
                "{payload}"
            );
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_in_a_window_is_checked_to_its_end() {
    let service = moderation().await;
    let provider = ScriptedProvider::answering("").await;
    let hold = json!({"events": 1000, "time": "30s", "bytes": "1MiB"});
    let gateway = gateway(&provider, &service, &json!({"hold": hold})).await;
    for (rest, is_whole) in [
        (finish(), true),
        (delta(FORBIDDEN) + &finish(), false),
        // The stream breaks off: what arrived is checked, then the error follows.
        (delta("more"), false),
        (delta(FORBIDDEN), false),
    ] {
        let stream = delta("fine") + &rest;
        provider.next(whole_stream(&stream));
        let answer = gateway.ask(&Request::ask_stream(Protocol::Chat)).await;
        let received = answer.text();
        assert_eq!(answer.whole, is_whole, "{received}");
        assert!(!received.contains(FORBIDDEN), "{received}");
        match is_whole {
            true => assert_eq!(received, stream),
            false => {
                assert_error_event(Protocol::Chat, &answer);
                assert!(!received.contains("[DONE]"), "{received}");
                let is_checked = received.starts_with(&delta("fine"));
                assert_eq!(is_checked, !rest.contains(FORBIDDEN), "{received}");
            }
        }
    }
}

#[tokio::test]
async fn a_window_is_released_at_its_time_while_the_provider_pauses() {
    let service = moderation().await;
    let provider = ScriptedProvider::answering("").await;
    let hold = json!({"events": 1000, "time": "100ms", "bytes": "1MiB"});
    let gateway = gateway(&provider, &service, &json!({"hold": hold})).await;
    let rest = Arc::new(Notify::new());
    provider.next(vec![
        send(STREAM_HEAD),
        send(&delta("early")),
        ScriptedResponse::WaitFor(rest.clone()),
        send(&finish()),
        ScriptedResponse::Close,
    ]);
    let mut answer = gateway.open(&Request::ask_stream(Protocol::Chat)).await;
    assert_eq!(answer.until("early").await, delta("early"));
    rest.notify_one();
    let rest = answer.rest().await;
    assert!(rest.whole, "{}", rest.text());
    assert_eq!(rest.text(), finish());
}

#[tokio::test]
async fn a_failure_in_the_middle_of_a_stream_ends_it_or_not() {
    for (on_failure, is_whole) in [("deny", false), ("allow", true)] {
        for failure in [
            vec![ScriptedResponse::Hang],
            vec![ScriptedResponse::Close],
            vec![ScriptedResponse::Send(json_response(200, "[]"))],
            vec![ScriptedResponse::Send(json_response(
                200,
                r#"{"action":"continue","headers":{"a":"b"}}"#,
            ))],
        ] {
            let service = ScriptedProvider::start(failure).await;
            service.next(respond(CONTINUE));
            let provider = ScriptedProvider::answering("").await;
            let settings = json!({"hold": {"events": 1}, "on_failure": on_failure});
            let gateway = gateway(&provider, &service, &settings).await;
            let stream = delta("one") + &delta("two") + &finish();
            provider.next(whole_stream(&stream));
            let answer = gateway.ask(&Request::ask_stream(Protocol::Chat)).await;
            let received = answer.text();
            assert!(received.starts_with(&delta("one")), "{received}");
            assert_eq!(answer.whole, is_whole, "{received}");
            match is_whole {
                true => assert_eq!(received, stream),
                false => {
                    assert_error_event(Protocol::Chat, &answer);
                    assert!(!received.contains("two"), "{received}");
                    assert!(received.contains("check_unavailable"), "{received}");
                }
            }
        }
    }
}

#[tokio::test]
async fn an_event_that_is_not_strict_json_follows_the_policy() {
    for (on_failure, is_whole) in [("deny", false), ("allow", true)] {
        let service = moderation().await;
        let provider = ScriptedProvider::answering("").await;
        let settings = json!({"hold": {}, "on_failure": on_failure});
        let gateway = gateway(&provider, &service, &settings).await;
        let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"a\\ud800\"}}]}\n\n".to_owned()
            + &finish();
        provider.next(whole_stream(&stream));
        let answer = gateway.ask(&Request::ask_stream(Protocol::Chat)).await;
        assert_eq!(answer.whole, is_whole, "{}", answer.text());
        assert_eq!(answer.text() == stream, is_whole, "{}", answer.text());
    }
}

#[tokio::test]
async fn heartbeats_continue_while_a_service_decides() {
    let slow = vec![
        ScriptedResponse::Wait(Duration::from_millis(400)),
        ScriptedResponse::Send(json_response(200, CONTINUE)),
    ];
    let service = ScriptedProvider::start(slow).await;
    let provider = ScriptedProvider::answering("").await;
    let mut config = config::standard(&provider.url());
    add_service(&mut config, &service, json!({"timeout": "10s"}));
    call_on_responses(&mut config, "chat", json!({"hold": {"events": 1}}));
    let response = &mut config::route(&mut config, "chat")["response"];
    response
        .as_array_mut()
        .unwrap()
        .insert(0, json!({"heartbeat": {"interval": "50ms"}}));
    let gateway = Gateway::start(&config).await;
    let stream = delta("one") + &finish();
    provider.next(whole_stream(&stream));
    let answer = gateway.ask(&Request::ask_stream(Protocol::Chat)).await;
    let received = answer.text();
    assert!(
        received.matches(": heartbeat\n\n").count() >= 3,
        "{received}"
    );
    assert_eq!(received.replace(": heartbeat\n\n", ""), stream);
}

#[tokio::test]
async fn a_caller_who_leaves_cancels_the_call_and_the_provider() {
    let service = ScriptedProvider::start(vec![ScriptedResponse::Hang]).await;
    let provider = ScriptedProvider::answering("").await;
    let mut config = config::standard(&provider.url());
    add_service(&mut config, &service, json!({"timeout": "30s"}));
    call_on_responses(&mut config, "chat", json!({"hold": {"events": 1}}));
    let gateway = Gateway::start(&config).await;
    let never = Arc::new(Notify::new());
    provider.next(vec![
        send(STREAM_HEAD),
        send(&delta("one")),
        ScriptedResponse::WaitFor(never),
    ]);
    let answer = gateway.open(&Request::ask_stream(Protocol::Chat)).await;
    eventually("the call", async || (service.open() == 1).then_some(())).await;
    drop(answer);
    eventually("the end of the call", async || {
        (service.open() == 0).then_some(())
    })
    .await;
    let line = gateway.log_line(|line| line["route"] == "chat").await;
    assert_eq!(line["settlement"], "client_cancelled", "{line}");
}

#[tokio::test]
async fn a_reload_changes_what_new_requests_are_asked() {
    let service = moderation().await;
    let stream = delta(FORBIDDEN) + &finish();
    let provider = ScriptedProvider::start(whole_stream(&stream)).await;
    let mut config = config::standard(&provider.url());
    config::without_cool_downs(&mut config);
    let gateway = Gateway::start(&config).await;
    let ask = async || {
        gateway
            .ask(&Request::ask_stream(Protocol::Chat))
            .await
            .whole
    };
    assert!(ask().await);
    let plain = config.clone();
    add_service(&mut config, &service, json!({}));
    call_on_responses(&mut config, "chat", json!({"hold": {}}));
    gateway.reload(&config).await;
    assert!(!ask().await);
    gateway.reload(&plain).await;
    assert!(ask().await);
}

#[tokio::test]
async fn two_checks_of_a_route_see_the_same_windows_and_either_may_deny() {
    let service = moderation().await;
    let provider = ScriptedProvider::answering("").await;
    let mut config = config::standard(&provider.url());
    add_service(&mut config, &service, json!({"timeout": "10s"}));
    let check = json!({"callout": {"service": "moderation", "hold": {"events": 1}}});
    let later = json!({"callout": {"service": "moderation", "hold": {"events": 3}}});
    config::route(&mut config, "chat")["response"] = json!([check, later]);
    let gateway = Gateway::start(&config).await;
    let stream = delta("one") + &delta("two") + &finish();
    provider.next(whole_stream(&stream));
    let answer = gateway.ask(&Request::ask_stream(Protocol::Chat)).await;
    assert_eq!(answer.text(), stream);
    let texts = payloads(&service);
    let texts = texts
        .iter()
        .map(|payload| payload["response"]["text"].clone());
    let texts: Vec<Value> = texts.collect();
    assert_eq!(texts, ["one", "one", "onetwo", "onetwo"]);
    let line = gateway.log_of(&answer).await;
    assert_eq!(line["callouts"], 4, "{line}");
}

#[tokio::test]
async fn a_check_with_a_condition_is_asked_where_the_condition_holds() {
    let service = moderation().await;
    let stream = delta(FORBIDDEN) + &finish();
    let provider = ScriptedProvider::start(whole_stream(&stream)).await;
    let mut config = config::standard(&provider.url());
    config::without_cool_downs(&mut config);
    add_service(&mut config, &service, json!({"timeout": "10s"}));
    let check = json!({"if": "caller == 'bob'", "callout": {"service": "moderation", "hold": {}}});
    config::route(&mut config, "chat")["response"] = json!([check]);
    let gateway = Gateway::start(&config).await;
    let free = gateway.ask(&Request::ask_stream(Protocol::Chat)).await;
    assert_eq!(free.text(), stream);
    let mut body = body_of(Protocol::Chat);
    body["stream"] = true.into();
    body["model"] = "demo-small".into();
    let request = Request::to(Protocol::Chat, body.to_string()).key(BOB);
    let checked = gateway.ask(&request).await;
    assert!(
        !checked.whole && !checked.text().contains(FORBIDDEN),
        "{}",
        checked.text()
    );
}

#[tokio::test]
async fn events_that_other_filters_change_are_checked_as_they_are_sent() {
    let service = moderation().await;
    let provider = ScriptedProvider::answering("").await;
    let mut config = config::standard(&provider.url());
    add_service(&mut config, &service, json!({"timeout": "10s"}));
    call_on_responses(&mut config, "chat", json!({"hold": {"events": 2}}));
    let request = &mut config::route(&mut config, "chat")["request"];
    request.as_array_mut().unwrap().push("force_usage".into());
    let gateway = Gateway::start(&config).await;
    let with_usage = delta("one").replace("\"choices\"", "\"usage\":null,\"choices\"");
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}\n\n";
    let end = finish().replace(DONE, "");
    let stream = [&*with_usage, &end, usage, DONE].concat();
    provider.next(whole_stream(&stream));
    let answer = gateway.ask(&Request::ask_stream(Protocol::Chat)).await;
    assert_eq!(answer.text(), [&*delta("one"), &end, DONE].concat());
    assert_eq!(payloads(&service)[0]["response"]["text"], "one");
    let line = gateway.log_of(&answer).await;
    assert_eq!(line["total_tokens"], 3, "{line}");
}

/// Prints what a held window adds to the time until the first text arrives.
#[tokio::test]
async fn the_time_that_a_window_adds_to_the_first_byte_is_measured() {
    const REQUESTS: usize = 30;
    let service = moderation().await;
    let pieces = |pause: u64| {
        let mut script = vec![send(STREAM_HEAD)];
        for index in 0..20 {
            script.push(send(&delta(&format!("word {index} "))));
            script.push(ScriptedResponse::Wait(Duration::from_millis(pause)));
        }
        script.extend([send(&finish()), ScriptedResponse::Close]);
        script
    };
    for pause in [0, 10] {
        let mut plain = None;
        for hold in [
            Value::Null,
            json!({"events": 1}),
            json!({"events": 4}),
            json!({}),
        ] {
            let provider = ScriptedProvider::start(pieces(pause)).await;
            let mut config = config::standard(&provider.url());
            if !hold.is_null() {
                add_service(&mut config, &service, json!({"timeout": "5s"}));
                call_on_responses(&mut config, "chat", json!({"hold": hold}));
            }
            let gateway = Gateway::start(&config).await;
            let mut times = Vec::new();
            for _ in 0..REQUESTS {
                let began = Instant::now();
                let mut answer = gateway.open(&Request::ask_stream(Protocol::Chat)).await;
                answer.until("word 0").await;
                times.push(began.elapsed());
                assert!(answer.rest().await.whole);
            }
            times.sort_unstable();
            let median = times[REQUESTS / 2];
            let added = median.saturating_sub(*plain.get_or_insert(median));
            println!(
                "an event each {pause} ms, hold {hold}: first text after {median:?}, {added:?} more"
            );
            assert!(median < Duration::from_secs(2), "{hold}");
        }
    }
}
