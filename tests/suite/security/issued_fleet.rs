//! Tests of callers that the admin pages make, in gateways that share one Redis, and of a Redis that others write to.

use crate::harness::issuance::{ask, chat, config, make, new_key, request};
use crate::harness::{Connection, Gateway, RedisServer, Simulator, WholeResponse, eventually};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How long a key that was revoked may be accepted elsewhere.
const REVOKED_WITHIN: Duration = Duration::from_secs(2);

struct Fleet {
    redis: RedisServer,
    gateways: Vec<Gateway>,
    config: Value,
    _simulator: Simulator,
}

impl Fleet {
    async fn start(gateways: usize) -> Self {
        let (redis, simulator) = (RedisServer::start(), Simulator::start().await);
        let config = config(&simulator.url(), &redis.url(), "a");
        let mut fleet = Self {
            redis,
            gateways: Vec::new(),
            config,
            _simulator: simulator,
        };
        for _ in 0..gateways {
            fleet.gateways.push(Gateway::start(&fleet.config).await);
        }
        fleet
    }

    /// Waits until each gateway responds to the key with this status.
    async fn all_respond(&self, key: &str, status: u16) {
        for gateway in &self.gateways {
            eventually("the change", async || {
                (chat(gateway, key).await == status).then_some(())
            })
            .await;
        }
    }

    /// The responses to twenty creates at the same time, in any order.
    async fn make_at_once(&self, name: impl Fn(usize) -> String) -> Vec<WholeResponse> {
        let mut creates = JoinSet::new();
        for number in 0..20 {
            let gateway = &self.gateways[number % self.gateways.len()];
            let body = json!({"name": name(number), "models": ["*"]});
            let (request, admin) = (request(gateway, "POST", "/callers", &body), gateway.admin);
            creates.spawn(async move { Connection::to(admin).await.ask(&request).await });
        }
        creates.join_all().await
    }

    /// The record of a caller, as Redis has it.
    fn record(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        redis::cmd("HGETALL")
            .arg(record_key(name))
            .query(&mut self.connection())
            .unwrap()
    }

    /// Writes the value of a record as another record, behind the gateways' backs, and announces it.
    fn put(&self, name: &str, record: &BTreeMap<String, Vec<u8>>) {
        let mut command = redis::cmd("HSET");
        command.arg(record_key(name));
        for (field, value) in record {
            command.arg(field).arg(value);
        }
        command.exec(&mut self.connection()).unwrap();
        let keys = "headgate:{issued_caller}:records:keys";
        redis::cmd("ZADD")
            .arg(keys)
            .arg(0)
            .arg(name)
            .exec(&mut self.connection())
            .unwrap();
    }

    /// Empties the log of changes, so that all gateways read all records.
    fn break_log(&self) {
        let keys: Vec<String> = redis::cmd("KEYS")
            .arg("*{caller_change}*")
            .query(&mut self.connection())
            .unwrap();
        redis::cmd("DEL")
            .arg(keys)
            .exec(&mut self.connection())
            .unwrap();
    }

    fn connection(&self) -> redis::Connection {
        redis::Client::open(self.redis.url())
            .unwrap()
            .get_connection()
            .unwrap()
    }
}

fn record_key(name: &str) -> String {
    format!("headgate:{{issued_caller}}:records:record:{name}")
}

