//! Tests of streams that run on another worker than their connection, since that one is busy.

use crate::harness::config::route;
use crate::harness::http2::Http2Reply;
use crate::harness::plugins::{declare_plugin, folder_with_plugin};
use crate::harness::{Connection, Http2, Request, TlsTestSetup, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::client::TlsStream;

/// Chats at a time: more than one worker should have.
const AT_ONCE: usize = 40;
/// Chats in the place of each of them.
const ONE_AFTER_ANOTHER: usize = 5;
/// Streams that are opened at most until one has moved; a connection may have 100.
const STREAMS_MAX: usize = 80;
/// Connections that keep the workers busy, half of them for each.
const BUSY_CONNECTIONS: usize = 8;
/// Processor time in which a worker has run more than its start, in ticks of 10 ms.
const TICKS_USED: u64 = 10;

/// A plugin that computes for milliseconds, whatever the gateway was compiled with.
const BUSY: &str = r#"
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
    (local $turns i32)
    (loop $more
      (local.set $turns (i32.add (local.get $turns) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $turns) (i32.const 6000000))))
    (i32.const 0))"#;

#[tokio::test]
async fn streams_of_one_connection_run_on_all_workers_and_are_recorded_once() {
    for workers in [2, 4] {
        let world = start(workers, |config| {
            config["callers"][0]["limits"] = json!({"concurrent": AT_ONCE, "connections": 1});
            let filters = route(config, "chat")["request"].as_array_mut();
            filters.unwrap().push("rate_limit".into());
            add_busy_filter(config, "chat");
        });
        let world = world.await;
        let connection = world.connect().await;
        let mut count = 0;
        let used = async || {
            let mut asking = JoinSet::new();
            for _ in 0..AT_ONCE {
                let connection = connection.clone();
                asking.spawn(async move {
                    for _ in 0..ONE_AFTER_ANOTHER {
                        let answer = connection.ask(&Request::ask(Protocol::Chat)).await;
                        assert_eq!((answer.status, answer.whole), (200, true), "{answer:?}");
                    }
                });
            }
            asking.join_all().await;
            count += AT_ONCE * ONE_AFTER_ANOTHER;
            let ticks = world.gateway.process.thread_ticks("gateway ");
            let used = ticks.iter().filter(|ticks| **ticks >= TICKS_USED).count();
            (used == workers).then_some(())
        };
        eventually("work on all workers", used).await;
        assert!(moved(&world).await > 0.0);
        assert_recorded_once(&world, count, &["complete", "usage_missing"]).await;
        let requests = world.gateway.metrics().await;
        let requests = requests.sum("headgate_requests_total", &[("route", "chat")]);
        assert_eq!(requests, count as f64);
        // The connection counts once for its caller, until it ends.
        let next = async || {
            let next = world.connect().await;
            next.ask(&Request::ask(Protocol::Chat)).await.status
        };
        assert_eq!(next().await, 429);
        drop(connection);
        let next = async || (next().await == 200).then_some(());
        eventually("a place for the caller's next connection", next).await;
    }
}

#[tokio::test]
async fn a_moved_stream_that_is_reset_ends_the_providers_work() {
    let world = two_workers().await;
    let connection = world.connect().await;
    let replies = open_moved(&world, &connection, "pace=10ms; events=6000").await;
    let count = replies.len();
    for reply in replies {
        reply.reset();
    }
    assert_cancelled(&world, count).await;
    let answer = connection.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(answer.status, 200, "the connection lives on");
}

#[tokio::test]
async fn a_connection_that_breaks_ends_the_work_of_its_moved_streams() {
    let world = two_workers().await;
    let connection = world.connect().await;
    let replies = open_moved(&world, &connection, "pace=10ms; events=6000").await;
    let count = replies.len();
    drop((replies, connection));
    assert_cancelled(&world, count).await;
}

#[tokio::test]
async fn moved_streams_complete_while_the_gateway_drains() {
    let mut world = two_workers().await;
    let connection = world.connect().await;
    let replies = open_moved(&world, &connection, "pace=50ms; events=80").await;
    let count = replies.len();
    world.gateway.process.signal(libc::SIGTERM);
    assert_whole(replies).await;
    let ended = async || world.gateway.process.ended();
    assert!(eventually("the end of the process", ended).await.success());
    assert_eq!(ids(&chats(&world)).len(), count);
}

