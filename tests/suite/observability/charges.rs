//! Tests of the charges in usage by day: after a mixed load with failures they are what budgets have used, to the last billionth.

use crate::harness::config::{caller, channel, route, sha256, without_cool_downs};
use crate::harness::http_response::json_response;
use crate::harness::paid::unsettled_creates;
use crate::harness::patient_redis::patient_redis;
use crate::harness::process::BINARY;
use crate::harness::request::{ANN, BOB};
use crate::harness::state_file::StateFile;
use crate::harness::vendors::vendors;
use crate::harness::video::{GENERIC, create_body, id_of, video_config};
use crate::harness::{
    Connection, Gateway, RedisServer, Request, ScriptedProvider, ScriptedResponse, Simulator,
    config, eventually,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Command;
use tokio::task::JoinSet;

const EVE: &str = "sk-eve-charge-canary-07";
const FREE: &str = "sk-free-charge-canary-08";
const RUNNER: &str = "sk-runner-charge-canary-09";
/// Each budget, which nobody uses up.
const BUDGET: u64 = 1_000;
const NANOS: f64 = 1e9;
const DONE: &str = "queue=0ms;run=0ms";
const FAILED: &str = "queue=0ms;run=0ms;ends=failed";
/// How often a gateway gets each kind of request.
const ROUNDS: usize = 2;

/// How a caller takes a response.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Read,
    /// Leaves once the request is sent.
    LeftAtOnce,
    /// Leaves after the head.
    LeftAfterHead,
}

/// Budgets of callers, of a group, of a key and of a model, and channels that fail in several ways.
fn charge_config(simulator: &Simulator, impossible: &ScriptedProvider, state: &Value) -> Value {
    let mut config = config::standard(&simulator.url());
    let budget = json!({"cost_total": BUDGET});
    let key = |label: &str, key: &str| json!({"label": label, "key_sha256": sha256(key.as_bytes()), "budget": budget});
    let mut ann = caller("ann", "sk-ann-charge-unused", &["*"]);
    ann["keys"] = json!([key("laptop", ANN)]);
    let mut callers = [
        ann,
        caller("bob", BOB, &["*"]),
        caller("eve", EVE, &["*"]),
        caller("free", FREE, &["demo-large"]),
        caller("runner", RUNNER, &["demo-large"]),
    ];
    for with_budget in [0, 1] {
        callers[with_budget]["limits"] = json!({"cost_total": BUDGET, "cost_per_day": BUDGET});
    }
    for member in [1, 2] {
        callers[member]["group"] = "team".into();
    }
    callers[4]["limits"] = json!({"runs": {"cost": BUDGET}});
    config["callers"] = json!(callers);
    config["groups"] = json!({"team": {"limits": budget}});
    config["state"] = state.clone();
    config["usage"] = json!({});
    config["models"] = json!({
        "demo-large": {"max_output_tokens": 1_000},
        "demo-small": {"max_output_tokens": 1_000, "budget": budget},
    });
    let failing = |url: &str, model: &str| {
        let mut failing = channel(url, &["chat"], json!({"bearer": "sk-failing"}));
        failing["models"] = json!({model: format!("{model}-there")});
        failing
    };
    let text = json!({"input": 3, "cached_input": 0.3, "output": 15});
    let mut prices = json!({"demo-large": text, "demo-small": {"input": 0.251, "output": 1.253}});
    for (model, url) in [
        ("refused", simulator.url_obeying("status=503")),
        ("broken", simulator.url_obeying("cut")),
        ("down", simulator.url_obeying("cut")),
        ("impossible", impossible.url()),
    ] {
        let (channels, models) = (&mut config["channels"], &mut prices);
        channels[model] = failing(&url, model);
        models[model] = text.clone();
        config["models"][model] = json!({"max_output_tokens": 1_000});
        if ["refused", "broken"].contains(&model) {
            let mut second = failing(&simulator.url(), model);
            second["tier"] = 1.into();
            config["channels"][format!("{model}-second")] = second;
        }
    }
    config["models"]["down"]["fallback"] = json!({"unavailable": "demo-small"});
    config["models"]["translated"] = json!({"max_output_tokens": 1_000});
    config["channels"]["translated"] = failing(&simulator.url(), "translated");
    prices["translated"] = text;
    route(&mut config, "messages")["translate"] = json!(["chat"]);
    for name in ["chat", "messages", "responses"] {
        let chain = route(&mut config, name)["request"].as_array_mut();
        chain.unwrap().extend([json!("rate_limit")]);
    }
    config["prices"] = json!({"models": prices});
    add_videos(&mut config, simulator);
    without_cool_downs(&mut config);
    config
}

