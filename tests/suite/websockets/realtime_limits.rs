//! Tests of limits, budgets and keys during a session.

use super::realtime::{event_of_type, open, sound, with_sessions};
use crate::harness::{Gateway, Simulator};
use serde_json::{Value, json};

#[tokio::test]
async fn a_used_up_budget_refuses_the_next_response_and_closes() {
    for begins_by_sound in [false, true] {
        let simulator = Simulator::start().await;
        let mut config = with_sessions(&simulator.url());
        config["callers"][0]["limits"] = json!({"tokens_per_day": 30});
        let gateway = Gateway::start(&config).await;
        let mut client = open(&gateway).await;
        let begin = match begins_by_sound {
            true => sound(),
            false => json!({"type": "response.create"}),
        };
        let mut error = Value::Null;
        for _ in 0..5 {
            client.send(&begin).await;
            loop {
                let event = client.event().await;
                if event["type"] == "error" {
                    error = event;
                    break;
                }
                if event["type"] == "response.done" {
                    break;
                }
            }
            if !error.is_null() {
                break;
            }
        }
        assert_eq!(error["error"]["code"], "insufficient_quota", "{error}");
        assert_eq!(client.close_code().await, Some(1008));
    }
}

#[tokio::test]
async fn a_rate_limit_refuses_a_response_and_the_session_stays_open() {
    let simulator = Simulator::start().await;
    let mut config = with_sessions(&simulator.url());
    // The handshake is one.
    config["callers"][0]["limits"] = json!({"requests_per_minute": 2});
    let gateway = Gateway::start(&config).await;
    let mut client = open(&gateway).await;
    client.send(&json!({"type": "response.create"})).await;
    event_of_type(&mut client, "response.done").await;
    let refused = json!({"type": "response.create", "event_id": "late"});
    client.send(&refused).await;
    let error = client.event().await;
    assert_eq!(error["error"]["code"], "rate_limit_exceeded", "{error}");
    assert_eq!(error["error"]["event_id"], "late", "{error}");
    client
        .send(&json!({"type": "input_audio_buffer.clear"}))
        .await;
    let cleared = client.event().await;
    assert_eq!(cleared["type"], "input_audio_buffer.cleared", "{cleared}");
}

#[tokio::test]
async fn a_refused_response_that_the_provider_has_begun_reaches_nobody_and_ends_the_session() {
    let simulator = Simulator::start().await;
    let mut config = with_sessions(&simulator.url());
    config["callers"][0]["limits"] = json!({"requests_per_minute": 2});
    let gateway = Gateway::start(&config).await;
    let mut client = open(&gateway).await;
    client.send(&sound()).await;
    event_of_type(&mut client, "response.done").await;
    client.send(&sound()).await;
    let mut kinds = Vec::new();
    let error = loop {
        let event = client.event().await;
        if event["type"] == "error" {
            break event;
        }
        kinds.push(event["type"].as_str().unwrap().to_owned());
    };
    assert_eq!(error["error"]["code"], "rate_limit_exceeded", "{error}");
    assert!(
        !kinds.iter().any(|kind| kind.starts_with("response.")),
        "{kinds:?}"
    );
    assert_eq!(client.close_code().await, Some(1008));
}

#[tokio::test]
async fn a_revoked_key_refuses_the_next_response_and_closes() {
    let simulator = Simulator::start().await;
    let mut config = with_sessions(&simulator.url());
    let gateway = Gateway::start(&config).await;
    let mut client = open(&gateway).await;
    let callers = config["callers"].as_array_mut().unwrap();
    callers.retain(|caller| caller["name"] != "ann");
    gateway.reload(&config).await;
    client.send(&json!({"type": "response.create"})).await;
    let error = client.event().await;
    assert_eq!(error["error"]["code"], "invalid_api_key", "{error}");
    assert_eq!(client.close_code().await, Some(1008));
}
