//! Receivers that respond with what is no response, or with one that never ends.

use crate::harness::receiver::{CallbackSetup, Receiver, create_with_callback, respond};
use crate::harness::video::GENERIC;
use crate::harness::{Gateway, ScriptedResponse, eventually};
use serde_json::{Value, json};
use std::time::Duration;

/// What a receiver does with the first attempt, and what becomes of that attempt.
struct HostileCase {
    name: &'static str,
    script: Vec<ScriptedResponse>,
    outcome: &'static str,
}

fn send(text: impl Into<Vec<u8>>) -> ScriptedResponse {
    ScriptedResponse::Send(text.into())
}

fn cases() -> Vec<HostileCase> {
    let case = |name, script, outcome| HostileCase {
        name,
        script,
        outcome,
    };
    let wait = || ScriptedResponse::Wait(Duration::from_secs(60));
    let close = || ScriptedResponse::Close;
    vec![
        case(
            "sends a header without end",
            vec![
                send("HTTP/1.1 200 OK\r\nX: "),
                send("x".repeat(4 << 20)),
                wait(),
            ],
            "retried",
        ),
        case(
            "sends header fields without end",
            vec![
                send("HTTP/1.1 200 OK\r\n"),
                send("X: y\r\n".repeat(100_000)),
                wait(),
            ],
            "retried",
        ),
        case(
            "sends a body without end",
            vec![
                send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000000\r\n\r\n"),
                send("x".repeat(8 << 20)),
                wait(),
            ],
            "delivered",
        ),
        case(
            "closes within the header",
            vec![send("HTTP/1.1 200 OK\r\nContent-"), close()],
            "retried",
        ),
        case(
            "closes within the body",
            vec![
                send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
                close(),
            ],
            "delivered",
        ),
        case(
            "sends informational responses without end",
            vec![
                send("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(50_000)),
                wait(),
            ],
            "retried",
        ),
        case(
            "switches protocols",
            vec![
                send(
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc",
                ),
                wait(),
            ],
            "retried",
        ),
        case(
            "does not speak HTTP",
            vec![send("SSH-2.0-x\r\n\r\n"), wait()],
            "retried",
        ),
        case(
            "redirects to itself",
            respond("308 Permanent Redirect\r\nLocation: /done"),
            "retried",
        ),
        case(
            "sends a Retry-After of the past",
            respond("503 Service Unavailable\r\nRetry-After: Thu, 01 Jan 1970 00:00:00 GMT"),
            "retried",
        ),
        case(
            "sends a Retry-After beyond all numbers",
            respond("503 Service Unavailable\r\nRetry-After: 100000000000000000000"),
            "retried",
        ),
    ]
}

/// The log's line about the first attempt to deliver an event.
async fn first_attempt(gateway: &Gateway, event_id: &str) -> Value {
    eventually("the outcome of an attempt", async || {
        let mut lines = gateway.process.stderr.json().into_iter();
        lines.find(|line| {
            line["message"] == "callback" && line["event_id"] == event_id && line["attempt"] == 1
        })
    })
    .await
}

#[tokio::test]
async fn no_response_of_a_receiver_stops_the_deliveries_to_others() {
    let setup = CallbackSetup::start("queue=2s;run=5m").await;
    let mut receivers = Vec::new();
    for case in cases() {
        let receiver = Receiver::responding("200 OK").await;
        receiver.0.next(case.script.clone());
        let url = receiver.url("/done");
        create_with_callback(&setup.gateway, GENERIC, "demo-video-a", &url).await;
        receivers.push((case, receiver));
    }
    for (case, receiver) in receivers {
        let id = receiver.wait_for(1).await[0].id.clone();
        let line = first_attempt(&setup.gateway, &id).await;
        assert_eq!(line["outcome"], case.outcome, "{}: {line}", case.name);
        let text = line.to_string();
        assert!(
            text.len() < 1_000,
            "{}: {} bytes of log",
            case.name,
            text.len()
        );
        let next = line["next_attempt_ms"].as_u64();
        let is_far = case.name.ends_with("beyond all numbers");
        if is_far {
            assert_eq!(next, Some(24 * 60 * 60 * 1_000), "{line}");
        } else if case.outcome == "retried" {
            assert!(next < Some(6_000), "{}: {line}", case.name);
            let events = receiver.wait_for(2).await;
            assert_eq!(events[1].id, id, "{}", case.name);
        }
        println!(
            "callbacks: a receiver that {}: {}, next attempt after {next:?} ms, {}",
            case.name, case.outcome, line["error"]
        );
    }
}

#[tokio::test]
async fn an_attempt_is_signed_with_the_secrets_of_its_time() {
    const NEW: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let setup = CallbackSetup::start("queue=1s;run=5m").await;
    setup.receiver.0.next(respond("500 Internal Server Error"));
    setup.create(GENERIC, "demo-video-a").await;
    setup.receiver.wait_for(1).await;
    let mut config = setup.config.clone();
    config["callers"][0]["webhook_secrets"] = json!([NEW]);
    setup.gateway.reload(&config).await;
    let events = setup.receiver.wait_for(2).await;
    assert_eq!(events[0].signatures.len(), 2);
    assert!(!events[0].is_signed_with(NEW), "{events:?}");
    assert_eq!(events[1].signatures.len(), 1);
    assert!(events[1].is_signed_with(NEW), "{events:?}");
}