/// Adds routes of videos, and accounts whose tasks succeed, fail, or cost other than what was reserved.
fn add_videos(config: &mut Value, simulator: &Simulator) {
    let mut videos = video_config(simulator, DONE);
    config["task_keys"] = videos["task_keys"].clone();
    let vidu = vendors().into_iter().find(|it| it.family == "vidu");
    let vidu = vidu.unwrap();
    let base = format!("http://{}/~{DONE}/vendor/{}", simulator.address, vidu.base);
    let failing = video_config(simulator, FAILED)["channels"]["b"].clone();
    let channels = &mut videos["channels"];
    channels["failing"] = failing;
    channels["failing"]["models"] = json!({"failing": "upstream-failing"});
    channels["vidu"] = json!({
        "base_url": base, "protocols": ["video"], "family": "vidu",
        "credential": vidu.credential.config(), "models": {"vidu": vidu.model},
    });
    for (name, channel) in channels.as_object().unwrap() {
        config["channels"][name] = channel.clone();
    }
    for model in ["demo-video-a", "demo-video-b", "failing", "vidu"] {
        config["prices"]["models"][model] =
            json!({"video_second": {"*": 0.1}, "video_default_seconds": 5});
    }
    config["prices"]["models"]["vidu"]["credit"] = 0.005.into();
    for mut route in videos["routes"].as_array().unwrap().clone() {
        let chain = route["request"].as_array_mut().unwrap();
        if let Some(at) = chain.iter().position(|filter| filter == "validate") {
            let added = [json!({"idempotency": {}}), json!("rate_limit")];
            chain.splice(at + 1..at + 1, added);
        }
        config["routes"].as_array_mut().unwrap().push(route);
    }
}

fn text(protocol: Protocol, model: &str, is_stream: bool) -> Request {
    let message = json!({"role": "user", "content": "How deep is the lake?"});
    let body = match protocol {
        Protocol::Responses => {
            json!({"model": model, "input": [message], "max_output_tokens": 77, "stream": is_stream})
        }
        _ => json!({"model": model, "max_tokens": 77, "messages": [message], "stream": is_stream}),
    };
    Request::to(protocol, body.to_string())
}

/// Requests of text that are served, fail, are cancelled, and whose usage is missing or impossible.
fn texts() -> Vec<(Request, Ending)> {
    use Ending::{LeftAfterHead, LeftAtOnce, Read};
    let mut load = Vec::new();
    for protocol in [Protocol::Chat, Protocol::Messages, Protocol::Responses] {
        for (directives, ending) in [
            ("", Read),
            ("status=500", Read),
            ("status=429", Read),
            ("cut_after=2", Read),
            ("no_usage", Read),
            ("malformed", Read),
            ("error_event_after=3", Read),
            ("events=400;pace=20ms", LeftAfterHead),
            ("stall", LeftAtOnce),
        ] {
            for (model, is_stream) in [("demo-large", true), ("demo-small", false)] {
                // What is sent whole has its head when it is made.
                let is_stream = is_stream || ending == LeftAfterHead;
                let request = text(protocol, model, is_stream).simulate(directives);
                load.push((request, ending));
            }
        }
    }
    for model in ["refused", "broken", "down", "impossible"] {
        load.push((text(Protocol::Chat, model, false), Read));
        load.push((text(Protocol::Chat, model, true), Read));
    }
    for is_stream in [false, true] {
        load.push((text(Protocol::Messages, "translated", is_stream), Read));
    }
    load
}

