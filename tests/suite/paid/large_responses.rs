//! Tests of responses that are too large for records: kept in the media store, and replayed as the same bytes.

use super::recorded_streams::stream;
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::paid::{
    CreateShape, ask_and_leave_when_sent, ask_at_once, error_code, is_replayed, unsettled_creates,
};
use crate::harness::{Gateway, Request, Simulator, eventually};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const SHAPE: CreateShape = CreateShape::ImageJson;

/// The configuration with timeouts that large responses of a busy machine do not reach.
fn patient(mut config: Value) -> Value {
    for channel in config["channels"].as_object_mut().unwrap().values_mut() {
        channel["timeouts"] = json!({"first_byte": "1m", "idle": "1m"});
    }
    config
}

/// An edit with a response of 3 MB: as JSON, or as a stream.
fn edits() -> [(&'static str, Request); 2] {
    edits_after("300ms")
}

/// The same with a provider that sends nothing for a while.
fn edits_after(delay: &str) -> [(&'static str, Request); 2] {
    let json = format!("body_bytes=3000000;delay={delay}");
    let events = format!("body_bytes=1000000;delay={delay}");
    [
        ("JSON", SHAPE.keyed("json").simulate(&json)),
        ("stream", stream("stream", &events)),
    ]
}

#[tokio::test]
async fn large_responses_are_replayed_as_the_same_bytes_also_after_a_kill() {
    let simulator = Simulator::start().await;
    let state = Folder::new();
    let config = patient(SHAPE.config_on_file(&simulator, &state));
    let folder = folder_with_schemas();
    let file = folder.write("routes.yaml", format!("{config:#}"));
    let mut gateway = Gateway::start_at(&file).await;
    let mut firsts = Vec::new();
    for (name, request) in edits() {
        let before = SHAPE.received(&simulator).await;
        let began = Instant::now();
        let responses = ask_at_once(&gateway, &request, 20).await;
        let elapsed = began.elapsed();
        let received = SHAPE.received(&simulator).await - before;
        let (bytes, replayed) = (
            responses[0].body.len(),
            responses.iter().filter(|one| is_replayed(one)).count(),
        );
        println!(
            "{name}: {} responses of {bytes} bytes in {elapsed:?}, {received} create, {replayed} replayed",
            responses.len()
        );
        assert!(bytes > 3_000_000, "{name}: {bytes} bytes");
        assert_eq!((received, replayed), (1, 19), "{name}");
        for response in &responses {
            assert_eq!(response.status, 200, "{name}");
            assert!(
                response.whole && response.body == responses[0].body,
                "{name}: {} bytes",
                response.body.len()
            );
            let content_type = response.headers.get("content-type");
            assert_eq!(content_type, responses[0].headers.get("content-type"));
        }
        firsts.push(responses.into_iter().next().unwrap().body);
    }
    gateway.process.signal(libc::SIGKILL);
    gateway = Gateway::start_at(&file).await;
    for ((name, request), first) in edits().into_iter().zip(&firsts) {
        let response = gateway.ask(&request).await;
        assert!(
            is_replayed(&response) && response.body == *first,
            "{name}: {}",
            response.status
        );
    }
    assert_eq!(SHAPE.received(&simulator).await, 2);
}

#[tokio::test]
async fn a_large_response_that_nobody_received_is_kept() {
    let simulator = Simulator::start().await;
    let config = patient(SHAPE.config(&simulator, &json!({})));
    let gateway = Gateway::start(&config).await;
    for (name, request) in edits_after("2s") {
        ask_and_leave_when_sent(&gateway, &simulator, SHAPE, &request).await;
        let response = gateway.ask(&request).await;
        assert!(is_replayed(&response), "{name}: {}", response.status);
        assert!(response.body.len() > 3_000_000, "{name}");
    }
    assert_eq!(SHAPE.received(&simulator).await, 2);
}

#[tokio::test]
async fn a_large_response_that_cannot_be_kept_is_delivered_and_not_bought_again() {
    for (name, media) in [
        // A file, where the store needs a directory.
        ("no directory", json!({"directory": "routes.yaml"})),
        ("a full quota", json!({"files_per_caller": 1})),
    ] {
        let simulator = Simulator::start().await;
        let mut config = SHAPE.config(&simulator, &json!({}));
        config["media"] = media;
        let gateway = Gateway::start(&config).await;
        let other = SHAPE.keyed("before").simulate("body_bytes=100000");
        assert_eq!(gateway.ask(&other).await.status, 200, "{name}");
        for (kind, request) in edits() {
            let first = gateway.ask(&request).await;
            assert_eq!(first.status, 200, "{name}, {kind}");
            assert!(
                first.whole && first.body.len() > 3_000_000,
                "{name}, {kind}"
            );
            let response = gateway.ask(&request).await;
            assert_eq!(
                response.status,
                409,
                "{name}, {kind}: {} bytes",
                response.body.len()
            );
            assert_eq!(error_code(&response), "answer_not_kept", "{name}, {kind}");
            assert_eq!(response.headers.get("x-should-retry"), Some("false"));
        }
        assert_eq!(SHAPE.received(&simulator).await, 3, "{name}");
        let replayed = gateway.ask(&other).await;
        assert_eq!(is_replayed(&replayed), name == "a full quota");
    }
}

#[tokio::test]
async fn a_stream_that_is_too_large_to_record_is_delivered_and_not_bought_again() {
    let simulator = Simulator::start().await;
    let config = patient(SHAPE.config(&simulator, &json!({})));
    let gateway = Gateway::start(&config).await;
    let request = stream("huge", "body_bytes=7000000");
    let first = gateway.ask(&request).await;
    assert!(
        first.whole && first.body.len() > 33_554_432,
        "{}: {} bytes",
        first.status,
        first.body.len()
    );
    let response = gateway.ask(&request).await;
    assert_eq!(
        error_code(&response),
        "answer_not_kept",
        "{}",
        response.status
    );
    assert_eq!(SHAPE.received(&simulator).await, 1);
}

#[tokio::test]
async fn a_large_response_whose_file_is_gone_is_not_bought_again() {
    let simulator = Simulator::start().await;
    let gateway = SHAPE.gateway(&simulator, json!({})).await;
    let [(_, request), _] = edits();
    assert_eq!(gateway.ask(&request).await.status, 200);
    std::fs::remove_dir_all(gateway.folder.path().join("media")).unwrap();
    let response = gateway.ask(&request).await;
    assert_eq!(
        error_code(&response),
        "answer_not_kept",
        "{}",
        response.status
    );
    assert_eq!(SHAPE.received(&simulator).await, 1);
}

#[tokio::test]
async fn a_response_that_is_being_stored_when_the_gateway_stops_is_listed_and_not_bought_again() {
    let simulator = Simulator::start().await;
    let state = Folder::new();
    // A bucket that accepts connections and responds to nothing.
    let stalled = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", stalled.local_addr().unwrap());
    let mut config = patient(SHAPE.config_on_file(&simulator, &state));
    config["server"]["limits"] = json!({"drain": "500ms"});
    config["media"] = json!({"s3": {
        "endpoint": endpoint, "bucket": "media", "access_key_id": "id", "secret_access_key": "secret",
    }});
    let mut gateway = Gateway::start(&config).await;
    let [(_, request), _] = edits();
    let mut caller = gateway.connect().await;
    caller.send(&request.bytes()).await.unwrap();
    let sent = async || (SHAPE.received(&simulator).await == 1).then_some(());
    eventually("the create", sent).await;
    // Storing fails after 10 s only.
    tokio::time::sleep(Duration::from_secs(4)).await;
    gateway.process.signal(libc::SIGTERM);
    eventually("the end", async || gateway.process.ended()).await;
    let gateway = Gateway::start(&config).await;
    let retry = gateway.ask(&request).await;
    assert_eq!(error_code(&retry), "answer_not_kept", "{}", retry.status);
    let listed = unsettled_creates(&gateway.folder.path().join("routes.yaml"));
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0]["reason"], "response_undelivered", "{listed:?}");
    assert_eq!(SHAPE.received(&simulator).await, 1);
}
