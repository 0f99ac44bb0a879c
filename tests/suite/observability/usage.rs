//! Tests of usage by day: the report adds up to the log lines of all gateways, survives restarts, and is printed.

use super::status::run;
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::request::{ANN, BOB};
use crate::harness::state_file::StateFile;
use crate::harness::video::{GENERIC, ask, id_of, video_config};
use crate::harness::{Connection, Gateway, RedisServer, Request, Simulator, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use tokio::task::JoinSet;

/// Requests of each kind that a load sends.
const ROUNDS: usize = 12;
/// Counts of a row that have a field of the same name in log lines, but for the costs.
const TOKENS: [&str; 4] = [
    "output_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
];

/// Sums by caller, model and channel: of requests, errors, each kind of tokens, and billionths.
type Sums = BTreeMap<[Option<String>; 3], BTreeMap<&'static str, i128>>;

fn usage_config(provider: &str, state: &Value) -> Value {
    let mut config = config::standard(provider);
    config::without_cool_downs(&mut config);
    config["state"] = state.clone();
    config["usage"] = json!({});
    config["prices"] = json!({"models": {
        "demo-large": {"input": 3, "cached_input": 0.3, "output": 15},
        "demo-small": {"input": 0.25, "output": 1.25},
    }});
    config
}

fn request(protocol: Protocol, model: &str, is_stream: bool) -> Request {
    let message = json!({"role": "user", "content": "How deep is the lake?"});
    let body = match protocol {
        Protocol::Responses => json!({"model": model, "input": [message], "stream": is_stream}),
        _ => json!({"model": model, "max_tokens": 30, "messages": [message], "stream": is_stream}),
    };
    Request::to(protocol, body.to_string())
}

/// Requests that are served, refused and fail, of two callers and of nobody.
fn mixed_load() -> Vec<Request> {
    let mut load = vec![
        request(Protocol::Chat, "no-such-model", false),
        request(Protocol::Chat, "demo-small", false).key("sk-unknown-canary-0000"),
        request(Protocol::Chat, "demo-large", false).key(BOB),
    ];
    for protocol in [Protocol::Chat, Protocol::Messages, Protocol::Responses] {
        for directives in [
            "",
            "status=500",
            "status=429",
            "cut_after=2",
            "body_bytes=300",
        ] {
            for (key, model) in [
                (ANN, "demo-large"),
                (ANN, "demo-small"),
                (BOB, "demo-small"),
            ] {
                let is_stream = directives == "cut_after=2" || model == "demo-large";
                load.push(
                    request(protocol, model, is_stream)
                        .key(key)
                        .simulate(directives),
                );
            }
        }
    }
    load
}

/// Sends the load in turns to each gateway, eight requests at a time.
async fn send(gateways: &[Gateway]) -> usize {
    let load = (0..ROUNDS).flat_map(|_| mixed_load());
    let mut tasks: Vec<Vec<(SocketAddr, Vec<u8>)>> = vec![Vec::new(); 8];
    let mut sent = 0;
    for (number, request) in load.enumerate() {
        let address = gateways[number % gateways.len()].address;
        tasks[number % 8].push((address, request.bytes()));
        sent += 1;
    }
    let mut running = JoinSet::new();
    for task in tasks {
        running.spawn(async move {
            for (address, bytes) in task {
                let mut connection = Connection::to(address).await;
                connection.send(&bytes).await.unwrap();
                // A stream that is cut has no whole response.
                connection.answer().await;
            }
        });
    }
    running.join_all().await;
    sent
}

/// The sums of the lines of access logs.
fn logged(lines: &[Value]) -> Sums {
    let mut sums = Sums::new();
    for line in lines {
        let name = |field: &str| line[field].as_str().map(str::to_owned);
        let key = [name("caller"), name("model"), name("channel")];
        let count = |field: &str| i128::from(line[field].as_u64().unwrap_or(0));
        let sum = sums.entry(key).or_default();
        let mut add = |name, count| *sum.entry(name).or_default() += count;
        add("requests", 1);
        let has_ended_well =
            ["complete", "usage_missing"].contains(&line["settlement"].as_str().unwrap());
        let is_served = line["status"].as_u64() < Some(400) && has_ended_well;
        add("errors", i128::from(!is_served));
        let excludes_cache = line["protocol"] == "messages";
        let cache = count("cached_input_tokens") + count("cache_write_tokens");
        add(
            "input_tokens",
            count("input_tokens") + if excludes_cache { cache } else { 0 },
        );
        for name in TOKENS {
            add(name, count(name));
        }
        let cost = line["cost"].as_f64().unwrap_or(0.0);
        add("cost", (cost * 1e9).round() as i128);
    }
    sums
}

/// The sums of the page `/usage`.
async fn reported(gateway: &Gateway) -> Sums {
    let page = gateway.page("GET", "/usage?by=caller,model,channel").await;
    assert_eq!(page.status, 200, "{}", page.text());
    let mut sums = Sums::new();
    for row in page.json()["rows"].as_array().unwrap() {
        let name = |field: &str| row[field].as_str().map(str::to_owned);
        let key = [name("caller"), name("model"), name("channel")];
        let sum = sums.entry(key).or_default();
        let names = ["requests", "errors", "input_tokens"]
            .into_iter()
            .chain(TOKENS);
        for name in names {
            *sum.entry(name).or_default() += i128::from(row[name].as_u64().unwrap());
        }
        let costs = row["costs"].as_object().unwrap().values();
        *sum.entry("cost").or_default() += costs
            .map(|cost| nanos(cost.as_str().unwrap()))
            .sum::<i128>();
    }
    sums
}

fn nanos(decimal: &str) -> i128 {
    let (units, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    format!("{units}{fraction:0<9}").parse().unwrap()
}

#[tokio::test]
async fn the_report_of_each_gateway_adds_up_to_the_log_lines_of_all() {
    let (redis, simulator) = (RedisServer::start(), Simulator::start().await);
    let folder = Folder::new();
    let file = format!("sqlite:{}", folder.path().join("usage.sqlite").display());
    for (state, count) in [
        (json!("memory"), 1),
        (json!(file), 1),
        (json!(redis.url()), 3),
    ] {
        let config = usage_config(&simulator.url(), &state);
        let mut gateways = Vec::new();
        for _ in 0..count {
            gateways.push(Gateway::start(&config).await);
        }
        let sent = send(&gateways).await;
        let lines = eventually("a log line of each request", async || {
            let lines: Vec<_> = gateways.iter().flat_map(Gateway::log).collect();
            (lines.len() == sent).then_some(lines)
        })
        .await;
        let expected = logged(&lines);
        assert!(expected.len() >= 6, "{expected:?}");
        for gateway in &gateways {
            let all = async || (reported(gateway).await == expected).then_some(());
            let what = format!("the usage of all gateways with {state}");
            eventually(&what, all).await;
        }
    }
}

#[tokio::test]
async fn usage_outlives_its_process_and_one_that_is_killed_loses_seconds() {
    let (simulator, folder) = (Simulator::start().await, Folder::new());
    let file = format!("sqlite:{}", folder.path().join("usage.sqlite").display());
    let config = usage_config(&simulator.url(), &json!(file));
    let one = request(Protocol::Chat, "demo-small", false);
    let total = async |gateway: &Gateway| {
        let page = gateway.page("GET", "/usage?by=").await.json();
        let rows = page["rows"].as_array().unwrap().clone();
        rows.iter()
            .filter_map(|row| row["requests"].as_u64())
            .sum::<u64>()
    };
    for (signal, before) in [(libc::SIGTERM, 0), (libc::SIGKILL, 3), (libc::SIGTERM, 6)] {
        let mut gateway = Gateway::start(&config).await;
        assert_eq!(total(&gateway).await, before);
        for _ in 0..3 {
            assert_eq!(gateway.ask(&one).await.status, 200);
        }
        if signal == libc::SIGKILL {
            eventually("the usage is stored", async || {
                (stored_requests(&folder) == 6).then_some(())
            })
            .await;
        }
        gateway.process.signal(signal);
        eventually("the end of the process", async || gateway.process.ended()).await;
    }
}

/// The requests in the records of the file.
fn stored_requests(folder: &Folder) -> u64 {
    let file = folder.path().join("usage.sqlite");
    let database = rusqlite::Connection::open(file).unwrap();
    let sql = "SELECT value FROM records WHERE kind = 'usage_day'";
    let mut statement = database.prepare(sql).unwrap();
    let values = statement.query_map([], |row| row.get(0)).unwrap();
    let requests = values.flat_map(|value: rusqlite::Result<Vec<u8>>| {
        let value: Value = serde_json::from_slice(&value.unwrap()).unwrap();
        let rows = value["rows"].as_array().unwrap().clone();
        rows.into_iter()
            .map(|row| row["counts"]["requests"].as_u64().unwrap())
    });
    requests.sum()
}

#[tokio::test]
async fn the_usage_of_a_process_that_ends_has_what_its_videos_cost_in_the_end() {
    let (simulator, file) = (Simulator::start().await, StateFile::new());
    let mut config = video_config(&simulator, "queue=0ms;run=0ms;ends=failed");
    config["state"] = json!(file.url());
    config["usage"] = json!({});
    config["prices"] =
        json!({"currency": "EUR", "models": {"demo-video-b": {"video_second": {"*": 0.1}}}});
    let mut gateway = Gateway::start(&config).await;
    let body = json!({"model": "demo-video-b", "prompt": "a gate", "duration": 5});
    let created = gateway.ask(&Request::post(GENERIC, body.to_string())).await;
    assert_eq!(gateway.log_of(&created).await["cost"], 0.5);
    let status = ask(&gateway, GENERIC, &id_of(GENERIC, &created)).await;
    assert_eq!(status.json()["status"], "failed");
    gateway.process.signal(libc::SIGTERM);
    eventually("the end of the process", async || gateway.process.ended()).await;
    let records = file.records("usage_day").into_iter();
    let values = records.map(|record| serde_json::from_slice::<Value>(&record.value).unwrap());
    let rows: Vec<Value> = values
        .flat_map(|value| value["rows"].as_array().unwrap().clone())
        .collect();
    let create = rows.iter().find(|row| row["currency"] == "EUR").unwrap();
    assert_eq!(create["counts"]["requests"], 1, "{create}");
    assert_eq!(
        create["counts"]["cost"], 0,
        "a failed video was refunded: {create}"
    );
}

#[tokio::test]
async fn the_command_prints_usage_as_a_table_as_csv_and_as_lines() {
    let simulator = Simulator::start().await;
    let config = usage_config(&simulator.url(), &json!("memory"));
    let gateway = Gateway::start(&config).await;
    for key in [ANN, ANN, BOB] {
        let request = request(Protocol::Chat, "demo-small", false).key(key);
        assert_eq!(gateway.ask(&request).await.status, 200);
    }
    eventually("all is counted", async || {
        (gateway.log().len() == 3).then_some(())
    })
    .await;
    let url = format!("http://{}", gateway.admin);
    let print = |args: &[&str]| {
        let (code, printed, errors) = run(&[&["usage", "--admin", &url], args].concat(), &[]);
        assert_eq!((code, &*errors), (0, ""), "{args:?}");
        printed
    };
    let table = print(&["callers"]);
    let counts: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(counts[1][..2], ["caller", "requests"], "{table}");
    assert_eq!(counts[2][..3], ["ann", "2", "0"], "{table}");
    assert_eq!(counts[3][..3], ["bob", "1", "0"], "{table}");
    let csv = print(&["models", "--caller", "bob", "--format", "csv"]);
    let lines: Vec<_> = csv.split("\r\n").collect();
    assert!(lines[0].starts_with("model,requests,errors,"), "{csv}");
    assert!(lines[1].starts_with("demo-small,1,0,"), "{csv}");
    let printed = print(&["--format", "jsonl"]);
    let rows: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 2, "{printed}");
    assert_eq!(rows[0]["channel"], "openai");
    let (code, status, errors) = run(&["status", "--admin", &url], &[]);
    assert_eq!((code, &*errors), (0, ""), "{status}");
    let words: Vec<Vec<&str>> = status
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for line in [
        "today 3 requests, 0 errors,",
        "ann 2 requests, 0 errors,",
        "demo-small 3 requests,",
    ] {
        assert!(
            words.iter().any(|words| words.join(" ").starts_with(line)),
            "{line}: {status}"
        );
    }
    let nothing = print(&["--from", "2020-01-01", "--to", "2020-01-31"]);
    assert!(nothing.ends_with("nothing was used\n"), "{nothing}");
}

#[tokio::test]
async fn the_error_of_a_wrong_question_about_usage_names_what_to_ask() {
    let simulator = Simulator::start().await;
    let mut config = usage_config(&simulator.url(), &json!("memory"));
    let gateway = Gateway::start(&config).await;
    for (query, expected) in [
        ("from=today", "`from` must be a day in UTC, such as"),
        ("by=cost", "`by` has `cost`"),
        ("days=3", "there is no parameter `days`"),
        (
            "from=2026-02-02&to=2026-02-01",
            "`from` (2026-02-02) is after",
        ),
        ("caller=%zz", "`caller` is not percent-encoded"),
    ] {
        let page = gateway.page("GET", &format!("/usage?{query}")).await;
        assert_eq!(page.status, 400, "{query}");
        let error = page.json()["error"].as_str().unwrap().to_owned();
        assert!(error.starts_with(expected), "{query}: {error}");
    }
    config.as_object_mut().unwrap().remove("usage");
    gateway.reload(&config).await;
    let page = gateway.page("GET", "/usage").await;
    assert_eq!(page.status, 404);
    assert!(
        page.text().contains("add the section `usage: {}`"),
        "{}",
        page.text()
    );
    let url = format!("http://{}", gateway.admin);
    let (code, _, errors) = run(&["usage", "--admin", &url], &[]);
    assert_eq!(code, 1);
    assert!(errors.contains("add the section `usage: {}`"), "{errors}");
}

#[tokio::test]
async fn callers_beyond_the_rows_of_a_day_are_counted_as_other() {
    let simulator = Simulator::start().await;
    let mut config = usage_config(&simulator.url(), &json!("memory"));
    config["usage"] = json!({"rows_per_day": 100});
    let key = |number: usize| format!("sk-crowd-canary-{number:04}");
    let callers = config["callers"].as_array_mut().unwrap();
    callers
        .extend((0..120).map(|number| config::caller(&format!("c{number}"), &key(number), &["*"])));
    let gateway = Gateway::start_in(folder_with_schemas(), &config.to_string()).await;
    for number in 0..120 {
        let request = request(Protocol::Chat, "demo-small", false).key(&key(number));
        assert_eq!(gateway.ask(&request).await.status, 200);
    }
    eventually("all is counted", async || {
        (gateway.log().len() == 120).then_some(())
    })
    .await;
    let page = gateway.page("GET", "/usage?by=caller").await.json();
    let rows = page["rows"].as_array().unwrap();
    let other = rows.iter().find(|row| row["caller"] == "other").unwrap();
    assert_eq!((rows.len(), &other["requests"]), (101, &json!(20)));
}