/// Sends all texts for each caller, in turns to each gateway. Returns their number.
async fn send(gateways: &[Gateway]) -> usize {
    let (mut running, mut sent) = (JoinSet::new(), 0);
    let keys = [ANN, BOB, EVE, RUNNER];
    for (task, key) in keys.into_iter().enumerate() {
        let is_allowed = |request: &Request| {
            let body = String::from_utf8_lossy(request.body.as_ref().unwrap()).into_owned();
            key != RUNNER || body.contains("demo-large")
        };
        let texts = (0..ROUNDS).flat_map(|_| texts());
        let load: Vec<_> = texts.filter(|(request, _)| is_allowed(request)).collect();
        sent += load.len();
        let addresses: Vec<_> = gateways.iter().map(|gateway| gateway.address).collect();
        running.spawn(async move {
            for (number, (request, ending)) in load.into_iter().enumerate() {
                let request = request.key(key).header("x-headgate-run", "loop");
                let address = addresses[(number + task) % addresses.len()];
                let mut connection = Connection::to(address).await;
                connection.send(&request.bytes()).await.unwrap();
                match ending {
                    Ending::Read => drop(connection.answer().await),
                    Ending::LeftAfterHead => drop(connection.head().await),
                    Ending::LeftAtOnce => drop(connection),
                }
            }
        });
    }
    running.join_all().await;
    let free = text(Protocol::Chat, "demo-large", false).key(FREE);
    assert_eq!(gateways[0].ask(&free).await.status, 200);
    sent + 1
}

/// Creates videos for each caller with a budget, whose ends are seen by the other gateway, or never.
async fn make_videos(gateways: &[Gateway]) {
    let other = gateways.last().unwrap();
    for key in [ANN, BOB, EVE] {
        for model in ["demo-video-a", "demo-video-b", "failing", "vidu"] {
            let body = match model {
                "vidu" => {
                    let vidu = vendors().into_iter().find(|it| it.family == "vidu");
                    let mut body = vidu.unwrap().create;
                    body["model"] = "vidu".into();
                    body
                }
                model => create_body(GENERIC, model),
            };
            for is_seen in [true, false] {
                let request = Request::post(GENERIC, body.to_string()).key(key);
                let created = gateways[0].ask(&request).await;
                assert_eq!(created.status, 200, "{model}: {}", created.text());
                let path = format!("{GENERIC}/{}", id_of(GENERIC, &created));
                if is_seen {
                    let ended = other.ask(&Request::get(&path).key(key)).await;
                    assert_eq!(ended.status, 200, "{model}: {}", ended.text());
                }
            }
        }
        let refused = create_body(GENERIC, "demo-video-a").to_string();
        let refused = Request::post(GENERIC, refused).key(key);
        let refused = refused.simulate("status=400");
        assert_eq!(gateways[0].ask(&refused).await.status, 400);
    }
}

/// Has creates of unknown outcome, and settles some of them as an operator does.
async fn settle_creates(gateway: &Gateway, is_readable: bool) {
    let failures = ["status=500", "malformed", "malformed", "status=500"];
    for (number, failure) in failures.into_iter().enumerate() {
        let create = Request::post(GENERIC, create_body(GENERIC, "demo-video-a").to_string());
        let create = create.header("Idempotency-Key", &format!("create-{number}"));
        let failed = gateway.ask(&create.simulate(failure)).await;
        assert_eq!(failed.status, 502, "{}", failed.text());
    }
    if !is_readable {
        return;
    }
    let file = gateway.folder.path().join("routes.yaml");
    let listed = eventually("all creates in the list", async || {
        Some(unsettled_creates(&file)).filter(|listed| listed.len() == failures.len())
    })
    .await;
    for (create, verdict) in listed.iter().zip(["--made", "--not-made", "--not-made"]) {
        let settled = Command::new(BINARY)
            .args(["task", "settle", create["request_id"].as_str().unwrap()])
            .args([verdict, "--config"])
            .arg(&file)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&settled.stderr);
        assert!(settled.status.success(), "{error}");
    }
}

/// What is used of each budget as a gateway knows it once it has refused a request of each caller, in billionths, by holder.
async fn used(gateway: &Gateway) -> BTreeMap<&'static str, i128> {
    let body = json!({"model": "demo-small", "max_tokens": 1_u64 << 40,
        "messages": [{"role": "user", "content": "?"}]});
    for key in [ANN, BOB, EVE] {
        let request = Request::to(Protocol::Chat, body.to_string()).key(key);
        let refused = gateway.ask(&request).await;
        assert_eq!(refused.status, 429, "{}", refused.text());
    }
    let metrics = gateway.metrics().await;
    let holders = ["ann", "bob", "key:ann/laptop", "group:team", "*"];
    let used = holders.map(|holder| {
        let labels = [("caller", holder), ("limit", "cost_total")];
        let left = metrics.sum("headgate_budget_remaining", &labels);
        (
            holder,
            i128::from(BUDGET) * NANOS as i128 - (left * NANOS).round() as i128,
        )
    });
    BTreeMap::from(used)
}

