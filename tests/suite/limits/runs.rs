//! Tests of runs of agents: each cap ends a run in every store, many calls at once pass none, and callers have runs of their own.

use crate::harness::error_shape::assert_error_body;
use crate::harness::folder::Folder;
use crate::harness::patient_redis::patient_redis;
use crate::harness::request::{ANN, BOB};
use crate::harness::{Gateway, RedisServer, Request, Simulator, WholeResponse, config, eventually};
use crate::observability::status::run;
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Tokens of the output that each request may have.
const OUTPUT: u64 = 100;
/// What these cost at 10 a million, as a decimal number.
const OUTPUT_COST: f64 = 0.001;

/// A gateway whose callers have runs; `rate_limit` is on the routes of all text protocols.
pub fn run_config(provider: &str, state: &Value, runs: &Value) -> Value {
    let mut config = config::standard(provider);
    config["state"] = state.clone();
    config["prices"] =
        json!({"models": {"demo-large": {"output": 10}, "demo-small": {"output": 10}}});
    for model in ["demo-large", "demo-small"] {
        config["models"][model]["max_output_tokens"] = json!(1_000);
    }
    config["callers"] = json!([
        config::caller("ann", ANN, &["*"]),
        config::caller("bob", BOB, &["*"]),
    ]);
    for caller in 0..2 {
        config["callers"][caller]["limits"] = json!({"runs": runs});
    }
    for name in ["chat", "messages", "responses"] {
        let chain = config::route(&mut config, name)["request"].as_array_mut();
        chain.unwrap().push("rate_limit".into());
    }
    config
}

pub fn chat(run: &str, content: &str) -> Request {
    let message = json!({"role": "user", "content": content});
    let body = json!({"model": "demo-large", "max_tokens": OUTPUT, "messages": [message]});
    Request::to(Protocol::Chat, body.to_string()).header("x-headgate-run", run)
}

/// The most tokens that a request can use: a token for each byte, and its output.
fn tokens_maximum(request: &Request) -> u64 {
    request.body.as_ref().expect("a body").len() as u64 + OUTPUT
}

/// Asserts that a run has ended as agents understand it; returns the message.
pub fn assert_ended(response: &WholeResponse, run: &str, cap: &str) -> String {
    let message = assert_error_body(Protocol::Chat, response, 429);
    let error = response.json()["error"].clone();
    assert_eq!(error["code"], "insufficient_quota", "{error}");
    for (name, value) in [
        ("x-should-retry", Some("false")),
        ("x-headgate-run", Some(run)),
        ("x-headgate-run-cap", Some(cap)),
        ("retry-after", None),
    ] {
        assert_eq!(response.headers.get(name), value, "{name}: {message}");
    }
    assert!(
        message.contains(&format!("run `{run}`")) && message.contains(&format!("`{cap}`")),
        "{message}"
    );
    message
}

/// The states of a store, with the number of gateways that share it.
fn stores(folder: &Folder, redis: &RedisServer) -> [(Value, usize); 3] {
    let file = folder.path().join("runs.sqlite");
    [
        (json!("memory"), 1),
        (json!(format!("sqlite:{}", file.display())), 2),
        (patient_redis(redis), 3),
    ]
}

/// A run as the admin page has it.
async fn run_page(gateway: &Gateway, name: &str) -> Value {
    let page = gateway.page("GET", &format!("/runs/{name}")).await;
    assert_eq!(page.status, 200, "{}", page.text());
    page.json()["runs"][0].clone()
}

#[tokio::test]
async fn an_agent_in_a_loop_is_stopped_by_each_cap_in_every_store() {
    let (redis, folder) = (RedisServer::start(), Folder::new());
    for (state, gateways) in stores(&folder, &redis) {
        for (cap, most, admitted) in [
            ("calls", json!(5), 5..=5),
            ("repeats", json!(4), 4..=4),
            ("tokens", json!(1_000), 2..=30),
            ("cost", json!(5.0 * OUTPUT_COST), 5..=5),
            ("time", json!("700ms"), 1..=60),
        ] {
            let simulator = Simulator::start().await;
            let config = run_config(&simulator.url(), &state, &json!({(cap): most}));
            let mut started = Vec::new();
            for _ in 0..gateways {
                started.push(Gateway::start(&config).await);
            }
            let name = format!("loop-{cap}");
            let mut calls = 0;
            let refused = loop {
                let content = match cap {
                    "repeats" => "again".to_owned(),
                    _ => format!("step {calls}"),
                };
                let gateway = &started[calls % gateways];
                // Each writes all that it may, after a while.
                let request = chat(&name, &content).simulate("delay=20ms; body_bytes=400");
                let response = gateway.ask(&request).await;
                if response.status != 200 {
                    break response;
                }
                calls += 1;
                assert!(calls < 100, "{cap} stops it in {state}");
            };
            assert_ended(&refused, &name, cap);
            assert!(
                admitted.contains(&calls),
                "{calls} calls of {cap} in {state}"
            );
            // A run that has ended does not go on, at no gateway; one with tokens left may send less.
            let longer = match cap {
                "repeats" => "again".to_owned(),
                _ => "again ".repeat(200),
            };
            for gateway in &started {
                let again = gateway.ask(&chat(&name, &longer)).await;
                assert_ended(&again, &name, cap);
            }
            assert_eq!(simulator.records().await.len(), calls, "{cap} in {state}");
            let shown = eventually("the calls of the run", async || {
                let run = run_page(&started[0], &name).await;
                let calls_shown = run["history"].as_array().unwrap().len();
                (calls_shown == calls + 1 + gateways).then_some(run)
            })
            .await;
            assert_eq!(
                (&shown["caller"], &shown["calls"]),
                (&json!("ann"), &json!(calls))
            );
            // Calls stand in the order of their ends.
            let history = shown["history"].as_array().unwrap();
            let refusal = json!(format!("run_{cap}"));
            let is_refused = |call: &&Value| call["status"] == 429 && call["refused_by"] == refusal;
            assert_eq!(history.iter().filter(is_refused).count(), 1 + gateways);
            let is_served = |call: &&Value| call["status"] == 200 && call["model"] == "demo-large";
            assert_eq!(history.iter().filter(is_served).count(), calls);
        }
    }
}

