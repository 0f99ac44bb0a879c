//! Tests of budgets in money: many requests at once, in every store, and what is left to the last billionth.

use crate::harness::error_shape::assert_error_body;
use crate::harness::folder::Folder;
use crate::harness::patient_redis::patient_redis;
use crate::harness::request::ANN;
use crate::harness::{Gateway, RedisServer, Request, Simulator, WholeResponse, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use tokio::task::JoinSet;

pub const NANOS: f64 = 1e9;
const RUNS: usize = 20;
const REQUESTS: usize = 200;
/// Tokens of the output of each request, all of which the simulated model writes.
pub const OUTPUT: u64 = 100;
/// Of `demo-large`, whose output alone has a price, and of `demo-small`: the price of a million tokens of output.
const OUTPUT_PRICE: u64 = 10;
/// What the output of a request costs, in billionths.
pub const OUTPUT_COST: u64 = OUTPUT * OUTPUT_PRICE * 1_000;

/// The key of a caller.
pub fn key(caller: usize) -> String {
    format!("sk-budget-canary-{caller:04}")
}

pub fn chat(model: &str, caller: usize, output: u64) -> Request {
    let message = json!({"role": "user", "content": "Count to a thousand."});
    let body = json!({"model": model, "max_tokens": output, "messages": [message]});
    let request = Request::to(Protocol::Chat, body.to_string());
    request.key(&key(caller))
}

/// A configuration in which each of `callers` callers may spend `budget` billionths in all.
pub fn budget_config(provider: &str, state: &Value, callers: usize, budget: u64) -> Value {
    let mut config = config::standard(provider);
    config["state"] = state.clone();
    config["prices"] = json!({"models": {
        "demo-large": {"output": OUTPUT_PRICE},
        "demo-small": {"input": 3, "cache_write": 3.75, "output": OUTPUT_PRICE},
    }});
    for model in ["demo-large", "demo-small"] {
        config["models"][model]["max_output_tokens"] = json!(1_000);
    }
    let limits = json!({"cost_total": decimal(budget), "cost_per_day": 1_000});
    for caller in 0..callers {
        let mut entry = config::caller(&format!("caller-{caller}"), &key(caller), &["*"]);
        entry["limits"] = limits.clone();
        config["callers"].as_array_mut().unwrap().push(entry);
    }
    let chain = config::route(&mut config, "chat")["request"].as_array_mut();
    chain.unwrap().push("rate_limit".into());
    config
}

/// An amount in billionths as a decimal number.
fn decimal(nanos: u64) -> String {
    format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

fn nanos(decimal: &str) -> u64 {
    let (units, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    format!("{units}{fraction:0<9}").parse().unwrap()
}

/// What a caller has left of its total budget: a request that costs more than all of it is refused, and names that.
pub async fn left(gateway: &Gateway, caller: usize) -> u64 {
    let refused = gateway.ask(&chat("demo-large", caller, 1 << 30)).await;
    let text = refused.text();
    assert_eq!(refused.status, 429, "{text}");
    let (before, _) = text.split_once(" USD are left").expect("what is left");
    nanos(before.rsplit(' ').next().unwrap())
}

/// Sends `REQUESTS` requests at once, in turns to each gateway; a response is `None` if its gateway ends before.
async fn send_crowd(gateways: &[Gateway], request: &Request) -> JoinSet<Option<WholeResponse>> {
    let mut requests = JoinSet::new();
    for number in 0..REQUESTS {
        let mut connection = gateways[number % gateways.len()].connect().await;
        let bytes = request.bytes();
        requests.spawn(async move {
            connection.send(&bytes).await.ok()?;
            connection.answer().await
        });
    }
    requests
}

/// The number of requests of a crowd that were admitted; all others were refused by the budget.
async fn crowd(gateways: &[Gateway], model: &str, caller: usize, directives: &str) -> usize {
    let request = chat(model, caller, OUTPUT).simulate(directives);
    let responses = send_crowd(gateways, &request).await.join_all().await;
    let responses = responses
        .into_iter()
        .map(|response| response.expect("a response"));
    let (admitted, refused): (Vec<_>, Vec<_>) = responses.partition(|it| it.status == 200);
    for refused in &refused {
        assert_error_body(Protocol::Chat, refused, 429);
        let body: Value = serde_json::from_str(&refused.text()).unwrap();
        assert_eq!(body["error"]["code"], "insufficient_quota", "{body}");
        assert_eq!(refused.headers.get("x-should-retry"), Some("false"));
        assert_eq!(
            refused.headers.get("retry-after"),
            None,
            "a total resets never"
        );
    }
    admitted.len()
}

/// The sum of what the log has as the charges of a caller's requests, in billionths.
fn logged_charges(gateways: &[Gateway], caller: usize) -> u64 {
    let name = format!("caller-{caller}");
    let lines = gateways.iter().flat_map(Gateway::log);
    let costs = lines.filter(|line| line["caller"] == *name);
    let costs = costs.filter_map(|line| line["budget_charge"].as_f64());
    costs.map(|cost| (cost * NANOS).round() as u64).sum()
}

/// Twenty crowds against budgets for ten requests.
async fn spend_in_crowds(gateways: &[Gateway], budget: u64) {
    for run in 0..RUNS {
        let model = ["demo-large", "demo-small"][run % 2];
        let delay = ["delay=50ms; body_bytes=400", "body_bytes=400"][run / 2 % 2];
        let admitted = crowd(gateways, model, run, delay).await;
        if model == "demo-large" {
            assert_eq!(
                admitted, 10,
                "run {run}: each request costs what it reserves"
            );
        }
        let settled = eventually("all that was spent is settled", async || {
            let (spent, left) = (logged_charges(gateways, run), left(&gateways[0], run).await);
            (spent + left == budget).then_some(spent)
        })
        .await;
        assert!(settled <= budget, "run {run}: {settled} of {budget}");
        assert!(settled >= admitted as u64 * OUTPUT_COST, "run {run}");
    }
}

#[tokio::test]
async fn a_crowd_never_spends_more_than_the_budget() {
    let (redis, simulator) = (RedisServer::start(), Simulator::start().await);
    let folder = Folder::new();
    let file = format!("sqlite:{}", folder.path().join("budgets.sqlite").display());
    for (state, gateways) in [
        (json!("memory"), 1),
        (json!(file), 1),
        (patient_redis(&redis), 3),
    ] {
        let budget = 10 * OUTPUT_COST;
        let config = budget_config(&simulator.url(), &state, RUNS, budget);
        let mut started = Vec::new();
        for _ in 0..gateways {
            started.push(Gateway::start(&config).await);
        }
        spend_in_crowds(&started, budget).await;
    }
}

/// Three gateways that share a Redis whose writes are on disk.
struct DurableFleet {
    redis: RedisServer,
    simulator: Simulator,
    gateways: Vec<Gateway>,
    _folder: Folder,
}

impl DurableFleet {
    async fn start(budget: u64) -> Self {
        let (folder, simulator) = (Folder::new(), Simulator::start().await);
        let redis = RedisServer::start_durable(folder.path());
        let state = patient_redis(&redis);
        let config = budget_config(&simulator.url(), &state, RUNS, budget);
        let mut gateways = Vec::new();
        for _ in 0..3 {
            gateways.push(Gateway::start(&config).await);
        }
        Self {
            redis,
            simulator,
            gateways,
            _folder: folder,
        }
    }

    /// Waits until the provider has this many requests at work.
    async fn provider_has(&self, requests: u64) {
        eventually("requests at the provider", async || {
            (self.simulator.open().await >= requests).then_some(())
        })
        .await;
    }

    /// What a caller has reserved and not settled.
    fn reservations(&self, caller: usize) -> Vec<u64> {
        let mut connection = redis::Client::open(self.redis.url())
            .unwrap()
            .get_connection()
            .unwrap();
        let pattern = format!("*{{caller-{caller}}}:reserved:*");
        let keys: Vec<String> = redis::cmd("KEYS")
            .arg(pattern)
            .query(&mut connection)
            .unwrap();
        // A reservation may be settled while the others are read.
        let amounts = keys.iter().filter_map(|key| {
            let amount: Option<u64> = redis::cmd("GET").arg(key).query(&mut connection).unwrap();
            amount
        });
        amounts.collect()
    }
}

#[tokio::test]
async fn what_a_killed_gateway_had_reserved_counts_in_full() {
    let budget = 10 * OUTPUT_COST;
    let mut fleet = DurableFleet::start(budget).await;
    let request = chat("demo-large", 0, OUTPUT).simulate("delay=2s; body_bytes=400");
    // Three of the ten are at work for the gateway that is killed.
    let (lost, mut doomed) = (3, JoinSet::new());
    for _ in 0..lost {
        let mut connection = fleet.gateways[2].connect().await;
        let bytes = request.bytes();
        doomed.spawn(async move {
            connection.send(&bytes).await.unwrap();
            connection.answer().await
        });
    }
    fleet.provider_has(lost as u64).await;
    let killed = fleet.gateways.pop().expect("three gateways");
    let requests = send_crowd(&fleet.gateways, &request).await;
    killed.process.signal(libc::SIGKILL);
    assert!(doomed.join_all().await.iter().all(Option::is_none));
    let responses = requests.join_all().await;
    let responses = responses
        .into_iter()
        .map(|response| response.expect("a response"));
    let admitted = responses.filter(|response| response.status == 200).count();
    assert_eq!(admitted, 10 - lost);
    eventually("what the others spent is settled", async || {
        let is_settled = fleet.reservations(0) == vec![OUTPUT_COST; lost];
        let spent = logged_charges(&fleet.gateways, 0);
        (is_settled && spent == admitted as u64 * OUTPUT_COST).then_some(())
    })
    .await;
    assert_eq!(left(&fleet.gateways[0], 0).await, 0);
    assert_eq!(
        crowd(&fleet.gateways, "demo-large", 0, "body_bytes=400").await,
        0
    );
}

#[tokio::test]
async fn a_restart_of_redis_loses_no_reservation_and_no_settlement() {
    let budget = 10 * OUTPUT_COST;
    let mut fleet = DurableFleet::start(budget).await;
    // While requests are at work, and while they are admitted.
    for (run, at_work) in [5, 0].into_iter().enumerate() {
        let request = chat("demo-small", run, OUTPUT).simulate("delay=2s; body_bytes=400");
        let requests = send_crowd(&fleet.gateways, &request).await;
        fleet.provider_has(at_work).await;
        fleet.redis.restart();
        for response in requests.join_all().await.into_iter().flatten() {
            let status = response.status;
            assert!([200, 429, 503].contains(&status), "{}", response.text());
        }
        let settled = eventually("all that was spent is settled", async || {
            let spent = logged_charges(&fleet.gateways, run);
            let refused = fleet.gateways[0]
                .ask(&chat("demo-large", run, 1 << 30))
                .await;
            let is_known = refused.status == 429 && fleet.reservations(run).is_empty();
            (is_known && spent + left(&fleet.gateways[0], run).await == budget).then_some(spent)
        })
        .await;
        assert!(
            settled >= at_work * OUTPUT_COST && settled <= budget,
            "{settled}"
        );
    }
}

#[tokio::test]
async fn a_caller_without_a_budget_spends_beside_one_whose_budget_is_used_up() {
    let simulator = Simulator::start().await;
    let config = budget_config(&simulator.url(), &json!("memory"), 1, OUTPUT_COST);
    let gateway = Gateway::start(&config).await;
    let directives = "body_bytes=400";
    let first = chat("demo-large", 0, OUTPUT).simulate(directives);
    assert_eq!(gateway.ask(&first).await.status, 200);
    assert_eq!(gateway.ask(&first).await.status, 429);
    assert_eq!(gateway.ask(&first.clone().key(ANN)).await.status, 200);
}