#[tokio::test]
async fn a_reload_loses_no_moved_stream() {
    let world = two_workers().await;
    let connection = world.connect().await;
    let replies = open_moved(&world, &connection, "pace=50ms; events=80").await;
    let count = replies.len();
    let mut changed: Value = serde_json::from_str(&world.gateway.config()).unwrap();
    changed["callers"][1]["models"] = json!(["*"]);
    world.gateway.reload(&changed).await;
    let answer = connection.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(answer.status, 200);
    assert_whole(replies).await;
    assert_recorded_once(&world, count + 1, &["complete", "usage_missing"]).await;
}

async fn two_workers() -> TlsTestSetup {
    start(2, |config| add_busy_filter(config, "models")).await
}

async fn start(workers: usize, change: impl FnOnce(&mut Value)) -> TlsTestSetup {
    let folder = folder_with_plugin("busy", BUSY);
    let starting = TlsTestSetup::start_in(folder, |config| {
        config["server"]["workers"] = workers.into();
        declare_plugin(config, "busy", json!({}));
        change(config);
    });
    starting.await
}

/// Adds the plugin before the last filter of a route.
fn add_busy_filter(config: &mut Value, of_route: &str) {
    let filters = route(config, of_route)["request"].as_array_mut().unwrap();
    filters.insert(filters.len() - 1, json!({"plugin": {"use": "busy"}}));
}

/// Opens streams of chats until one of them runs on another worker than the connection. All workers are busy with other
/// requests meanwhile.
async fn open_moved(world: &TlsTestSetup, connection: &Http2, directives: &str) -> Vec<Http2Reply> {
    let mut busy = JoinSet::new();
    for _ in 0..BUSY_CONNECTIONS {
        let mut connection = connect_http1(world).await;
        busy.spawn(async move {
            loop {
                let answer = connection.ask(&Request::get("/v1/models")).await;
                assert_eq!(answer.status, 200, "{answer:?}");
            }
        });
    }
    let mut replies = Vec::new();
    while moved(world).await == 0.0 {
        assert!(busy.try_join_next().is_none(), "the worker is not busy");
        assert!(replies.len() < STREAMS_MAX, "no stream has moved");
        let chat = Request::ask_stream(Protocol::Chat).simulate(directives);
        replies.push(connection.open(&chat).await);
    }
    assert!(replies.iter().all(|reply| reply.status == 200));
    replies
}

async fn connect_http1(world: &TlsTestSetup) -> Connection<TlsStream<TcpStream>> {
    let address = world.gateway.address;
    let connecting = world.authority.connect(address, &["http/1.1"], None);
    Connection::over(connecting.await.unwrap())
}

async fn moved(world: &TlsTestSetup) -> f64 {
    let metrics = world.gateway.metrics().await;
    metrics.sum("headgate_streams_moved_total", &[])
}

async fn assert_whole(replies: Vec<Http2Reply>) {
    let mut reading = JoinSet::new();
    for reply in replies {
        reading.spawn(reply.rest());
    }
    for (answer, reset) in reading.join_all().await {
        assert_eq!((answer.whole, reset), (true, None));
        assert!(answer.text().ends_with("data: [DONE]\n\n"));
    }
}

async fn assert_cancelled(world: &TlsTestSetup, count: usize) {
    let over = async || (world.simulator.open().await == 0).then_some(());
    eventually("the end of all work", over).await;
    for record in world.simulator.records().await {
        assert_eq!(record["ended"], "client_left", "{record}");
    }
    assert_recorded_once(world, count, &["client_cancelled"]).await;
}

/// Waits until no request is in flight; then the access log has one line for each of `count` requests.
async fn assert_recorded_once(world: &TlsTestSetup, count: usize, settlements: &[&str]) {
    let over = async || {
        let metrics = world.gateway.metrics().await;
        let is_over = metrics.sum("headgate_in_flight", &[]) == 0.0;
        (is_over && chats(world).len() >= count).then_some(())
    };
    eventually("the record of each request", over).await;
    let lines = chats(world);
    assert_eq!((lines.len(), ids(&lines).len()), (count, count));
    for line in lines {
        let settlement = line["settlement"].as_str();
        assert!(
            settlement.is_some_and(|it| settlements.contains(&it)),
            "{line}"
        );
    }
}

/// The access log lines of chats, without those of the requests that keep a worker busy.
fn chats(world: &TlsTestSetup) -> Vec<Value> {
    let mut lines = world.gateway.log();
    lines.retain(|line| line["route"] == "chat");
    lines
}

fn ids(lines: &[Value]) -> BTreeSet<&str> {
    lines
        .iter()
        .map(|line| line["id"].as_str().unwrap())
        .collect()
}
