//! Tests of gateways that are killed under load: each create is accepted, free, or listed as unknown; none is made twice.
//!
//! `HEADGATE_KILLS=50 cargo test --test suite paid::killed_gateways -- --nocapture` kills more often, and prints counts.

use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::paid::{CreateShape, error_code, is_replayed, unsettled_creates};
use crate::harness::repetitions::repetitions;
use crate::harness::video::{GENERIC, ask, id_of};
use crate::harness::{
    Connection, Gateway, RedisServer, Request, Simulator, WholeResponse, eventually,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;

const SHAPE: CreateShape = CreateShape::GenericForA;
/// Creates under way when a gateway is killed.
const CLIENTS: usize = 12;

#[tokio::test]
async fn creates_survive_kills_of_two_gateways_on_one_file() {
    let folder = Folder::new();
    let file = folder.path().join("state.sqlite");
    let state = json!(format!("sqlite:{}", file.display()));
    kill_under_load("SQLite", state).await;
}

#[tokio::test]
async fn creates_survive_kills_of_two_gateways_on_one_redis() {
    let redis = RedisServer::start();
    let state =
        json!({"redis": {"url": format!("redis://127.0.0.1:{}/0", redis.port), "timeout": "1s"}});
    kill_under_load("Redis", state).await;
}

/// A create that was under way when a gateway was killed.
struct InterruptedCreate {
    name: String,
    response: Option<WholeResponse>,
}

impl InterruptedCreate {
    fn request(&self) -> Request {
        request(&self.name)
    }
}

fn request(name: &str) -> Request {
    let request = SHAPE.request(name).header("Idempotency-Key", name);
    request.simulate("delay=40ms")
}

async fn kill_under_load(store: &str, state: Value) {
    let kills = repetitions("HEADGATE_KILLS", 5);
    let simulator = Simulator::start().await;
    let mut config = SHAPE.config(&simulator, &json!({}));
    config["state"] = state;
    let folder = folder_with_schemas();
    let file = folder.write("routes.yaml", format!("{config:#}"));
    let mut gateways = [
        Gateway::start_at(&file).await,
        Gateway::start_at(&file).await,
    ];
    let mut creates = Vec::new();
    for kill in 0..kills {
        let addresses = [gateways[0].address, gateways[1].address];
        let asks: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let name = format!("gate {kill} {client}").replace(' ', "-");
                tokio::spawn(interrupted(addresses[client % 2], name))
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(random_below(120))).await;
        let killed = &mut gateways[kill % 2];
        killed.process.signal(libc::SIGKILL);
        for ask in asks {
            creates.push(ask.await.unwrap());
        }
        *killed = Gateway::start_at(&file).await;
    }
    let retries = retry_all(&creates, &gateways).await;
    let listed = unsettled_creates(&file);
    let received = received_by_name(&simulator).await;
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (create, retry) in creates.iter().zip(&retries) {
        let name = &create.name;
        let made = received.get(name).copied().unwrap_or(0);
        assert!(made <= 1, "{name} was made {made} times");
        let before = create
            .response
            .as_ref()
            .filter(|response| response.status == 200);
        let end = match retry.status {
            200 => {
                assert_eq!(made, 1, "{name}");
                if let Some(before) = before {
                    assert_eq!(before.body, retry.body, "{name}");
                    assert!(is_replayed(retry), "{name}");
                }
                match is_replayed(retry) {
                    true => "accepted, replayed",
                    false => "not sent, made by the retry",
                }
            }
            _ => {
                assert_eq!(
                    error_code(retry),
                    "outcome_unknown",
                    "{name}: {}",
                    retry.text()
                );
                assert!(before.is_none(), "{name} had a response");
                let is_listed = |create: &Value| {
                    create["reason"] == "outcome_unknown"
                        && retry
                            .text()
                            .contains(create["request_id"].as_str().unwrap())
                };
                assert!(listed.iter().any(is_listed), "{name}: {listed:#?}");
                match made {
                    0 => "unknown, not made",
                    _ => "unknown, made",
                }
            }
        };
        *counts.entry(end).or_default() += 1;
    }
    let doubled = received.values().filter(|made| **made > 1).count();
    let found = found_again(&retries, &gateways).await;
    println!(
        "{store}: {kills} kills, {} creates, {doubled} made twice: {counts:?}; {found} tasks were queried and found",
        creates.len()
    );
}

/// Sends a create to a gateway that may be killed meanwhile.
async fn interrupted(address: SocketAddr, name: String) -> InterruptedCreate {
    let response = match TcpStream::connect(address).await {
        Ok(stream) => {
            let mut connection = Connection::over(stream);
            match connection.send(&request(&name).bytes()).await {
                Ok(()) => connection.answer().await.filter(|response| response.whole),
                Err(_) => None,
            }
        }
        Err(_) => None,
    };
    InterruptedCreate { name, response }
}

/// The responses to the same creates, sent again alternately to both gateways, all at once.
async fn retry_all(creates: &[InterruptedCreate], gateways: &[Gateway; 2]) -> Vec<WholeResponse> {
    let mut asks = Vec::new();
    for (nth, create) in creates.iter().enumerate() {
        let (address, request) = (gateways[(nth + 1) % 2].address, create.request());
        asks.push(tokio::spawn(async move {
            Connection::to(address).await.ask(&request).await
        }));
    }
    let mut responses = Vec::new();
    for ask in asks {
        responses.push(ask.await.unwrap());
    }
    responses
}

/// Queries some of the accepted tasks by their ids at both gateways, and returns how many; all must be found. Queries of
/// a provider are limited in number for each second.
async fn found_again(retries: &[WholeResponse], gateways: &[Gateway; 2]) -> usize {
    let accepted: Vec<_> = retries.iter().filter(|retry| retry.status == 200).collect();
    let mut found = 0;
    for (nth, retry) in accepted.iter().step_by(accepted.len() / 20 + 1).enumerate() {
        let (gateway, id) = (&gateways[nth % 2], id_of(GENERIC, retry));
        let status = async || (ask(gateway, GENERIC, &id).await.status == 200).then_some(());
        eventually("an accepted task", status).await;
        found += 1;
    }
    found
}

/// How many creates of each name the provider received.
async fn received_by_name(simulator: &Simulator) -> HashMap<String, usize> {
    let mut received = HashMap::new();
    for record in simulator.records().await {
        let body = simulator.body(&record["n"]).await;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let text = body.pointer("/content/0/text").and_then(Value::as_str);
        let name = text.unwrap_or_default().split_whitespace().next();
        *received
            .entry(name.unwrap_or_default().to_owned())
            .or_default() += 1;
    }
    received
}

fn random_below(below: u64) -> u64 {
    RandomState::new().hash_one(0) % below
}
