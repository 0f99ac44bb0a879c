//! Tests of `headgate task unknown`, and of a store that cannot vouch for a create.

use crate::harness::folder::Folder;
use crate::harness::paid::{CreateShape, ask_and_leave_when_sent, error_code, unsettled_creates};
use crate::harness::process::BINARY;
use crate::harness::{Gateway, RedisServer, Simulator, eventually};
use serde_json::{Value, json};
use std::process::{Command, Output};

/// What `headgate task unknown --json` lists.
fn all_listed(gateway: &Gateway) -> Vec<Value> {
    unsettled_creates(&gateway.folder.path().join("routes.yaml"))
}

/// The first create that is listed, once there is one.
async fn first_listed(gateway: &Gateway) -> Value {
    let first = async || all_listed(gateway).into_iter().next();
    eventually("a create in the list", first).await
}

/// Runs a command of `headgate task` with the configuration of a gateway.
fn task(gateway: &Gateway, command: &str, options: &[&str]) -> Output {
    let config = gateway.folder.path().join("routes.yaml");
    Command::new(BINARY)
        .args(["task", command, "--config", config.to_str().unwrap()])
        .args(options)
        .output()
        .unwrap()
}

#[tokio::test]
async fn an_operator_settles_unknown_outcomes() {
    let simulator = Simulator::start().await;
    let state = Folder::new();
    let shape = CreateShape::GenericForA;
    let gateway = shape.gateway_on_file(&simulator, &state).await;
    let cases = [
        ("keyed", "--made"),
        ("keyed", "--not-made"),
        ("plain", "--made"),
    ];
    for (nth, (kind, outcome)) in cases.into_iter().enumerate() {
        let request = match kind {
            "keyed" => shape.keyed(&format!("key-{nth}")),
            _ => shape.request("no key"),
        };
        let failed = request.clone().simulate("status=500");
        assert_eq!(gateway.ask(&failed).await.status, 502);
        let listed = first_listed(&gateway).await;
        let id = match nth {
            0 => listed["request_id"].as_str().unwrap(),
            _ => listed["key_sha256"]
                .as_str()
                .or(listed["request_id"].as_str())
                .unwrap(),
        };
        let settled = task(&gateway, "settle", &[id, outcome]);
        assert!(
            settled.status.success(),
            "{}",
            String::from_utf8_lossy(&settled.stderr)
        );
        let printed = String::from_utf8(settled.stdout).unwrap();
        assert!(
            printed.contains(listed["request_id"].as_str().unwrap()),
            "{printed}"
        );
        assert!(all_listed(&gateway).is_empty());
        // There is nothing left to settle.
        assert!(!task(&gateway, "settle", &[id, outcome]).status.success());
        let response = gateway.ask(&request).await;
        match (kind, outcome) {
            ("keyed", "--made") => assert_eq!(error_code(&response), "answer_not_kept"),
            _ => assert_eq!(response.status, 200, "{}", response.text()),
        }
    }
    // What became of it is required, once.
    for options in [&["req_1"][..], &["req_1", "--made", "--not-made"]] {
        assert!(!task(&gateway, "settle", options).status.success());
    }
}

#[tokio::test]
async fn unknown_outcomes_are_listed_with_and_without_a_key() {
    let simulator = Simulator::start().await;
    let state = Folder::new();
    let shape = CreateShape::GenericForA;
    let gateway = shape.gateway_on_file(&simulator, &state).await;
    assert_eq!(gateway.ask(&shape.keyed("good")).await.status, 200);
    assert_eq!(gateway.ask(&shape.request("good")).await.status, 200);
    let refused = shape.request("refused").simulate("status=400");
    assert_eq!(gateway.ask(&refused).await.status, 400);
    let failed = gateway
        .ask(&shape.keyed("bad").simulate("status=500"))
        .await;
    let cut = gateway.ask(&shape.request("cut").simulate("cut")).await;
    let left = shape.request("left").simulate("stall");
    ask_and_leave_when_sent(&gateway, &simulator, shape, &left).await;
    let three = async || Some(all_listed(&gateway)).filter(|listed| listed.len() == 3);
    let listed = eventually("three unknown outcomes", three).await;
    for (create, has_key) in listed.iter().zip([true, false, false]) {
        assert_eq!(create["reason"], "outcome_unknown", "{create}");
        assert_eq!(create["caller"], "ann", "{create}");
        assert_eq!(create["route"], "video", "{create}");
        assert_eq!(create["model"], "demo-video-a", "{create}");
        assert_eq!(create["channel"], "a", "{create}");
        assert_eq!(create["key_sha256"].is_string(), has_key, "{create}");
    }
    for (create, response) in listed.iter().zip([&failed, &cut]) {
        let id = response.headers.get("x-request-id").unwrap();
        assert_eq!(create["request_id"], id, "{create}");
        let lines = String::from_utf8(task(&gateway, "unknown", &[]).stdout).unwrap();
        assert!(lines.contains(id), "{lines}");
    }
    assert!(listed[0]["upstream_request_id"].is_string(), "{listed:?}");
}