/// The charges and the costs of the page `/usage` by a member of its rows, in billionths.
async fn reported(gateway: &Gateway, by: &str) -> BTreeMap<String, (Option<i128>, i128)> {
    let page = gateway.page("GET", &format!("/usage?by={by}")).await.json();
    let rows = page["rows"].as_array().unwrap();
    let amount = |row: &Value, member: &str| row[member]["USD"].as_str().map(nanos);
    let rows = rows.iter().map(|row| {
        let name = row[by].as_str().unwrap_or_default().to_owned();
        let cost = amount(row, "costs").unwrap_or(0);
        (name, (amount(row, "charged"), cost))
    });
    rows.collect()
}

fn nanos(decimal: &str) -> i128 {
    let (units, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    format!("{units}{fraction:0<9}").parse().unwrap()
}

/// What the run of a caller has cost, in billionths.
async fn run_cost(gateway: &Gateway, caller: &str) -> i128 {
    let page = gateway.page("GET", &format!("/runs?caller={caller}")).await;
    let cost = page.json()["runs"][0]["cost"].as_f64().unwrap_or(0.0);
    (cost * NANOS).round() as i128
}

/// Compares until a gateway has all of the other one's rows, and nothing differs.
async fn assert_reconciled(gateway: &Gateway, state: &Value) {
    let mut last = String::new();
    let reconciled = async || {
        let used = used(gateway).await;
        let (callers, models) = (
            reported(gateway, "caller").await,
            reported(gateway, "model").await,
        );
        let charged = |name: &str| callers[name].0.unwrap_or(0);
        let expected = [
            ("ann", charged("ann"), used["ann"]),
            ("ann's key", charged("ann"), used["key:ann/laptop"]),
            ("bob", charged("bob"), used["bob"]),
            ("team", charged("bob") + charged("eve"), used["group:team"]),
            ("small", models["demo-small"].0.unwrap_or(0), used["*"]),
            ("run", charged("runner"), run_cost(gateway, "runner").await),
        ];
        let now = format!("{state}: {expected:?}");
        if now != last {
            eprintln!("{now}");
            last = now;
        }
        let is_same = expected
            .iter()
            .all(|(_, charged, used)| charged == used && *used > 0);
        is_same.then_some(callers)
    };
    let callers = eventually("no difference", reconciled).await;
    assert_eq!(callers["free"].0, None, "{callers:?}");
    for (name, (charged, cost)) in &callers {
        assert!(
            charged.is_none_or(|charged| charged > *cost),
            "budgets are charged for what has no cost: {name} {charged:?} {cost}"
        );
    }
}

#[tokio::test]
async fn the_charges_of_a_mixed_load_are_what_budgets_have_used_in_every_store() {
    let (redis, simulator) = (RedisServer::start(), Simulator::start().await);
    let usage =
        json!({"prompt_tokens": 9, "completion_tokens": 900_000_000, "total_tokens": 900_000_009});
    let message = json!({"role": "assistant", "content": "one two three"});
    let body = json!({"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    let acts = vec![ScriptedResponse::Send(json_response(200, body))];
    let impossible = ScriptedProvider::start(acts).await;
    let file = StateFile::new();
    for (state, count) in [
        (json!("memory"), 1),
        (json!(file.url()), 2),
        (patient_redis(&redis), 2),
    ] {
        let config = charge_config(&simulator, &impossible, &state);
        let mut gateways = Vec::new();
        for _ in 0..count {
            gateways.push(Gateway::start(&config).await);
        }
        let sent = send(&gateways).await;
        eventually("a log line of each request", async || {
            let lines = gateways.iter().map(|gateway| gateway.log().len());
            (lines.sum::<usize>() == sent).then_some(())
        })
        .await;
        make_videos(&gateways).await;
        settle_creates(&gateways[0], state != "memory").await;
        for gateway in &gateways {
            assert_reconciled(gateway, &state).await;
        }
    }
}
