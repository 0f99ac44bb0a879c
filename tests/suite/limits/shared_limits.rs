//! Tests of limits in gateways that share one Redis, and of `on_store_failure`.
//!
//! `FLEET_SECONDS=150` sends requests for this long, 20 per second; the test prints how many were admitted.

use crate::harness::error_shape::assert_error_body;
use crate::harness::patient_redis::patient_redis;
use crate::harness::{Gateway, RedisServer, Request, Simulator, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

const LIMIT: usize = 600;

fn fleet_config(provider: &str, state: Value, limit: usize) -> Value {
    let mut config = config::standard(provider);
    config["state"] = state;
    config["callers"][0]["limits"] = json!({"requests_per_minute": limit});
    let chain = config::route(&mut config, "chat")["request"].as_array_mut();
    chain.unwrap().push("rate_limit".into());
    config
}

async fn two_gateways(config: &Value) -> [Gateway; 2] {
    [Gateway::start(config).await, Gateway::start(config).await]
}

/// The times at which admitted requests were sent, with `every` between two requests.
async fn let_through(gateways: &[Gateway; 2], requests: usize, every: Duration) -> Vec<Instant> {
    let mut connections = [gateways[0].connect().await, gateways[1].connect().await];
    let began = Instant::now();
    let mut through = Vec::new();
    for number in 0..requests {
        tokio::time::sleep_until(began + every * u32::try_from(number).unwrap()).await;
        let sent = Instant::now();
        let answer = connections[number % 2]
            .ask(&Request::ask(Protocol::Chat))
            .await;
        match answer.status {
            200 => through.push(sent),
            429 => drop(assert_error_body(Protocol::Chat, &answer, 429)),
            other => panic!("{other}: {}", answer.text()),
        }
    }
    through
}

/// How long Redis is stopped while requests are sent; `FLEET_AWAY_SECONDS=10` sets it.
fn unreachable_for() -> Duration {
    let seconds = std::env::var("FLEET_AWAY_SECONDS");
    Duration::from_secs(seconds.map_or(0, |seconds| seconds.parse().expect("a number")))
}

#[tokio::test]
async fn two_gateways_keep_a_caller_to_one_limit() {
    let (redis, simulator) = (RedisServer::start(), Simulator::start().await);
    let config = fleet_config(&simulator.url(), patient_redis(&redis), LIMIT);
    let gateways = two_gateways(&config).await;
    let (requests, every) = match std::env::var("FLEET_SECONDS") {
        Ok(seconds) => (
            seconds.parse::<usize>().unwrap() * 20,
            Duration::from_millis(50),
        ),
        Err(_) => (LIMIT + 100, Duration::ZERO),
    };
    let through = let_through(&gateways, requests, every).await;
    let minute = Duration::from_secs(60);
    let in_minute_from = |from: &Instant| {
        let within = |sent: &&Instant| (*from..*from + minute).contains(*sent);
        through.iter().filter(within).count()
    };
    let most = through.iter().map(in_minute_from).max().unwrap();
    println!(
        "{} of {requests} requests got through, at most {most} in any 60 s",
        through.len()
    );
    assert!(most <= LIMIT, "{most}");
    assert!(
        in_minute_from(&through[0]) * 100 >= LIMIT * 98,
        "{}",
        through.len()
    );
}

#[tokio::test]
async fn on_store_failure_applies_until_redis_is_back() {
    for (policy, status) in [("allow", 200), ("deny", 503)] {
        let (mut redis, simulator) = (RedisServer::start(), Simulator::start().await);
        let state = json!({"redis": {"url": redis.url(), "on_store_failure": policy}});
        let gateways = two_gateways(&fleet_config(&simulator.url(), state, 1)).await;
        let ask = async |gateway: &Gateway| gateway.ask(&Request::ask(Protocol::Chat)).await.status;
        assert_eq!(ask(&gateways[0]).await, 200);
        assert_eq!(ask(&gateways[1]).await, 429, "the other has used it up");
        redis.kill();
        let unreachable = Instant::now() + unreachable_for();
        let mut asked = 0;
        while asked < 20 || Instant::now() < unreachable {
            for gateway in &gateways {
                assert_eq!(ask(gateway).await, status, "{policy}");
                asked += 1;
            }
        }
        println!("{policy}: {asked} requests without Redis, each answered {status}");
        redis.restart();
        eventually("both count again", async || {
            let refused = [ask(&gateways[0]).await, ask(&gateways[1]).await];
            (refused == [429, 429]).then_some(())
        })
        .await;
    }
}
