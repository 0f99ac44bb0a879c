//! Tests of callers, signals and reloads that disturb a create with a key at its most awkward moments.

use crate::harness::certificates::Authority;
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::paid::{CreateShape, error_code, is_replayed, send_with_duplicates};
use crate::harness::request::BOB;
use crate::harness::{Gateway, Http2, Simulator, eventually};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

const SHAPE: CreateShape = CreateShape::GenericForA;

#[tokio::test]
async fn a_body_that_is_not_whole_reserves_no_key() {
    for shape in CreateShape::ALL {
        let simulator = Simulator::start().await;
        let gateway = shape.gateway(&simulator, json!({})).await;
        let request = shape.keyed("slow");
        let body = request.framed_body();
        let (most, last) = body.split_at(body.len() - 1);
        let mut slow = Vec::new();
        for _ in 0..2 {
            let mut connection = gateway.connect().await;
            connection.send(&request.head()).await.unwrap();
            for piece in most.chunks(body.len() / 4) {
                connection.send(piece).await.unwrap();
                sleep(Duration::from_millis(20)).await;
            }
            slow.push(connection);
        }
        let mut finishing = slow.pop().unwrap();
        drop(slow);
        // Another request is the first one with the key.
        let other = shape.request("a lock").header("Idempotency-Key", "slow");
        let response = gateway.ask(&other).await;
        assert_eq!(
            (response.status, is_replayed(&response)),
            (200, false),
            "{shape:?}: {}",
            response.text()
        );
        finishing.send(last).await.unwrap();
        let late = finishing.answer().await.unwrap();
        assert_eq!(late.status, 422, "{shape:?}: {}", late.text());
        assert_eq!(shape.received(&simulator).await, 1, "{shape:?}");
    }
}

#[tokio::test]
async fn keys_with_control_characters_and_of_any_length_are_errors_of_the_caller() {
    let simulator = Simulator::start().await;
    let gateway = SHAPE.gateway(&simulator, json!({})).await;
    for key in [
        "a\tb".to_owned(),
        "a\u{1}b".to_owned(),
        "a\u{7f}b".to_owned(),
        "a\0b".to_owned(),
        "a\rb".to_owned(),
        "k".repeat(256),
        "k".repeat(5_000),
        "k".repeat(500_000),
    ] {
        let shown: String = key.escape_debug().take(20).collect();
        let mut connection = gateway.connect().await;
        // A head that is too large is refused before it is read.
        let _ = connection.send(&SHAPE.keyed(&key).bytes()).await;
        let response = connection.answer().await.unwrap();
        println!("{shown}, {} bytes: {}", key.len(), response.status);
        assert!([400, 431].contains(&response.status), "{shown}");
        assert!(!response.text().contains(&key), "{shown}");
    }
    assert_eq!(SHAPE.received(&simulator).await, 0);
}

#[tokio::test]
async fn duplicates_on_one_http2_connection_are_served_although_the_first_is_reset() {
    let simulator = Simulator::start().await;
    let (folder, authority, state) = (folder_with_schemas(), Authority::new(), Folder::new());
    let mut config = SHAPE.config_on_file(&simulator, &state);
    config["server"]["tls"] = authority.server().write(&folder, "server");
    let gateway = Gateway::start_in(folder, &config.to_string()).await;
    let stream = authority.connect(gateway.address, &["h2"], None).await;
    let connection = Http2::over(stream.unwrap()).await;
    let request = SHAPE.keyed("one-connection").simulate("delay=2s");
    let first = connection.send(&request).await;
    let received = async || (SHAPE.received(&simulator).await == 1).then_some(());
    eventually("the create", received).await;
    let mut duplicates = Vec::new();
    for _ in 0..20 {
        duplicates.push(connection.send(&request).await);
    }
    // The key of another caller on the same connection is another key.
    let other = SHAPE.keyed("one-connection").key(BOB);
    let response = connection.ask(&other).await;
    assert_eq!((response.status, is_replayed(&response)), (200, false));
    first.reset();
    for duplicate in duplicates.drain(..5) {
        duplicate.reset();
    }
    for duplicate in duplicates {
        let response = duplicate.reply().await.rest().await.0;
        assert_eq!(response.status, 200, "{}", response.text());
        assert!(is_replayed(&response));
    }
    assert_eq!(SHAPE.received(&simulator).await, 2);
}

