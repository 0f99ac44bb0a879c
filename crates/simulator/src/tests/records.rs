//! Tests of the request log.

use super::{get, ordinary, post, request, send, simulator, with};
use crate::http_response::SimulatedBody;
use crate::{Simulator, SimulatorDefaults};
use serde_json::{Value, json};
use std::time::Duration;

async fn record(simulator: &Simulator, n: u64) -> Value {
    get(simulator, &format!("/_simulate/requests/{n}"))
        .await
        .json()
}

async fn open(simulator: &Simulator) -> Value {
    get(simulator, "/_simulate/open").await.json()
}

/// Gives spawned streams time to notice a change.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

#[tokio::test]
async fn a_request_is_recorded_with_head_body_and_times() {
    let simulator = simulator();
    let [(path, body), ..] = ordinary();
    let path = &format!("/~delay=5ms{path}?a=b");
    post(&simulator, path, &body).await;
    let record = record(&simulator, 1).await;
    assert_eq!(
        (&record["n"], &record["method"], &record["path"]),
        (&json!(1), &json!("POST"), &json!(path))
    );
    assert_eq!(
        record["headers"]["authorization"],
        "Bearer sk-test-credential"
    );
    assert_eq!(
        (&record["model"], &record["ended"]),
        (&json!("m-1"), &json!("complete"))
    );
    assert_eq!(record["body_bytes"], body.to_string().len());
    assert_eq!(record["body_sha256"].as_str().unwrap().len(), 64);
    let at = |key: &str| record[key].as_u64().unwrap();
    assert!(at("first_byte_ms") >= at("started_ms") + 5 && at("ended_ms") >= at("first_byte_ms"));
    assert_eq!(
        get(&simulator, "/_simulate/requests/1/body").await.body,
        body.to_string()
    );
    assert_eq!(get(&simulator, "/_simulate/requests/2").await.status, 404);
    assert_eq!(get(&simulator, "/_simulate/nothing").await.status, 404);
}

#[tokio::test]
async fn all_records_are_listed_until_cleared() {
    let simulator = simulator();
    for (path, body) in ordinary() {
        post(&simulator, path, &body).await;
    }
    assert_eq!(
        get(&simulator, "/_simulate/requests")
            .await
            .json()
            .as_array()
            .unwrap()
            .len(),
        3
    );
    send(&simulator, request("DELETE", "/_simulate/requests", "")).await;
    assert_eq!(
        get(&simulator, "/_simulate/requests").await.json(),
        json!([])
    );
}

#[tokio::test]
async fn the_record_distinguishes_complete_from_cut_responses() {
    let simulator = simulator();
    for (directives, ended) in [
        ("", "complete"),
        ("/~cut_after=1", "cut"),
        ("/~error_event_after=1", "complete"),
    ] {
        for (path, body) in ordinary() {
            post(
                &simulator,
                &format!("{directives}{path}"),
                &with(&body, &json!({"stream": true})),
            )
            .await;
        }
        settle().await;
        let records = get(&simulator, "/_simulate/requests").await.json();
        for record in records.as_array().unwrap().iter().rev().take(3) {
            assert_eq!(record["ended"], ended, "{directives}");
        }
    }
    assert_eq!(open(&simulator).await, 0);
}

#[tokio::test]
async fn a_client_that_leaves_before_the_head_is_noticed_at_once() {
    let simulator = simulator();
    for (n, directives) in [(1, "delay=1m"), (2, "stall")] {
        let [(path, body), ..] = ordinary();
        let path = format!("/~{directives}{path}");
        let response = simulator.respond(request("POST", &path, body.to_string()));
        let mut response = Box::pin(response);
        assert!(
            tokio::time::timeout(Duration::from_millis(5), &mut response)
                .await
                .is_err()
        );
        assert_eq!(record(&simulator, n).await["ended"], "open");
        assert_eq!(open(&simulator).await, 1);
        drop(response);
        assert_eq!(record(&simulator, n).await["ended"], "client_left");
        assert_eq!(open(&simulator).await, 0);
    }
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_is_noticed_at_once() {
    let simulator = simulator();
    let directives = ["pace=1m", "stall_after=1", "events=10000"];
    for (n, directives) in (1..).zip(directives) {
        let [(path, body), ..] = ordinary();
        let body = with(&body, &json!({"stream": true}));
        let response = simulator
            .respond(request(
                "POST",
                &format!("/~{directives}{path}"),
                body.to_string(),
            ))
            .await;
        let SimulatedBody::Stream(mut chunks) = response.body else {
            panic!("no stream");
        };
        assert!(chunks.recv().await.is_some());
        settle().await;
        assert_eq!(record(&simulator, n).await["ended"], "open", "{directives}");
        drop(chunks);
        settle().await;
        let left = record(&simulator, n).await;
        assert_eq!(left["ended"], "client_left", "{directives}");
        assert!(left["ended_ms"].as_u64() >= left["first_byte_ms"].as_u64());
        assert_eq!(open(&simulator).await, 0);
    }
}

#[tokio::test]
async fn a_stream_not_yet_taken_to_its_end_is_not_complete() {
    let simulator = simulator();
    let [(path, body), ..] = ordinary();
    let body = with(&body, &json!({"stream": true, "max_tokens": 1}));
    let response = simulator
        .respond(request("POST", path, body.to_string()))
        .await;
    settle().await;
    assert_eq!(record(&simulator, 1).await["ended"], "open");
    drop(response);
    settle().await;
    assert_eq!(record(&simulator, 1).await["ended"], "client_left");
}

#[tokio::test]
async fn without_recording_nothing_is_kept() {
    let simulator = Simulator::new(SimulatorDefaults {
        record: false,
        ..SimulatorDefaults::default()
    });
    let [(path, body), ..] = ordinary();
    assert_eq!(post(&simulator, path, &body).await.status, 200);
    assert_eq!(
        get(&simulator, "/_simulate/requests").await.json(),
        json!([])
    );
    assert_eq!(open(&simulator).await, 0);
}
