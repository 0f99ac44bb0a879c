//! Tests of failures under a success status: no caller takes them for a result, and they count against their channel.

use crate::harness::config::{self, channel};
use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::typed_response;
use crate::harness::images::{self, image_config};
use crate::harness::request::body_of;
use crate::harness::video::{GENERIC, ask, create, id_of, video_config};
use crate::harness::{
    Gateway, PATIENCE, PROTOCOLS, Request, ScriptedProvider, ScriptedResponse, Simulator,
    eventually, eventually_within,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;

/// How long operators wait at most to see that a channel fails.
const NAMED_WITHIN: Duration = Duration::from_secs(10);
const ALL: &[&str] = &["chat", "messages", "responses"];

/// Bodies that are errors of the provider, as other gateways and model servers send them.
const FAILURES: [&str; 7] = [
    r#"{"error":{"message":"overloaded","type":"server_error","code":null,"param":null}}"#,
    r#"{"error":"the worker died"}"#,
    r#"{"code":500,"msg":"busy","data":null}"#,
    r#"{"base_resp":{"status_code":1000,"status_msg":"unknown error"},"choices":null}"#,
    r#"{"object":"error","message":"engine is dead","type":"InternalServerError","code":500}"#,
    r#"{"type":"error","error":{"type":"api_error","message":"internal"}}"#,
    r#"{"id":"resp_1","object":"response","status":"failed","error":{"code":"server_error","message":"m"},"output":[]}"#,
];
const UNREADABLE: [&str; 6] = [
    "",
    "null",
    "[]",
    "busy, try later",
    "{\"id\":\"x\",\"choices\":[{\"message\":{",
    "{]",
];

fn whole(body: &str) -> Vec<ScriptedResponse> {
    labelled("application/json", body)
}

fn labelled(content_type: &str, body: &str) -> Vec<ScriptedResponse> {
    vec![ScriptedResponse::Send(typed_response(
        200,
        content_type,
        body,
    ))]
}

pub fn unstored(protocol: Protocol, is_stream: bool) -> Request {
    let mut body = body_of(protocol);
    if protocol == Protocol::Responses {
        body["store"] = json!(false);
    }
    if is_stream {
        body["stream"] = json!(true);
    }
    Request::to(protocol, body.to_string())
}

/// A gateway whose first channel is scripted, and whose second one is good.
pub async fn scripted_then_good(provider: &ScriptedProvider) -> (Gateway, Simulator) {
    let good = Simulator::start().await;
    let mut config = config::standard(&good.url());
    let mut bad = channel(&provider.url(), ALL, json!({"bearer": "sk-bad"}));
    let mut last = channel(&good.url(), ALL, json!({"bearer": "sk-good"}));
    bad["tier"] = 0.into();
    last["tier"] = 1.into();
    config["channels"] = json!({"bad": bad, "good": last});
    // Every request is sent again.
    config::with_unlimited_retries(&mut config);
    config::without_cool_downs(&mut config);
    (Gateway::start(&config).await, good)
}

async fn only_scripted(provider: &ScriptedProvider) -> Gateway {
    let mut config = config::standard(&provider.url());
    config::without_cool_downs(&mut config);
    Gateway::start(&config).await
}

#[tokio::test]
async fn a_failure_under_a_success_status_is_answered_by_the_next_channel() {
    let provider = ScriptedProvider::start(vec![]).await;
    let (gateway, good) = scripted_then_good(&provider).await;
    let mut sent = 0;
    for protocol in PROTOCOLS {
        for body in FAILURES.iter().chain(&UNREADABLE) {
            for is_stream in [false, true] {
                provider.next(whole(body));
                let answer = gateway.ask(&unstored(protocol, is_stream)).await;
                sent += 1;
                assert_eq!(answer.status, 200, "{protocol:?} {body}: {}", answer.text());
                let line = gateway.log_of(&answer).await;
                assert_eq!(line["channel"], "good", "{protocol:?} {body}: {line}");
                // Streams of chats have usage only on request.
                let settlement = match (protocol, is_stream) {
                    (Protocol::Chat, true) => "usage_missing",
                    _ => "complete",
                };
                assert_eq!(
                    line["settlement"], settlement,
                    "{protocol:?} {body}: {line}"
                );
                let failed = line["failed_attempts"].as_str().unwrap();
                assert!(failed.contains("status 200"), "{line}");
            }
        }
    }
    assert_eq!(good.records().await.len(), sent);
}

#[tokio::test]
async fn without_another_channel_the_caller_gets_the_error_as_an_error() {
    let provider = ScriptedProvider::start(vec![]).await;
    let gateway = only_scripted(&provider).await;
    let context = r#"{"error":{"message":"too many tokens","type":"invalid_request_error","code":"context_length_exceeded","param":"messages"}}"#;
    provider.next(whole(context));
    let answer = gateway.ask(&unstored(Protocol::Chat, true)).await;
    assert_eq!((answer.status, answer.text()), (400, context.into()));
    let limited = r#"{"error":{"message":"slow down","code":429}}"#;
    provider.next(labelled("text/plain", limited));
    let answer = gateway.ask(&unstored(Protocol::Chat, false)).await;
    assert_eq!((answer.status, answer.text()), (429, limited.into()));
    assert_eq!(answer.headers.get("content-type"), Some("application/json"));
    for protocol in PROTOCOLS {
        // What is not in the format of the protocol is put into it.
        provider.next(whole(r#"{"code":500,"msg":"busy","data":null}"#));
        let answer = gateway.ask(&unstored(protocol, false)).await;
        assert_error_body(protocol, &answer, 500);
        for body in UNREADABLE {
            provider.next(whole(body));
            let answer = gateway.ask(&unstored(protocol, false)).await;
            assert_error_body(protocol, &answer, 502);
            let line = gateway.log_of(&answer).await;
            assert_eq!(line["settlement"], "upstream_error", "{line}");
        }
    }
}

#[tokio::test]
async fn a_stored_response_that_cannot_be_read_is_not_asked_for_again() {
    let provider = ScriptedProvider::start(vec![]).await;
    let (gateway, good) = scripted_then_good(&provider).await;
    for body in UNREADABLE {
        provider.next(whole(body));
        let answer = gateway.ask(&Request::ask(Protocol::Responses)).await;
        assert_error_body(Protocol::Responses, &answer, 502);
    }
    assert_eq!(good.records().await.len(), 0);
}

#[tokio::test]
async fn a_paid_request_is_sent_once_whatever_its_success_contains() {
    let simulator = Simulator::start().await;
    let provider = ScriptedProvider::start(vec![]).await;
    let mut config = image_config(&simulator, "", json!({}));
    let mut second = config["channels"]["images"].clone();
    second["tier"] = json!(1);
    config["channels"]["second"] = second;
    config["channels"]["images"]["base_url"] = json!(provider.url());
    config::without_cool_downs(&mut config);
    let gateway = Gateway::start(&config).await;
    let request = Request::post(images::PATH, images::json_body().to_string());
    for body in FAILURES.iter().chain(&UNREADABLE) {
        provider.next(whole(body));
        let answer = gateway.ask(&request).await;
        assert_eq!(answer.status, 502, "{body}: {}", answer.text());
        assert_eq!(
            answer.json()["error"]["code"],
            "invalid_upstream_response",
            "{body}"
        );
        assert_eq!(
            answer.headers.get("x-should-retry"),
            Some("false"),
            "{body}"
        );
    }
    assert_eq!(simulator.records().await.len(), 0);
}

#[tokio::test]
async fn a_success_in_place_of_a_stream_is_passed_on_metered_and_reported() {
    let provider = ScriptedProvider::start(vec![]).await;
    let (gateway, good) = scripted_then_good(&provider).await;
    let success = r#"{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#;
    provider.next(whole(success));
    let answer = gateway.ask(&unstored(Protocol::Chat, true)).await;
    assert_eq!((answer.status, answer.text()), (200, success.into()));
    let line = gateway.log_of(&answer).await;
    assert_eq!(
        (&line["settlement"], &line["output_tokens"]),
        (&json!("complete"), &json!(2))
    );
    let finding = finding(&gateway, "unstreamed").await;
    assert_eq!(finding["subject"], "channel bad");
    assert_eq!(good.records().await.len(), 0);
}

#[tokio::test]
async fn a_stream_that_is_labelled_json_is_a_stream() {
    let provider = ScriptedProvider::start(vec![]).await;
    let gateway = only_scripted(&provider).await;
    let stream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    for content_type in ["application/json", "text/plain"] {
        provider.next(labelled(content_type, stream));
        let answer = gateway.ask(&unstored(Protocol::Chat, true)).await;
        assert_eq!((answer.status, answer.text()), (200, stream.into()));
        assert_eq!(
            answer.headers.get("content-type"),
            Some("text/event-stream")
        );
        assert_eq!(gateway.log_of(&answer).await["streamed"], true);
    }
}

#[tokio::test]
async fn json_without_usage_settles_as_usage_missing() {
    let provider = ScriptedProvider::start(vec![]).await;
    let gateway = only_scripted(&provider).await;
    for (protocol, body, settlement) in [
        (
            Protocol::Chat,
            r#"{"choices":[{"message":{"content":"hi"}}]}"#,
            "usage_missing",
        ),
        (
            Protocol::Messages,
            r#"{"type":"message","content":[{"type":"text","text":"x"}]}"#,
            "usage_missing",
        ),
        (
            Protocol::Responses,
            r#"{"id":"r","status":"completed","output":[]}"#,
            "usage_missing",
        ),
        (
            Protocol::Responses,
            r#"{"id":"r","status":"queued","output":[],"usage":null}"#,
            "complete",
        ),
    ] {
        provider.next(whole(body));
        let answer = gateway.ask(&unstored(protocol, false)).await;
        let line = gateway.log_of(&answer).await;
        assert_eq!(
            (&line["status"], &line["settlement"]),
            (&json!(200), &json!(settlement)),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_to_be_held_counts_as_failed_when_it_was_cut() {
    let provider = ScriptedProvider::start(vec![]).await;
    let gateway = only_scripted(&provider).await;
    let text = "x".repeat(200_000);
    let cut = format!(r#"{{"choices":[{{"message":{{"content":"{text}"}}}}"#);
    for (body, settlement) in [
        (
            format!("{cut}],\"usage\":{{\"prompt_tokens\":1}}}}"),
            "complete",
        ),
        (cut, "upstream_error"),
    ] {
        provider.next(whole(&body));
        let answer = gateway.ask(&unstored(Protocol::Chat, false)).await;
        assert_eq!((answer.status, answer.text() == body), (200, true));
        let line = gateway.log_of(&answer).await;
        assert_eq!(line["settlement"], settlement, "{}", answer.body.len());
    }
}

#[tokio::test]
async fn a_query_that_is_answered_with_nothing_counts_against_its_channel() {
    let simulator = Simulator::start().await;
    for body in ["", "null", "busy"] {
        let created = whole(r#"{"id":"cgt-20260101000000-abcde"}"#);
        let provider = ScriptedProvider::start(created).await;
        let mut config = video_config(&simulator, "");
        config["channels"]["a"]["base_url"] = json!(format!("http://{}/api", provider.address));
        config::without_cool_downs(&mut config);
        let gateway = Gateway::start(&config).await;
        let id = id_of(GENERIC, &create(&gateway, GENERIC, "demo-video-a").await);
        provider.next(whole(body));
        ask(&gateway, GENERIC, &id).await;
        let outcome = [("channel", "a"), ("outcome", "invalid_response")];
        let metrics = gateway.metrics().await;
        assert_eq!(
            metrics.sum("headgate_attempts_total", &outcome),
            1.0,
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_channel_that_fails_with_successes_takes_no_traffic_and_is_named_within_seconds() {
    for body in [
        FAILURES[0],
        FAILURES[2],
        FAILURES[4],
        UNREADABLE[0],
        UNREADABLE[3],
    ] {
        let provider = ScriptedProvider::start(whole(body)).await;
        let good = Simulator::start().await;
        let mut config = config::standard(&good.url());
        config["channels"] = json!({
            "black-hole": channel(&provider.url(), ALL, json!({"bearer": "sk-bad"})),
            "good": channel(&good.url(), ALL, json!({"bearer": "sk-good"})),
        });
        let gateway = Gateway::start(&config).await;
        let load = async {
            let mut served = 0;
            for number in 0..120 {
                let request = unstored(Protocol::Chat, number % 2 == 0);
                let answer = gateway.ask(&request).await;
                served += usize::from(number >= 5 && answer.status == 200);
            }
            served
        };
        let naming = async {
            let failed = async || (!provider.requests().is_empty()).then_some(());
            eventually("a request to the black hole", failed).await;
            finding_within(NAMED_WITHIN, &gateway, "false_successes").await
        };
        let (served, found) = tokio::join!(load, naming);
        let attempts = provider.requests().len();
        println!("{body:?}: {served} of 115 served, {attempts} attempts; {found}");
        assert!(
            served * 100 >= 115 * 99,
            "{body:?}: {served} of 115 callers were served"
        );
        assert_eq!(found["subject"], "channel black-hole");
        // A channel in cool-down gets no further requests.
        assert!(attempts < 20, "{body:?}: {attempts} attempts");
    }
}

/// The finding with this code, once there is one.
async fn finding(gateway: &Gateway, code: &str) -> Value {
    finding_within(PATIENCE, gateway, code).await
}

async fn finding_within(patience: Duration, gateway: &Gateway, code: &str) -> Value {
    let look = async || {
        let page = gateway.page("GET", "/findings").await.json();
        let findings = page["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|finding| finding["code"] == code)
    };
    eventually_within(patience, code, look).await
}
