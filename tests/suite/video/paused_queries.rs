//! Tests of queries that a provider refuses: creates go on, and polls get the last known status meanwhile.

use crate::harness::receiver::CallbackSetup;
use crate::harness::video::{
    FAMILY_A, FAMILY_B, GENERIC, ask, count, create, fresh_for, id_of, video_config,
};
use crate::harness::{Gateway, Simulator, eventually};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

/// Each path, with a model of its family, and where the status stands.
const SHAPES: [(&str, &str, &str); 4] = [
    (GENERIC, "demo-video-a", "/status"),
    (GENERIC, "demo-video-b", "/status"),
    (FAMILY_A, "demo-video-a", "/status"),
    (FAMILY_B, "demo-video-b", "/output/task_status"),
];

/// A gateway that queries at each poll.
async fn start(simulator: &Simulator) -> (Gateway, Value) {
    let mut config = video_config(simulator, "queue=60m");
    fresh_for(&mut config, "1ms", "1ms", &json!({}));
    (Gateway::start(&config).await, config)
}

#[tokio::test]
async fn while_a_provider_limits_queries_the_last_known_status_is_given_and_creates_go_on() {
    for (path, model, at) in SHAPES {
        let simulator = Simulator::start().await;
        let (gateway, _) = start(&simulator).await;
        let id = id_of(path, &create(&gateway, path, model).await);
        let known = ask(&gateway, path, &id).await.json();
        simulator.obey("only=GET;status=429;retry_after=3600").await;
        let before = count(&simulator, "query").await;
        for _ in 0..3 {
            sleep(Duration::from_millis(5)).await;
            let polled = ask(&gateway, path, &id).await;
            assert_eq!(polled.status, 200, "{path}: {}", polled.text());
            assert_eq!(polled.json().pointer(at), known.pointer(at), "{path}");
            let wait: u64 = polled.headers.get("retry-after").unwrap().parse().unwrap();
            assert!((3_500..=3_600).contains(&wait), "{path}: {wait}");
        }
        let queries = count(&simulator, "query").await - before;
        assert_eq!(queries, 1, "{path}: the provider named a time");
        for _ in 0..3 {
            let created = create(&gateway, path, model).await;
            assert_eq!(created.status, 200, "{path}: {}", created.text());
        }
        let findings = gateway.page("GET", "/overview").await.json()["findings"].to_string();
        assert!(findings.contains("for queries of tasks"), "{findings}");
    }
}

#[tokio::test]
async fn a_refused_query_does_not_stop_creates() {
    for refusal in ["status=401", "status=403", "status=500", "html"] {
        let simulator = Simulator::start().await;
        let (gateway, _) = start(&simulator).await;
        for (path, model, _) in SHAPES {
            let id = id_of(path, &create(&gateway, path, model).await);
            simulator.obey(&format!("only=GET;{refusal}")).await;
            for _ in 0..7 {
                sleep(Duration::from_millis(5)).await;
                ask(&gateway, path, &id).await;
            }
            let created = create(&gateway, path, model).await;
            assert_eq!(created.status, 200, "{path} {refusal}: {}", created.text());
            simulator.obey("").await;
        }
        let channels = gateway.page("GET", "/channels").await.json();
        for channel in channels["channels"].as_array().unwrap() {
            assert_eq!(channel["status"], "healthy", "{refusal}: {channel}");
        }
    }
}

#[tokio::test]
async fn queries_begin_again_when_the_time_is_over() {
    let simulator = Simulator::start().await;
    let (gateway, _) = start(&simulator).await;
    let id = id_of(GENERIC, &create(&gateway, GENERIC, "demo-video-a").await);
    simulator
        .obey("only=GET;times=1;status=429;retry_after=1")
        .await;
    assert_eq!(ask(&gateway, GENERIC, &id).await.status, 200);
    assert_eq!(count(&simulator, "query").await, 1);
    eventually("another query", async || {
        ask(&gateway, GENERIC, &id).await;
        (count(&simulator, "query").await > 1).then_some(())
    })
    .await;
    let polled = ask(&gateway, GENERIC, &id).await.json();
    assert_eq!(polled["status"], "queued", "{polled}");
}

#[tokio::test]
async fn a_task_of_which_only_its_creation_is_known_is_running() {
    let simulator = Simulator::start().await;
    let (gateway, config) = start(&simulator).await;
    for (path, model, at) in SHAPES {
        let id = id_of(path, &create(&gateway, path, model).await);
        simulator.obey("only=GET;status=429;retry_after=60").await;
        let other = Gateway::start(&config).await;
        let polled = ask(&other, path, &id).await;
        assert_eq!(polled.status, 200, "{path}: {}", polled.text());
        let status = polled.json().pointer(at).cloned().unwrap_or_default();
        let status = status.as_str().unwrap().to_ascii_lowercase();
        assert_eq!(status, "running", "{path}: {}", polled.text());
        assert!(polled.text().contains(&id), "{path}: {}", polled.text());
        simulator.obey("").await;
    }
}

#[tokio::test]
async fn a_callback_about_a_task_without_a_subscriber_costs_no_query() {
    let setup = CallbackSetup::start("queue=5m;callback_fault=lost").await;
    let created = create(&setup.gateway, GENERIC, "demo-video-a").await;
    assert_eq!(created.status, 200, "{}", created.text());
    let token = setup.provider_token().await;
    for _ in 0..3 {
        assert_eq!(setup.call_back(&token).await.status, 200);
    }
    // One with a subscriber shows that callbacks are worked on meanwhile.
    setup.create(GENERIC, "demo-video-a").await;
    let token = setup.provider_token().await;
    assert_eq!(setup.call_back(&token).await.status, 200);
    eventually("its query", async || {
        (count(&setup.simulator, "query").await > 0).then_some(())
    })
    .await;
    let records = setup.simulator.records().await;
    let queried: Vec<&Value> = records
        .iter()
        .filter(|record| record["endpoint"] == "family_a.query")
        .map(|record| &record["path"])
        .collect();
    assert!(
        queried.iter().all(|path| *path == queried[0]),
        "only the task of the subscriber: {queried:?}"
    );
    assert_eq!(
        ask(&setup.gateway, GENERIC, &id_of(GENERIC, &created))
            .await
            .json()["status"],
        "queued"
    );
}