/// The subjects of findings about refused records.
async fn refused_records(gateway: &Gateway) -> Vec<String> {
    let findings = gateway.page("GET", "/findings").await.json();
    let findings = findings["findings"].as_array().unwrap().iter();
    let refused = findings.filter(|one| one["code"] == "caller_record_refused");
    refused
        .map(|one| one["subject"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_key_is_used_by_all_gateways_and_refused_by_all_within_two_seconds() {
    let fleet = Fleet::start(3).await;
    let key = make(&fleet.gateways[0], "carl").await;
    fleet.all_respond(&key, 200).await;
    let mut latest = Duration::ZERO;
    for round in 0..3 {
        let (at, key) = match round {
            0 => (0, key.clone()),
            _ => {
                let name = format!("carl{round}");
                let key = make(&fleet.gateways[round], &name).await;
                fleet.all_respond(&key, 200).await;
                (round, key)
            }
        };
        let name = if at == 0 {
            "carl".to_owned()
        } else {
            format!("carl{round}")
        };
        let path = format!("/callers/{name}");
        let deleted = ask(&fleet.gateways[(at + 1) % 3], "DELETE", &path, Value::Null).await;
        assert_eq!(deleted.status, 200, "{}", deleted.text());
        let since = Instant::now();
        while since.elapsed() < REVOKED_WITHIN {
            for gateway in &fleet.gateways {
                let sent = since.elapsed();
                if chat(gateway, &key).await == 200 {
                    latest = latest.max(sent);
                }
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for gateway in &fleet.gateways {
            assert_eq!(chat(gateway, &key).await, 401);
        }
    }
    println!("the last accepted request was sent {latest:?} after the DELETE");
}

#[tokio::test]
async fn of_many_creates_of_one_name_exactly_one_succeeds() {
    let fleet = Fleet::start(2).await;
    let responses = fleet.make_at_once(|_| "carl".into()).await;
    let (made, refused): (Vec<_>, Vec<_>) =
        responses.into_iter().partition(|one| one.status == 201);
    assert_eq!(made.len(), 1);
    for response in refused {
        assert_eq!(response.status, 409, "{}", response.text());
    }
    fleet.all_respond(&new_key(&made[0]), 200).await;
    for made in fleet.make_at_once(|number| format!("c{number}")).await {
        assert_eq!(made.status, 201, "{}", made.text());
        fleet.all_respond(&new_key(&made), 200).await;
    }
}

#[tokio::test]
async fn whoever_writes_to_redis_makes_no_keys() {
    let fleet = Fleet::start(2).await;
    let gateway = &fleet.gateways[0];
    let (carl, dora) = (make(gateway, "carl").await, make(gateway, "dora").await);
    fleet.all_respond(&dora, 200).await;
    let (first, other) = (fleet.record("carl"), fleet.record("dora"));
    assert!(!String::from_utf8_lossy(&first["value"]).contains("models"));

    // The record of another caller, and one that nobody has sealed.
    let mut plain = first.clone();
    plain.insert(
        "value".into(),
        br#"{"name":"eve","entry":{"models":["*"]}}"#.to_vec(),
    );
    for (name, record) in [("mallory", &other), ("eve", &plain)] {
        fleet.put(name, record);
    }
    fleet.break_log();
    for gateway in &fleet.gateways {
        eventually("the findings", async || {
            let found = refused_records(gateway).await;
            (found == ["caller eve", "caller mallory"]).then_some(())
        })
        .await;
        assert_eq!(
            (chat(gateway, &carl).await, chat(gateway, &dora).await),
            (200, 200)
        );
    }

    // A key that was removed, and a caller that was deleted, put back.
    let changed = ask(
        gateway,
        "PATCH",
        "/callers/carl",
        json!({"keys": {"new": {}}}),
    )
    .await;
    let second = fleet.record("carl");
    let new = new_key(&changed);
    fleet.all_respond(&new, 200).await;
    let label = changed.json()["keys"][0]["label"]
        .as_str()
        .unwrap()
        .to_owned();
    ask(
        gateway,
        "PATCH",
        "/callers/carl",
        json!({"keys": {label: null}}),
    )
    .await;
    fleet.all_respond(&carl, 401).await;
    ask(gateway, "DELETE", "/callers/dora", Value::Null).await;
    fleet.all_respond(&dora, 401).await;
    fleet.put("carl", &second);
    fleet.put("dora", &other);
    fleet.break_log();
    for gateway in &fleet.gateways {
        eventually("the findings", async || {
            let found = refused_records(gateway).await;
            (found == ["caller carl", "caller dora", "caller eve", "caller mallory"]).then_some(())
        })
        .await;
        assert_eq!(
            (chat(gateway, &carl).await, chat(gateway, &dora).await),
            (401, 401)
        );
        assert_eq!(chat(gateway, &new).await, 200);
    }

    // No change begins from a record that was put back; a deletion ends it.
    let patch = json!({"limits": {"concurrent": 9}});
    let refused = ask(gateway, "PATCH", "/callers/carl", patch).await;
    assert_eq!(refused.status, 409, "{}", refused.text());
    let deleted = ask(gateway, "DELETE", "/callers/carl", Value::Null).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    fleet.all_respond(&new, 401).await;
    let body = json!({"name": "carl", "models": ["*"]});
    let again = ask(gateway, "POST", "/callers", body).await;
    assert_eq!(again.json()["identity"], "carl~2", "{}", again.text());
    for key in [&carl, &new] {
        fleet.all_respond(key, 401).await;
    }
}

#[tokio::test]
async fn while_the_store_is_unreachable_known_callers_stay_and_nothing_changes() {
    let mut fleet = Fleet::start(2).await;
    let key = make(&fleet.gateways[0], "carl").await;
    fleet.all_respond(&key, 200).await;
    fleet.redis.kill();
    for (method, path, body) in [
        ("POST", "/callers", json!({"name": "dora", "models": ["*"]})),
        ("PATCH", "/callers/carl", json!({"models": []})),
        ("DELETE", "/callers/carl", Value::Null),
        ("GET", "/callers", Value::Null),
    ] {
        let received = ask(&fleet.gateways[0], method, path, body).await;
        assert_eq!(received.status, 503, "{method}: {}", received.text());
    }
    for gateway in &fleet.gateways {
        assert_eq!(chat(gateway, &key).await, 200);
    }
    fleet.redis.restart();
    let made = eventually("the store", async || {
        let body = json!({"name": "dora", "models": ["*"]});
        let made = ask(&fleet.gateways[1], "POST", "/callers", body).await;
        (made.status == 201).then_some(made)
    })
    .await;
    fleet.all_respond(&new_key(&made), 200).await;
}

#[tokio::test]
async fn a_key_of_seals_is_rotated_and_a_lost_one_revokes_all() {
    let fleet = Fleet::start(1).await;
    let gateway = &fleet.gateways[0];
    let key = make(gateway, "carl").await;
    let reload = async |seals: &[&str]| {
        let mut config = fleet.config.clone();
        config["task_keys"] = seals.iter().map(|seal| seal.repeat(32)).collect();
        let sealed = fleet.record("carl")["value"].clone();
        gateway.reload(&config).await;
        sealed
    };
    let before = reload(&["b", "a"]).await;
    eventually("another seal", async || {
        (fleet.record("carl")["value"] != before).then_some(())
    })
    .await;
    reload(&["b"]).await;
    eventually("a poll", async || {
        (chat(gateway, &key).await == 200).then_some(())
    })
    .await;
    reload(&["c"]).await;
    fleet.all_respond(&key, 401).await;
    reload(&["c", "b"]).await;
    fleet.all_respond(&key, 200).await;
}
