//! Tests of recorded responses in the state store: for the next start, and for other gateways.

use crate::harness::caching::{CachingSetup, caching_config};
use crate::harness::patient_redis::patient_redis;
use crate::harness::state_file::StateFile;
use crate::harness::{Gateway, RedisServer, Request, Simulator, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const KIND: &str = "cached_response";

fn config(simulator: &Simulator, state: Value) -> Value {
    let settings = json!({"store": "state", "streams": true});
    let mut config = caching_config(&simulator.url(), &settings);
    config["state"] = state;
    config
}

#[tokio::test]
async fn responses_survive_a_restart() {
    let (state, simulator) = (StateFile::new(), Simulator::start().await);
    let config = config(&simulator, json!(state.url()));
    let requests = [
        Request::ask(Protocol::Chat),
        Request::ask_stream(Protocol::Messages),
    ];
    let mut world = CachingSetup {
        gateway: Gateway::start(&config).await,
        simulator,
    };
    let mut bodies = Vec::new();
    for request in &requests {
        bodies.push(world.expect(request, "miss", "first").await.body);
    }
    let stored = async || (state.records(KIND).len() == 2).then_some(());
    eventually("the records", stored).await;
    world.gateway.process.signal(libc::SIGTERM);
    eventually("the end of the process", async || {
        world.gateway.process.ended()
    })
    .await;
    world.gateway = Gateway::start(&config).await;
    for (request, body) in requests.iter().zip(bodies) {
        for _ in 0..2 {
            let again = world.expect(request, "hit", "after the restart").await;
            assert!(again.body == body);
        }
    }
    assert_eq!(world.received().await, 2);
}

#[tokio::test]
async fn two_gateways_share_responses() {
    let (redis, file) = (RedisServer::start(), StateFile::new());
    for state in [patient_redis(&redis), json!(file.url())] {
        let simulator = Simulator::start().await;
        let config = config(&simulator, state);
        let first = Gateway::start(&config).await;
        let second = Gateway::start(&config).await;
        let request = Request::ask(Protocol::Chat);
        let mut world = CachingSetup {
            gateway: first,
            simulator,
        };
        let recorded = world.expect(&request, "miss", "first").await;
        // The response is written to the store after it was sent.
        sleep(Duration::from_millis(1_500)).await;
        world.gateway = second;
        let shared = world.expect(&request, "hit", "second").await;
        assert!(shared.body == recorded.body);
        // Callers stay apart there, too.
        let bob = request.key(crate::harness::request::BOB);
        let (status, _) = world.ask(&bob).await;
        assert_eq!(status, 403);
        assert_eq!(world.received().await, 1);
    }
}

#[tokio::test]
async fn an_unreachable_store_delays_nobody_for_long() {
    let (mut redis, simulator) = (RedisServer::start(), Simulator::start().await);
    let config = config(&simulator, json!(redis.url()));
    let mut world = CachingSetup {
        gateway: Gateway::start(&config).await,
        simulator,
    };
    let numbered = |number: u32| {
        let body = json!({"model": "demo-large", "messages": [{"role": "user", "content": format!("{number}")}]});
        Request::to(Protocol::Chat, body.to_string())
    };
    world.expect(&numbered(0), "miss", "reachable").await;
    for is_stopped in [true, false] {
        match is_stopped {
            true => redis.stop(true),
            false => {
                redis.stop(false);
                redis.kill();
            }
        }
        for number in 1..4 {
            let number = number + 10 * u32::from(is_stopped);
            let began = Instant::now();
            world.expect(&numbered(number), "miss", "unreachable").await;
            assert!(
                began.elapsed() < Duration::from_secs(3),
                "{:?}",
                began.elapsed()
            );
            // The memory of the process needs no store.
            world.expect(&numbered(number), "hit", "in memory").await;
        }
    }
    assert!(world.gateway.process.ended().is_none());
}

#[tokio::test]
async fn the_records_of_a_route_are_bounded() {
    let (state, simulator) = (StateFile::new(), Simulator::start().await);
    let mut config = config(&simulator, json!(state.url()));
    let chat = crate::harness::config::route(&mut config, "chat");
    let chain = chat["request"].as_array_mut().unwrap();
    *chain.last_mut().unwrap() = json!({"cache": {"store": "state", "records_max": 3}});
    let world = CachingSetup {
        gateway: Gateway::start(&config).await,
        simulator,
    };
    for number in 0..6 {
        let body = json!({"model": "demo-large", "messages": [{"role": "user", "content": format!("{number}")}]});
        let request = Request::to(Protocol::Chat, body.to_string());
        world.expect(&request, "miss", "first").await;
        world.expect(&request, "hit", "in memory").await;
    }
    // A response that is too large for a record stays in memory.
    let large = Request::ask(Protocol::Chat).simulate("body_bytes=300000");
    world.expect(&large, "miss", "large").await;
    world.expect(&large, "hit", "large").await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(state.records(KIND).len(), 3);
}