#[tokio::test]
async fn fifty_calls_at_once_pass_no_cap_in_any_store() {
    let (redis, folder) = (RedisServer::start(), Folder::new());
    let request = chat("crowd", "all at once");
    let tokens = 7 * tokens_maximum(&request) + OUTPUT;
    for (state, gateways) in stores(&folder, &redis) {
        for (cap, most) in [
            ("calls", json!(7)),
            ("repeats", json!(7)),
            ("tokens", json!(tokens)),
            ("cost", json!(7.5 * OUTPUT_COST)),
        ] {
            let simulator = Simulator::start().await;
            let config = run_config(&simulator.url(), &state, &json!({(cap): most}));
            let mut started = Vec::new();
            for _ in 0..gateways {
                started.push(Gateway::start(&config).await);
            }
            let name = format!("crowd-{cap}");
            let request = chat(&name, "all at once");
            // None ends before all have come.
            let request = request.simulate("delay=2s; body_bytes=400");
            let mut crowd = JoinSet::new();
            for number in 0..50 {
                let mut connection = started[number % gateways].connect().await;
                let request = request.clone();
                crowd.spawn(async move { connection.ask(&request).await });
            }
            let responses = crowd.join_all().await;
            let (admitted, refused): (Vec<_>, Vec<_>) = responses
                .iter()
                .partition(|response| response.status == 200);
            assert_eq!((admitted.len(), refused.len()), (7, 43), "{cap} in {state}");
            for response in refused {
                assert_ended(response, &name, cap);
            }
            assert_eq!(simulator.records().await.len(), 7, "{cap} in {state}");
        }
    }
}

#[tokio::test]
async fn runs_of_one_name_belong_to_their_callers() {
    let (simulator, redis, folder) = (
        Simulator::start().await,
        RedisServer::start(),
        Folder::new(),
    );
    for (state, _) in stores(&folder, &redis) {
        let config = run_config(&simulator.url(), &state, &json!({"calls": 2}));
        let gateway = Gateway::start(&config).await;
        for step in ["one", "two"] {
            let response = gateway.ask(&chat("job", step)).await;
            assert_eq!(response.status, 200, "{state}");
        }
        assert_ended(&gateway.ask(&chat("job", "three")).await, "job", "calls");
        let bobs = |step| chat("job", step).key(BOB);
        assert_eq!(gateway.ask(&bobs("one")).await.status, 200, "{state}");
        let other = gateway.ask(&chat("job-2", "three")).await;
        assert_eq!(other.status, 200, "{state}");
        assert_eq!(gateway.ask(&bobs("two")).await.status, 200, "{state}");
        let message = assert_ended(&gateway.ask(&bobs("three")).await, "job", "calls");
        assert!(!message.contains("ann"), "{message}");
        let both = gateway.page("GET", "/runs/job").await.json();
        let callers: Vec<_> = both["runs"].as_array().unwrap().iter().collect();
        assert_eq!(callers.len(), 2, "{both}");
        let only = gateway.page("GET", "/runs/job?caller=bob").await.json();
        assert_eq!(only["runs"].as_array().unwrap().len(), 1, "{only}");
        let all = gateway.page("GET", "/runs").await.json();
        assert_eq!(all["runs"].as_array().unwrap().len(), 3, "{all}");
        assert!(all["runs"][0].get("history").is_none(), "{all}");
        let none = gateway.page("GET", "/runs/other").await;
        assert_eq!(none.status, 404, "{}", none.text());
    }
}

