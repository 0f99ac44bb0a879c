//! Tests of polls: many pollers of one task cost its provider few queries, and an ended task never changes.
//!
//! `POLLERS=1000 POLL_SECONDS=60` runs the first test at full size; it prints its measurements.

use crate::harness::error_shape::assert_error_body;
use crate::harness::patient_redis::patient_redis;
use crate::harness::video::{
    FAMILY_A, FAMILY_B, GENERIC, ask, count, create, fresh_for, id_of, video_config,
};
use crate::harness::{Gateway, RedisServer, Request, Simulator, WholeResponse, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

fn from_environment(name: &str, ordinary: u64) -> u64 {
    std::env::var(name).map_or(ordinary, |text| text.parse().expect("a number"))
}

async fn task(gateway: &Gateway, model: &str) -> String {
    id_of(GENERIC, &create(gateway, GENERIC, model).await)
}

/// The same configuration with another provider, which knows no task.
fn before(simulator: &Simulator, config: &Value) -> Value {
    let mut config = config.clone();
    for (channel, version) in [("a", "v3"), ("b", "v1")] {
        let base = format!("http://{}/api/{version}", simulator.address);
        config["channels"][channel]["base_url"] = json!(base);
    }
    config
}

async fn succeeded(gateway: &Gateway, id: &str) -> WholeResponse {
    eventually("the video", async || {
        let answer = ask(gateway, GENERIC, id).await;
        (answer.json()["status"] == "succeeded").then_some(answer)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_polls_of_one_task_cause_few_queries() {
    let pollers = from_environment("POLLERS", 200);
    let seconds = from_environment("POLL_SECONDS", 2);
    let simulator = Simulator::start().await;
    let mut config = video_config(&simulator, "queue=1ms;run=60m");
    config["server"]["access_log"] = json!("off");
    let gateway = Arc::new(Gateway::start(&config).await);
    let id = task(&gateway, "demo-video-b").await;
    let began = Instant::now();
    let until = began + Duration::from_secs(seconds);
    let mut crowd = JoinSet::new();
    for _ in 0..pollers {
        let (gateway, path) = (gateway.clone(), format!("{GENERIC}/{id}"));
        crowd.spawn(async move {
            let mut connection = gateway.connect().await;
            let (mut answered, mut errors) = (0_u64, 0_u64);
            while Instant::now() < until {
                let answer = connection.ask(&Request::get(&path)).await;
                let is_well = answer.status == 200
                    && answer.json()["status"] == "running"
                    && answer.headers.get("retry-after").is_some();
                answered += 1;
                errors += u64::from(!is_well);
                // Far more often than recommended.
                sleep(Duration::from_millis(200)).await;
            }
            (answered, errors)
        });
    }
    let (mut answered, mut errors) = (0, 0);
    while let Some(poller) = crowd.join_next().await {
        let (its_answers, its_errors) = poller.unwrap();
        answered += its_answers;
        errors += its_errors;
    }
    let took = began.elapsed();
    let queries = count(&simulator, "query").await as u64;
    println!(
        "{pollers} pollers for {seconds} s: {answered} requests answered, {errors} errors, {queries} upstream queries"
    );
    assert_eq!(errors, 0);
    assert!(answered >= pollers);
    // One query for each two seconds of freshness, and the first one.
    assert!(queries <= took.as_secs() / 2 + 2, "{queries}");
    let metrics = gateway.metrics().await;
    let outcome = |outcome| metrics.sum("headgate_task_queries_total", &[("outcome", outcome)]);
    assert_eq!(outcome("provider") as u64, queries);
    let all = outcome("provider") + outcome("shared") + outcome("cached");
    assert_eq!(all as u64, answered);
}

#[tokio::test]
async fn all_who_ask_at_once_wait_for_one_query_even_if_the_first_leaves() {
    let simulator = Simulator::start().await;
    let mut config = video_config(&simulator, "queue=1ms;run=60m;slow_query=700ms");
    fresh_for(&mut config, "1ms", "1h", &json!({}));
    let gateway = Arc::new(Gateway::start(&config).await);
    let id = task(&gateway, "demo-video-a").await;
    let path = format!("{GENERIC}/{id}");
    let mut first = gateway.connect().await;
    first.send(&Request::get(&path).bytes()).await.unwrap();
    eventually("the query", async || {
        (count(&simulator, "query").await == 1).then_some(())
    })
    .await;
    let mut followers = JoinSet::new();
    for _ in 0..30 {
        let (gateway, path) = (gateway.clone(), path.clone());
        followers.spawn(async move { gateway.ask(&Request::get(&path)).await.status });
    }
    sleep(Duration::from_millis(100)).await;
    drop(first);
    while let Some(status) = followers.join_next().await {
        assert_eq!(status.unwrap(), 200);
    }
    let queries = count(&simulator, "query").await;
    assert!(
        queries <= 2,
        "{queries}: one, and one for those who came late"
    );
}

#[tokio::test]
async fn a_query_that_nobody_waits_for_any_more_is_given_up() {
    let simulator = Simulator::start().await;
    let config = video_config(&simulator, "queue=60m;slow_query=20s");
    let gateway = Gateway::start(&config).await;
    let id = task(&gateway, "demo-video-a").await;
    let request = Request::get(&format!("{GENERIC}/{id}")).bytes();
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let mut connection = gateway.connect().await;
        connection.send(&request).await.unwrap();
        waiting.push(connection);
    }
    let query = |record: &Value| record["endpoint"] == "family_a.query";
    simulator.record("the query", query).await;
    sleep(Duration::from_millis(300)).await;
    assert_eq!(count(&simulator, "query").await, 1);
    drop(waiting);
    simulator
        .record("that the provider is left", |record| {
            query(record) && record["ended"] == "client_left"
        })
        .await;
}

#[tokio::test]
async fn a_failed_query_is_shared_by_concurrent_polls() {
    let simulator = Simulator::start().await;
    let mut config = video_config(&simulator, "");
    fresh_for(&mut config, "500ms", "1h", &json!({}));
    crate::harness::config::without_cool_downs(&mut config);
    let gateway = Gateway::start(&config).await;
    let id = task(&gateway, "demo-video-a").await;
    simulator.obey("status=500").await;
    let path = format!("{GENERIC}/{id}");
    let mut connection = gateway.connect().await;
    let began = Instant::now();
    for _ in 0..20 {
        let answer = connection.ask(&Request::get(&path)).await;
        assert_error_body(Protocol::Chat, &answer, 500);
    }
    let most = began.elapsed().as_millis() / 500 + 1;
    let queries = count(&simulator, "query").await as u128;
    assert!(queries <= most, "{queries} of at most {most}");
}

#[tokio::test]
async fn gateways_that_share_a_redis_keep_an_account_to_its_queries_a_second() {
    const MOST: usize = 5;
    let (redis, simulator) = (RedisServer::start(), Simulator::start().await);
    let mut config = video_config(&simulator, "queue=60m");
    // A busy machine is slow, but the gateway must not count alone because of a timeout.
    config["state"] = patient_redis(&redis);
    fresh_for(&mut config, "1ms", "1h", &json!({"max_per_second": MOST}));
    let gateways = [
        Arc::new(Gateway::start(&config).await),
        Arc::new(Gateway::start(&config).await),
    ];
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(task(&gateways[0], "demo-video-b").await);
    }
    let until = Instant::now() + Duration::from_secs(4);
    let mut pollers = JoinSet::new();
    for number in 0..12 {
        let (gateway, id) = (gateways[number % 2].clone(), ids[number / 2].clone());
        pollers.spawn(async move {
            let mut statuses = Vec::new();
            while Instant::now() < until {
                let answer = ask(&gateway, GENERIC, &id).await;
                assert!(answer.headers.get("retry-after").is_some());
                statuses.push(answer.status);
                sleep(Duration::from_millis(20)).await;
            }
            statuses
        });
    }
    let mut well = 0;
    while let Some(statuses) = pollers.join_next().await {
        for status in statuses.unwrap() {
            assert!(status == 200 || status == 429, "{status}");
            well += usize::from(status == 200);
        }
    }
    let records = simulator.records().await;
    let queries = records
        .iter()
        .filter(|record| record["endpoint"] == "family_b.query");
    let times: Vec<u64> = queries
        .map(|record| record["started_ms"].as_u64().unwrap())
        .collect();
    println!("{well} answers by {} queries", times.len());
    // Queries may be delayed on their way, so that less than a whole second is checked.
    let within = |from: &u64| {
        times
            .iter()
            .filter(|at| (*from..from + 900).contains(at))
            .count()
    };
    let most = times.iter().map(within).max().unwrap();
    assert!(most <= MOST, "{most} in {times:?}");
    assert!(times.len() >= 2 * MOST, "{times:?}");
    assert!(well > times.len(), "what is known is told meanwhile");
    let over = gateways[0].metrics().await;
    assert!(over.sum("headgate_task_queries_total", &[("outcome", "over_limit")]) > 0.0);
}

#[tokio::test]
async fn a_terminal_status_never_changes() {
    let (simulator, forgetful) = (Simulator::start().await, Simulator::start().await);
    let mut config = video_config(&simulator, "queue=1ms;run=1ms");
    fresh_for(&mut config, "1ms", "1ms", &json!({}));
    let gateway = Gateway::start(&config).await;
    let mut known = Vec::new();
    for model in ["demo-video-a", "demo-video-b"] {
        let id = task(&gateway, model).await;
        known.push((id.clone(), succeeded(&gateway, &id).await.text()));
    }
    let empty = before(&forgetful, &config);
    let text = format!("{empty:#}");
    gateway.folder.write("routes.yaml", &text);
    assert_eq!(gateway.page("POST", "/reload").await.status, 200);
    for (id, text) in &known {
        let answer = ask(&gateway, GENERIC, id).await;
        assert_eq!(answer.text(), *text, "a 404 and UNKNOWN change nothing");
        assert!(answer.headers.get("retry-after").is_none());
    }
    assert_eq!(count(&forgetful, "query").await, 2, "it was asked");
    // A provider that fails does not change it, either.
    forgetful.obey("status=500").await;
    assert_eq!(ask(&gateway, GENERIC, &known[0].0).await.text(), known[0].1);
    // A gateway that has not seen the end of a task reports it as running.
    let other = Gateway::start(&empty).await;
    forgetful.obey("").await;
    let answer = ask(&other, GENERIC, &known[1].0).await.json();
    assert_eq!(answer["status"], "running");
}

#[tokio::test]
async fn a_terminal_status_is_shared_and_survives_a_restart() {
    let (redis, simulator) = (RedisServer::start(), Simulator::start().await);
    let folder = crate::harness::folder::Folder::new();
    let file = folder.path().join("state.sqlite");
    for state in [patient_redis(&redis), json!({"sqlite": {"path": file}})] {
        let forgetful = Simulator::start().await;
        let mut config = video_config(&simulator, "queue=1ms;run=1ms");
        config["state"] = state.clone();
        let first = Gateway::start(&config).await;
        let id = task(&first, "demo-video-b").await;
        let text = succeeded(&first, &id).await.text();
        // Notes are written in the background.
        sleep(Duration::from_millis(500)).await;
        first.process.signal(libc::SIGKILL);
        let second = Gateway::start(&before(&forgetful, &config)).await;
        assert_eq!(ask(&second, GENERIC, &id).await.text(), text, "{state}");
        assert_eq!(count(&forgetful, "query").await, 0, "{state}");
    }
}

#[tokio::test]
async fn a_success_without_a_video_is_a_failure_in_every_protocol() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&video_config(&simulator, "queue=1ms;run=1ms;no_url")).await;
    for (path, model, status_at, word, code_at) in [
        (GENERIC, "demo-video-a", "/status", "failed", "/error_code"),
        (GENERIC, "demo-video-b", "/status", "failed", "/error_code"),
        (FAMILY_A, "demo-video-a", "/status", "failed", "/error/code"),
        (
            FAMILY_B,
            "demo-video-b",
            "/output/task_status",
            "FAILED",
            "/output/code",
        ),
    ] {
        let id = id_of(path, &create(&gateway, path, model).await);
        let reported = eventually("its end", async || {
            let reported = ask(&gateway, path, &id).await.json();
            (reported.pointer(status_at) == Some(&json!(word))).then_some(reported)
        })
        .await;
        let code = reported.pointer(code_at);
        assert_eq!(
            code,
            Some(&json!("invalid_upstream_response")),
            "{reported}"
        );
    }
}

#[tokio::test]
async fn a_callers_limits_hold_for_polls_too_and_cannot_stand_where_they_would_not() {
    let simulator = Simulator::start().await;
    let mut config = video_config(&simulator, "queue=60m");
    config["callers"][0]["limits"] = json!({"requests_per_minute": 2});
    let limited = json!(["authenticate", "rate_limit", {"map_task": {"operation": "query"}}]);
    crate::harness::config::route(&mut config, "video_task")["request"] = limited;
    let gateway = Gateway::start(&config).await;
    let id = task(&gateway, "demo-video-a").await;
    for status in [200, 200, 429] {
        assert_eq!(ask(&gateway, GENERIC, &id).await.status, status);
    }
    let behind = json!(["authenticate", {"map_task": {"operation": "query"}}, "rate_limit"]);
    crate::harness::config::route(&mut config, "video_task")["request"] = behind;
    let text = format!("{config:#}");
    gateway.folder.write("routes.yaml", &text);
    let refused = gateway.page("POST", "/reload").await;
    let reason = "`map_task` requires an earlier `rate_limit`";
    assert!(refused.text().contains(reason), "{}", refused.text());
}