#[tokio::test]
async fn a_response_that_its_caller_did_not_get_is_listed() {
    let simulator = Simulator::start().await;
    let state = Folder::new();
    let shape = CreateShape::FamilyA;
    let gateway = shape.gateway_on_file(&simulator, &state).await;
    let left = shape.keyed("left").simulate("delay=2s");
    ask_and_leave_when_sent(&gateway, &simulator, shape, &left).await;
    let listed = first_listed(&gateway).await;
    assert_eq!(listed["reason"], "response_undelivered", "{listed}");
    let id = listed["response_id"].as_str().unwrap();
    assert!(id.starts_with("task_"), "{listed}");
    // The retry gets it.
    let response = gateway.ask(&left).await;
    assert!(response.text().contains(id), "{}", response.text());
    let settled = async || all_listed(&gateway).is_empty().then_some(());
    eventually("an empty list", settled).await;
}

#[tokio::test]
async fn what_the_store_cannot_confirm_is_not_sent() {
    let mut redis = RedisServer::start();
    let simulator = Simulator::start().await;
    for on_store_failure in ["allow", "deny"] {
        let shape = CreateShape::FamilyA;
        let mut config = shape.config(&simulator, &json!({}));
        let url = format!("redis://127.0.0.1:{}/0", redis.port);
        config["state"] = json!({"redis": {"url": url, "on_store_failure": on_store_failure}});
        let gateway = Gateway::start(&config).await;
        let served = async || (gateway.ask(&shape.keyed("up")).await.status == 200).then_some(());
        eventually("a create", served).await;
        redis.kill();
        let before = shape.received(&simulator).await;
        for request in [shape.keyed("down"), shape.request("down")] {
            let response = gateway.ask(&request).await;
            assert_eq!(response.status, 503, "{}", response.text());
            assert_eq!(error_code(&response), "overloaded", "{}", response.text());
        }
        assert_eq!(shape.received(&simulator).await, before);
        redis.restart();
    }
}

#[tokio::test]
async fn the_list_of_a_store_in_memory_is_an_error() {
    let simulator = Simulator::start().await;
    let gateway = CreateShape::FamilyA.gateway(&simulator, json!({})).await;
    let config = gateway.folder.path().join("routes.yaml");
    let output = Command::new(BINARY)
        .args(["task", "unknown", "--config", config.to_str().unwrap()])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(error.contains("`state` is memory"), "{error}");
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_named_with_the_reason() {
    let simulator = Simulator::start().await;
    let state = Folder::new();
    let shape = CreateShape::FamilyA;
    let gateway = shape.gateway_on_file(&simulator, &state).await;
    assert_eq!(gateway.ask(&shape.keyed("key")).await.status, 200);
    let mut config: Value = serde_json::from_str(&gateway.config()).unwrap();
    let newer = rusqlite::Connection::open(state.path().join("newer")).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let text = "this is no database".repeat(10);
    state.write("text", text.clone());
    std::fs::create_dir(state.path().join("folder")).unwrap();
    for (name, reason) in [
        ("missing", "there is no state file"),
        ("text", "file is not a database"),
        ("newer", "written by a newer version of headgate"),
        ("folder", "unable to open database file"),
    ] {
        let file = state.path().join(name);
        config["state"] = json!(format!("sqlite:{}", file.display()));
        gateway.folder.write("routes.yaml", format!("{config:#}"));
        for (command, options) in [
            ("unknown", &["--json"][..]),
            ("settle", &["req_1", "--made"]),
        ] {
            let output = task(&gateway, command, options);
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success(), "{name}");
            assert!(output.stdout.is_empty(), "{name}");
            assert!(error.contains(file.to_str().unwrap()), "{name}: {error}");
            assert!(error.contains(reason), "{name}: {error}");
        }
    }
    // A corrupt file stays where it is, for the gateway.
    let kept = std::fs::read_to_string(state.path().join("text")).unwrap();
    assert_eq!(kept, text);
}

#[tokio::test]
async fn unknown_outcomes_are_listed_on_a_full_disk() {
    let simulator = Simulator::start().await;
    let state = Folder::new();
    let shape = CreateShape::GenericForA;
    let gateway = shape.gateway_on_file(&simulator, &state).await;
    let failed = shape.keyed("failed").simulate("status=500");
    assert_eq!(gateway.ask(&failed).await.status, 502);
    first_listed(&gateway).await;
    // No file of the command can grow.
    let limited = r#"trap '' XFSZ; ulimit -f 0; exec "$@""#;
    let output = Command::new("sh")
        .args(["-c", limited, "sh", BINARY, "task", "unknown", "--config"])
        .arg(gateway.folder.path().join("routes.yaml"))
        .output()
        .unwrap();
    let (printed, error) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(printed.contains("outcome_unknown"), "{printed}{error}");
}