#[tokio::test]
async fn a_gateway_that_stops_serves_the_duplicates_that_wait() {
    let simulator = Simulator::start().await;
    let (state, folder) = (Folder::new(), folder_with_schemas());
    let config = SHAPE.config_on_file(&simulator, &state);
    let config = folder.write("routes.yaml", format!("{config:#}"));
    let mut gateway = Gateway::start_at(&config).await;
    let request = SHAPE.keyed("stopped").simulate("delay=2s");
    let sent = send_with_duplicates(&gateway, &simulator, SHAPE, &request, 10).await;
    gateway.process.signal(libc::SIGTERM);
    let mut replayed = 0;
    for response in sent {
        let response = response.await.unwrap().expect("a response");
        assert_eq!(response.status, 200, "{}", response.text());
        replayed += usize::from(is_replayed(&response));
    }
    assert_eq!(replayed, 10);
    eventually("the end", async || gateway.process.ended()).await;
    let gateway = Gateway::start_at(&config).await;
    assert!(is_replayed(&gateway.ask(&request).await));
    assert_eq!(SHAPE.received(&simulator).await, 1);
}

#[tokio::test]
async fn a_gateway_that_must_stop_early_makes_no_second_create() {
    let simulator = Simulator::start().await;
    let (state, folder) = (Folder::new(), folder_with_schemas());
    let mut config = SHAPE.config_on_file(&simulator, &state);
    config["server"]["limits"] = json!({"drain": "500ms"});
    config["channels"]["a"]["timeouts"] = json!({"first_byte": "1m", "idle": "1m"});
    let config = folder.write("routes.yaml", format!("{config:#}"));
    let mut gateway = Gateway::start_at(&config).await;
    let request = SHAPE.keyed("stopped").simulate("delay=30s");
    let sent = send_with_duplicates(&gateway, &simulator, SHAPE, &request, 10).await;
    gateway.process.signal(libc::SIGTERM);
    let mut statuses = Vec::new();
    for response in sent {
        let response = response.await.unwrap();
        statuses.push(response.map_or(0, |response| response.status));
    }
    println!("the first and its duplicates got {statuses:?}");
    assert!(
        statuses
            .iter()
            .all(|status| [0, 409, 503, 504].contains(status)),
        "{statuses:?}"
    );
    eventually("the end", async || gateway.process.ended()).await;
    let gateway = Gateway::start_at(&config).await;
    let retry = gateway.ask(&request).await;
    assert_eq!(error_code(&retry), "outcome_unknown", "{}", retry.text());
    assert_eq!(SHAPE.received(&simulator).await, 1);
}

/// The configuration without the filter `idempotency`.
fn without_filter(config: &Value) -> Value {
    let mut config = config.clone();
    for route in config["routes"].as_array_mut().unwrap() {
        let chain = route["request"].as_array_mut().unwrap();
        chain.retain(|filter| filter.get("idempotency").is_none());
    }
    config
}

#[tokio::test]
async fn a_reload_without_the_filter_leaves_creates_in_flight_as_they_are() {
    let simulator = Simulator::start().await;
    let state = Folder::new();
    let config = SHAPE.config_on_file(&simulator, &state);
    let gateway = Gateway::start(&config).await;
    let request = SHAPE.keyed("reloaded").simulate("delay=2s");
    let sent = send_with_duplicates(&gateway, &simulator, SHAPE, &request, 5).await;
    let reload = async |config: &Value| {
        gateway.folder.replace("routes.yaml", format!("{config:#}"));
        let reloaded = gateway.page("POST", "/reload").await;
        assert_eq!(reloaded.status, 200, "{}", reloaded.text());
    };
    reload(&without_filter(&config)).await;
    let mut replayed = 0;
    for response in sent {
        let response = response.await.unwrap().expect("a response");
        assert_eq!(response.status, 200, "{}", response.text());
        replayed += usize::from(is_replayed(&response));
    }
    assert_eq!(replayed, 5);
    assert_eq!(SHAPE.received(&simulator).await, 1);
    // The key is still in the store.
    reload(&config).await;
    assert!(is_replayed(&gateway.ask(&request).await));
    assert_eq!(SHAPE.received(&simulator).await, 1);
}