#[tokio::test]
async fn the_command_prints_the_calls_of_a_run() {
    let simulator = Simulator::start().await;
    let config = run_config(&simulator.url(), &json!("memory"), &json!({"calls": 1}));
    let gateway = Gateway::start(&config).await;
    let served = gateway.ask(&chat("job:1", "one")).await;
    assert_eq!(served.status, 200);
    assert_ended(&gateway.ask(&chat("job:1", "two")).await, "job:1", "calls");
    let url = format!("http://{}", gateway.admin);
    let print = |args: &[&str]| run(&[&["usage", "--admin", &url], args].concat(), &[]);
    let table = eventually("both calls", async || {
        let (code, table, errors) = print(&["run", "job:1"]);
        assert_eq!((code, &*errors), (0, ""));
        (table.lines().count() == 4).then_some(table)
    })
    .await;
    let lines: Vec<_> = table.lines().collect();
    assert!(
        lines[0].starts_with("run job:1 of ann: 1 calls, "),
        "{table}"
    );
    assert!(
        lines[2..].iter().any(|line| line.ends_with("run_calls")),
        "{table}"
    );
    let (_, csv, _) = print(&["run", "job:1", "--format", "csv", "--caller", "ann"]);
    assert!(csv.starts_with("run,caller,time,id,"), "{csv}");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    let page = gateway.page("GET", "/runs/job%3a1").await;
    assert_eq!(page.status, 200, "{}", page.text());
    for (args, code, expected) in [
        (&["run", "other"][..], 1, "no run has this name"),
        (&["run", "a b"], 1, "the name of a run has letters"),
        (
            &["run", "job:1", "--from", "2026-01-01"],
            1,
            "it is shown whole",
        ),
        (&["models", "job:1"], 1, "write `headgate usage run job:1`"),
        (&["run"], 2, "RUN"),
    ] {
        let (found, _, errors) = print(args);
        assert_eq!(found, code, "{args:?}: {errors}");
        assert!(errors.contains(expected), "{args:?}: {errors}");
    }
}

#[tokio::test]
async fn the_lower_caps_of_a_caller_and_its_group_hold_for_each_of_its_runs() {
    let simulator = Simulator::start().await;
    let mut config = run_config(&simulator.url(), &json!("memory"), &json!({"calls": 3}));
    config["groups"] = json!({"team": {"limits": {"runs": {"calls": 2, "repeats": 1}}}});
    config["callers"][0]["group"] = "team".into();
    config["callers"][1]["group"] = "team".into();
    config["callers"][1]["limits"] = json!({});
    let gateway = Gateway::start(&config).await;
    for key in [ANN, BOB] {
        let ask = async |run, step| gateway.ask(&chat(run, step).key(key)).await;
        assert_eq!(ask("job", "one").await.status, 200);
        assert_ended(&ask("job", "one").await, "job", "repeats");
        assert_eq!(ask("job", "two").await.status, 200);
        assert_ended(&ask("job", "three").await, "job", "calls");
    }
}

#[tokio::test]
async fn a_run_is_in_the_log_and_in_no_metric() {
    let simulator = Simulator::start().await;
    let config = run_config(&simulator.url(), &json!("memory"), &json!({"calls": 1}));
    let gateway = Gateway::start(&config).await;
    let admitted = gateway.ask(&chat("job-canary", "one")).await;
    assert_eq!(gateway.log_of(&admitted).await["run"], "job-canary");
    let forwarded = simulator.last().await["headers"].to_string();
    assert!(!forwarded.contains("x-headgate"), "{forwarded}");
    let refused = gateway.ask(&chat("job-canary", "two")).await;
    let line = gateway.log_of(&refused).await;
    assert_eq!(
        (&line["run"], &line["status"]),
        (&json!("job-canary"), &json!(429))
    );
    let labels = [("caller", "ann"), ("limit", "run_calls")];
    let metrics = gateway.metrics().await;
    assert_eq!(metrics.sum("headgate_rate_limited_total", &labels), 1.0);
    let text = gateway.page("GET", "/metrics").await.text();
    assert!(!text.contains("job-canary"));
}

#[tokio::test]
async fn a_run_is_refused_while_its_store_is_unreachable_whatever_other_limits_do() {
    let (simulator, redis) = (Simulator::start().await, RedisServer::start());
    let state = json!({"redis": {"url": redis.url(), "on_store_failure": "allow"}});
    let config = run_config(&simulator.url(), &state, &json!({"calls": 9}));
    let gateway = Gateway::start(&config).await;
    assert_eq!(gateway.ask(&chat("job", "one")).await.status, 200);
    drop(redis);
    let refused = gateway.ask(&chat("job", "two")).await;
    assert_error_body(Protocol::Chat, &refused, 503);
    let without = chat("job", "three").without("x-headgate-run");
    assert_eq!(gateway.ask(&without).await.status, 200);
    assert_eq!(gateway.page("GET", "/runs").await.status, 503);
}
