//! Deliveries of gateways that are killed: continued by the next process, or by another gateway, with counts.

use crate::harness::receiver::{
    ReceivedEvent, Receiver, callback_config, create_with_callback, free_address, hang,
    has_retried, respond,
};
use crate::harness::state_file::StateFile;
use crate::harness::video::GENERIC;
use crate::harness::{Gateway, RedisServer, Simulator};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long a lease may delay an event, and a bit more.
const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(75);
const RUNS: &str = "queue=2s;run=5m";

/// A gateway with a state file, which outlives the gateway.
struct KillableGateway {
    config: Value,
    _state: StateFile,
}

impl KillableGateway {
    fn new(simulator: &Simulator, directives: &str) -> Self {
        let mut config = callback_config(simulator, directives);
        let state = StateFile::new();
        config["state"] = json!(state.url());
        Self {
            config,
            _state: state,
        }
    }
}

/// A receiver that fails the first attempt, and one that hangs at it.
struct TroubledReceivers {
    failing: Receiver,
    hanging: Receiver,
}

impl TroubledReceivers {
    /// Starts them, and creates a task for each; returns once both have an attempt, of which one has failed.
    async fn with_events_of(gateway: &Gateway) -> Self {
        let receivers = Self {
            failing: Receiver::responding("200 OK").await,
            hanging: Receiver::responding("200 OK").await,
        };
        receivers
            .failing
            .0
            .next(respond("500 Internal Server Error"));
        receivers.hanging.0.next(hang());
        for receiver in [&receivers.failing, &receivers.hanging] {
            let url = receiver.url("/done");
            create_with_callback(gateway, GENERIC, "demo-video-a", &url).await;
        }
        receivers.failing.wait_for(1).await;
        receivers.hanging.wait_for(1).await;
        has_retried(gateway).await;
        receivers
    }
}

fn kill(gateway: Gateway) {
    gateway.process.signal(libc::SIGKILL);
}

fn assert_same_event(events: &[ReceivedEvent]) {
    assert!(
        events.iter().all(|event| event.id == events[0].id),
        "{events:?}"
    );
    assert!(
        events.iter().all(|event| event.body == events[0].body),
        "{events:?}"
    );
}

/// The events, once there are as many, however long a lease takes.
async fn wait_long_for(receiver: &Receiver, count: usize) -> Vec<ReceivedEvent> {
    let until = Instant::now() + TAKEN_OVER_WITHIN;
    loop {
        let events = receiver.events();
        if events.len() >= count {
            return events;
        }
        assert!(
            Instant::now() < until,
            "{} of {count} deliveries",
            events.len()
        );
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn an_event_survives_a_process_that_is_killed_between_and_during_attempts() {
    let simulator = Simulator::start().await;
    let killable = KillableGateway::new(&simulator, RUNS);
    let first = Gateway::start(&killable.config).await;
    let receivers = TroubledReceivers::with_events_of(&first).await;
    kill(first);
    let killed = Instant::now();
    let _second = Gateway::start(&killable.config).await;
    for (name, receiver) in [
        ("between attempts", &receivers.failing),
        ("during an attempt", &receivers.hanging),
    ] {
        let events = wait_long_for(receiver, 2).await;
        assert_same_event(&events);
        println!(
            "callbacks: gateway killed {name}: 1 event, {} attempts, the last {:?} after the kill",
            events.len(),
            killed.elapsed()
        );
    }
}

#[tokio::test]
async fn a_change_of_status_survives_a_process_that_is_killed_during_its_query() {
    let simulator = Simulator::start().await;
    let receiver = Receiver::responding("200 OK").await;
    let slow = format!("{RUNS};slow_query=6s");
    let killable = KillableGateway::new(&simulator, &slow);
    let first = Gateway::start(&killable.config).await;
    let url = receiver.url("/done");
    create_with_callback(&first, GENERIC, "demo-video-a", &url).await;
    simulator
        .record("the query", |record| record["endpoint"] == "family_a.query")
        .await;
    kill(first);
    let _second = Gateway::start(&killable.config).await;
    let events = wait_long_for(&receiver, 1).await;
    assert_eq!(events[0].json()["status"], "running");
    println!(
        "callbacks: gateway killed during a query: 1 event, {} attempts",
        events.len()
    );
}

#[tokio::test]
async fn another_gateway_delivers_what_a_killed_one_held() {
    let redis = RedisServer::start();
    let simulator = Simulator::start().await;
    let mut config = callback_config(&simulator, RUNS);
    config["state"] = json!(redis.url());
    let mut other: Value = config.clone();
    other["server"]["listen"] = json!(free_address().to_string());
    let first = Gateway::start(&config).await;
    let receivers = TroubledReceivers::with_events_of(&first).await;
    // The first gateway holds the lease of the attempt that hangs: the other one starts only now.
    let _other = Gateway::start(&other).await;
    kill(first);
    for (name, receiver) in [
        ("between attempts", &receivers.failing),
        ("while it held a lease", &receivers.hanging),
    ] {
        let events = wait_long_for(receiver, 2).await;
        assert_same_event(&events);
        println!(
            "callbacks: one of two gateways killed {name}: 1 event, {} attempts",
            events.len()
        );
    }
}

/// Tasks that run and end while the gateway is killed again and again.
#[tokio::test]
async fn every_event_arrives_although_the_gateway_is_killed_at_many_instants() {
    const TASKS: usize = 24;
    const KILLS: u64 = 8;
    let simulator = Simulator::start().await;
    let receiver = Receiver::responding("200 OK").await;
    let killable = KillableGateway::new(&simulator, "queue=1s;run=6s");
    let mut gateway = Gateway::start(&killable.config).await;
    let mut tasks = Vec::new();
    for n in 0..KILLS {
        for _ in 0..TASKS / KILLS as usize {
            let url = receiver.url("/done");
            tasks.push(create_with_callback(&gateway, GENERIC, "demo-video-a", &url).await);
        }
        sleep(Duration::from_millis(900 + 137 * n)).await;
        kill(gateway);
        gateway = Gateway::start(&killable.config).await;
    }
    let until = Instant::now() + TAKEN_OVER_WITHIN * 2;
    let ended = |events: &[ReceivedEvent]| -> BTreeMap<String, usize> {
        let mut ended = BTreeMap::new();
        for event in events
            .iter()
            .filter(|event| event.json()["status"] == "succeeded")
        {
            let id = event.json()["task_id"].as_str().unwrap().to_owned();
            *ended.entry(id).or_default() += 1;
        }
        ended
    };
    while ended(&receiver.events()).len() < TASKS {
        assert!(
            Instant::now() < until,
            "{} of {TASKS} ends",
            ended(&receiver.events()).len()
        );
        sleep(Duration::from_millis(200)).await;
    }
    let events = receiver.events();
    let mut ids: BTreeMap<(String, String), String> = BTreeMap::new();
    for event in &events {
        let json = event.json();
        let of = |name: &str| json[name].as_str().unwrap().to_owned();
        let id = ids
            .entry((of("task_id"), of("status")))
            .or_insert_with(|| event.id.clone());
        assert_eq!(*id, event.id);
    }
    println!(
        "callbacks: {KILLS} kills, {TASKS} tasks, {} of {TASKS} ends delivered, {} events in {} deliveries",
        ended(&events).len(),
        ids.len(),
        events.len()
    );
    assert!(tasks.iter().all(|task| ended(&events).contains_key(task)));
}
