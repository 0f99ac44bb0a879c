//! Tests of duplicates that wait for a create in flight: bounded, and at nobody else's expense.

use crate::harness::folder::Folder;
use crate::harness::paid::{CreateShape, ask_at_once, error_code, is_replayed};
use crate::harness::process::BINARY;
use crate::harness::request::BOB;
use crate::harness::{Gateway, Simulator, eventually};
use serde_json::json;
use std::process::Command;
use std::time::{Duration, Instant};

#[tokio::test]
async fn more_duplicates_than_may_wait_get_409_and_other_callers_are_served() {
    let simulator = Simulator::start().await;
    let state = Folder::new();
    let shape = CreateShape::GenericForA;
    let mut config = shape.config_on_file(&simulator, &state);
    config["channels"]["a"]["timeouts"] = json!({"first_byte": "1m", "idle": "1m"});
    let gateway = Gateway::start(&config).await;
    let request = shape.keyed("flood").simulate("delay=10s");
    let mut first = gateway.connect().await;
    first.send(&request.bytes()).await.unwrap();
    let sent = async || (shape.received(&simulator).await == 1).then_some(());
    eventually("the first create", sent).await;
    let flood = ask_at_once(&gateway, &request, 400);
    let other = async {
        tokio::time::sleep(Duration::from_millis(800)).await;
        let began = Instant::now();
        let response = gateway.ask(&shape.keyed("other").key(BOB)).await;
        (response.status, began.elapsed())
    };
    let (responses, (status, elapsed)) = tokio::join!(flood, other);
    assert_eq!(status, 200);
    let refused: Vec<_> = responses.iter().filter(|one| one.status == 409).collect();
    let replayed = responses.iter().filter(|one| is_replayed(one)).count();
    println!(
        "{} duplicates: {replayed} replayed, {} refused; another caller's create took {elapsed:?}",
        responses.len(),
        refused.len()
    );
    assert_eq!(refused.len() + replayed, responses.len());
    // On a slow machine, some arrive when the first has its response.
    assert!(!refused.is_empty());
    for response in refused {
        assert_eq!(error_code(response), "idempotency_key_in_use");
        assert!(response.headers.get("retry-after").is_some());
    }
    assert_eq!(shape.received(&simulator).await, 2);
    assert!(is_replayed(&gateway.ask(&request).await));
}

#[tokio::test]
async fn requests_for_different_path_parameters_or_queries_are_different() {
    let simulator = Simulator::start().await;
    let shape = CreateShape::FamilyA;
    let mut config = shape.config(&simulator, &json!({}));
    let routes = config["routes"].as_array_mut().unwrap();
    let route = routes.iter_mut().find(|route| route["name"] == "family_a");
    route.unwrap()["match"] = json!("POST /v1/remix/{video}");
    let gateway = Gateway::start(&config).await;
    let request = |target: &str| {
        let mut request = shape.keyed("remix");
        request.target = target.to_owned();
        request
    };
    for (target, status, replayed) in [
        ("/v1/remix/one", 200, false),
        ("/v1/remix/one", 200, true),
        ("/v1/remix/two", 422, false),
        ("/v1/remix/one?size=2", 422, false),
    ] {
        let response = gateway.ask(&request(target)).await;
        assert_eq!(
            (response.status, is_replayed(&response)),
            (status, replayed),
            "{target}: {}",
            response.text()
        );
    }
}

#[tokio::test]
async fn without_the_filter_check_warns_and_providers_get_no_key_of_a_caller() {
    let simulator = Simulator::start().await;
    for shape in CreateShape::ALL {
        let mut config = shape.config(&simulator, &json!({}));
        for route in config["routes"].as_array_mut().unwrap() {
            let chain = route["request"].as_array_mut().unwrap();
            chain.retain(|filter| filter.get("idempotency").is_none());
        }
        let gateway = Gateway::start(&config).await;
        let file = gateway.folder.path().join("routes.yaml");
        let checked = Command::new(BINARY)
            .args(["check", "--config"])
            .arg(file)
            .output();
        let checked = checked.unwrap();
        let output = [checked.stdout, checked.stderr].concat();
        let output = String::from_utf8_lossy(&output);
        let warning =
            "creates of this route can be made and paid for twice: it has no `idempotency`";
        assert!(output.contains(warning), "{shape:?}: {output}");
        for spelling in ["Idempotency-Key", "X-Idempotency-Key"] {
            let request = shape.request("a gate").header(spelling, "canary");
            assert_eq!(gateway.ask(&request).await.status, 200, "{shape:?}");
        }
    }
    let records = simulator.records().await;
    assert_eq!(records.len(), 12);
    for record in records {
        let headers = record["headers"].to_string();
        assert!(!headers.contains("canary"), "{headers}");
    }
}
