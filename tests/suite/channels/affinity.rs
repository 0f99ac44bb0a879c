//! Tests of affinity on sockets: sessions stay on the channel whose provider has their prompts in its cache, leave it while
//! it fails, and come back.

use crate::harness::config::{self, channel};
use crate::harness::gateway::Metrics;
use crate::harness::http_response::json_response;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::Barrier;

const SESSIONS: usize = 20;
const TURNS: usize = 20;
/// The turns in which one of the channels fails.
const FAILING: std::ops::Range<usize> = 7..13;
const CHANNELS: [&str; 4] = ["one", "two", "three", "four"];
const KEY: &str = "a task key of the fleet with 32 characters";

/// A provider with a prompt cache: it reports those tokens as cached that are the start of an earlier request.
struct CachingProvider {
    provider: ScriptedProvider,
    is_failing: Arc<AtomicBool>,
}

impl CachingProvider {
    async fn start() -> Self {
        let is_failing = Arc::<AtomicBool>::default();
        let (fails, seen) = (is_failing.clone(), Mutex::<HashSet<String>>::default());
        let respond = move |request: &str| match fails.load(Ordering::Relaxed) {
            true => json_response(503, json!({"error": {"message": "overloaded"}})),
            false => completion(request, &mut seen.lock().unwrap()),
        };
        let script = vec![ScriptedResponse::Call(Arc::new(respond))];
        Self {
            provider: ScriptedProvider::start(script).await,
            is_failing,
        }
    }
}

/// The response to a request, whose messages are remembered. A message of 40 bytes has 10 tokens.
fn completion(request: &str, seen: &mut HashSet<String>) -> Vec<u8> {
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let starts = (1..=messages.len()).map(|count| Value::from(&messages[..count]).to_string());
    let (mut tokens, mut cached) = (0, 0);
    for start in starts {
        tokens = start.len() / 4;
        if !seen.insert(start) {
            cached = tokens;
        }
    }
    let message = json!({"role": "assistant", "content": "Go on."});
    let usage = json!({
        "prompt_tokens": tokens, "completion_tokens": 3, "total_tokens": tokens + 3,
        "prompt_tokens_details": {"cached_tokens": cached},
    });
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let body = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"],
        "choices": [choice], "usage": usage,
    });
    json_response(200, body)
}

/// Four channels of one model.
struct World {
    providers: Vec<CachingProvider>,
    gateway: Arc<Gateway>,
}

impl World {
    async fn start(affinity: &Value) -> Self {
        let mut providers = Vec::new();
        for _ in CHANNELS {
            providers.push(CachingProvider::start().await);
        }
        let channels = CHANNELS.iter().zip(&providers).map(|(name, provider)| {
            let credential = json!({"bearer": format!("sk-{name}")});
            let mut channel = channel(&provider.provider.url(), &["chat"], credential);
            // Another model could be usable while this one is in cool-down.
            channel["models"] = json!({"demo-large": "sim-large-2026-08"});
            channel["health"] = json!({
                "consecutive_failures": 1, "cool_down": "200ms", "cool_down_max": "200ms",
            });
            ((*name).to_owned(), channel)
        });
        let mut config = config::standard("http://127.0.0.1:1/v1");
        config["channels"] = Value::Object(channels.collect());
        config["routes"] = json!([config::route(&mut config, "chat")]);
        config["task_keys"] = json!([KEY]);
        if !affinity.is_null() {
            config["models"] = json!({"demo-large": {"affinity": affinity}});
        }
        config["prices"] = json!({"models": {"demo-large": {"input": 2, "cached_input": 0.5}}});
        Self {
            providers,
            gateway: Arc::new(Gateway::start(&config).await),
        }
    }

    /// Has a channel fail, or not any more.
    fn set_failing(&self, channel: usize, is_failing: bool) {
        let provider = &self.providers[channel];
        provider.is_failing.store(is_failing, Ordering::Relaxed);
    }

    /// Waits until a channel is not in cool-down.
    async fn until_usable(&self, channel: usize) {
        eventually("the end of a cool-down", async || {
            let metrics = self.gateway.metrics().await;
            let labels = [("channel", CHANNELS[channel])];
            (metrics.sum("headgate_channel_usable", &labels) == 1.0).then_some(())
        })
        .await;
    }
}

/// What the access log has of one turn.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Turn {
    channel: String,
    affinity: Option<String>,
    tokens: u64,
    cached: u64,
}

/// A turn of a session: its history, and one more message.
fn turn_request(session: usize, turn: usize) -> Request {
    let mut messages = vec![json!({"role": "system", "content": "You continue a story."})];
    for earlier in 0..=turn {
        if earlier > 0 {
            messages.push(json!({"role": "assistant", "content": "Go on."}));
        }
        let content = format!("Session {session}, sentence {earlier} of the story.");
        messages.push(json!({"role": "user", "content": content}));
    }
    let body = json!({"model": "demo-large", "messages": messages});
    Request::to(Protocol::Chat, body.to_string()).header("x-session", &format!("session {session}"))
}

/// All turns of all sessions, in step with each other; `before` runs before each step.
async fn play(world: &World, before: impl AsyncFn(usize)) -> Vec<Vec<Turn>> {
    let step = Arc::new(Barrier::new(SESSIONS + 1));
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|session| {
            let (gateway, step) = (world.gateway.clone(), step.clone());
            tokio::spawn(async move {
                let mut ids = Vec::new();
                for turn in 0..TURNS {
                    step.wait().await;
                    let answer = gateway.ask(&turn_request(session, turn)).await;
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    ids.push(answer.headers.get("x-request-id").unwrap().to_owned());
                    step.wait().await;
                }
                ids
            })
        })
        .collect();
    for turn in 0..TURNS {
        before(turn).await;
        step.wait().await;
        step.wait().await;
    }
    let lines = eventually("a line of each turn", async || {
        let lines = world.gateway.log();
        (lines.len() == SESSIONS * TURNS).then_some(lines)
    })
    .await;
    let lines: HashMap<&str, &Value> = lines
        .iter()
        .map(|line| (line["id"].as_str().unwrap(), line))
        .collect();
    let mut turns = Vec::new();
    for session in sessions {
        let ids = session.await.unwrap();
        turns.push(ids.iter().map(|id| turn_from(lines[&**id])).collect());
    }
    turns
}

fn turn_from(line: &Value) -> Turn {
    Turn {
        channel: line["channel"].as_str().unwrap().to_owned(),
        affinity: line["affinity"].as_str().map(str::to_owned),
        tokens: line["input_tokens"].as_u64().unwrap(),
        cached: line["cached_input_tokens"].as_u64().unwrap(),
    }
}

/// The share of cached tokens in the prompts of these turns, in percent.
fn cached_percent<'t>(turns: impl Iterator<Item = &'t Turn> + Clone) -> u64 {
    let tokens: u64 = turns.clone().map(|turn| turn.tokens).sum();
    let cached: u64 = turns.map(|turn| turn.cached).sum();
    cached * 100 / tokens
}

/// The number of turns by channel.
fn spread(turns: &[Vec<Turn>]) -> BTreeMap<&str, usize> {
    let mut spread = BTreeMap::new();
    for turn in turns.iter().flatten() {
        *spread.entry(&*turn.channel).or_default() += 1;
    }
    spread
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_leave_a_channel_that_fails_and_come_back() {
    let world = World::start(&json!({"by": "prefix"})).await;
    let turns = play(&world, async |turn| {
        world.set_failing(0, FAILING.contains(&turn));
        if turn == FAILING.end {
            world.until_usable(0).await;
        }
    })
    .await;
    let mut own_turns = 0;
    for (session, turns) in turns.iter().enumerate() {
        let own = &*turns[0].channel;
        own_turns += turns.iter().filter(|turn| turn.channel == own).count();
        for (number, turn) in turns.iter().enumerate() {
            let is_own = turn.affinity.as_deref() == Some("own");
            assert_eq!(is_own, turn.channel == own, "session {session}: {turn:?}");
            // The first request after a cool-down is a trial, and others do not wait for its result.
            let may_leave = own == CHANNELS[0] && (FAILING.start..=FAILING.end).contains(&number);
            assert!(
                is_own || may_leave,
                "session {session}, turn {number}: {turn:?}"
            );
        }
        let last = turns.last().unwrap();
        assert_eq!(last.channel, own, "session {session} is back");
    }
    let spread = spread(&turns);
    assert_eq!(spread.len(), CHANNELS.len(), "{spread:?}");
    let failed = turns.iter().filter(|turns| turns[0].channel == CHANNELS[0]);
    assert!(failed.count() > 0, "{spread:?}");
    let own_percent = own_turns * 100 / (SESSIONS * TURNS);
    let cached = cached_percent(turns.iter().flatten());
    println!(
        "{own_percent} % of {} turns on the own channel, {cached} % of the prompt tokens cached, turns by channel: {spread:?}",
        SESSIONS * TURNS
    );
    assert!(own_percent >= 85, "{own_percent} %");
    assert!(cached >= 85, "{cached} %");
    assert_counted(&world.gateway.metrics().await, own_turns);
    assert_on_page(&world, &turns).await;
}

/// Asserts that the page has the tokens of all turns by channel, what the misses cost more, and the share of own channels.
async fn assert_on_page(world: &World, turns: &[Vec<Turn>]) {
    let page = world.gateway.page("GET", "/prompt-cache").await.json();
    let sum = |turns: &[&Turn], count: fn(&Turn) -> u64| -> u64 {
        turns.iter().map(|turn| count(turn)).sum()
    };
    for name in CHANNELS {
        let turns: Vec<&Turn> = turns
            .iter()
            .flatten()
            .filter(|turn| turn.channel == name)
            .collect();
        let (tokens, cached) = (
            sum(&turns, |turn| turn.tokens),
            sum(&turns, |turn| turn.cached),
        );
        let rows = page["rows"].as_array().unwrap().iter();
        let row = rows.clone().find(|row| row["channel"] == name).unwrap();
        assert_eq!(
            (&row["caller"], &row["model"]),
            (&json!("ann"), &json!("demo-large"))
        );
        assert_eq!(row["cached_tokens"], cached, "{row}");
        assert_eq!(row["missed_tokens"], tokens - cached, "{row}");
        let percent = row["cached_percent"].as_f64().unwrap();
        assert!(
            (percent - cached as f64 * 100.0 / tokens as f64).abs() <= 0.05,
            "{row}"
        );
        // A million tokens cost 2 instead of 0.5.
        let cost: f64 = row["miss_cost"]["USD"].as_str().unwrap().parse().unwrap();
        assert!(
            (cost - (tokens - cached) as f64 * 1.5e-6).abs() < 1e-9,
            "{row}"
        );
    }
    let all: u64 = turns.iter().flatten().map(|turn| turn.cached).sum();
    for list in ["callers", "models"] {
        assert_eq!(page[list][0]["cached_tokens"], all, "{page}");
    }
    let own = turns
        .iter()
        .flatten()
        .filter(|turn| turn.affinity.as_deref() == Some("own"));
    let rows = page["affinity"].as_array().unwrap().iter();
    let counted: u64 = rows
        .map(|row| row["requests"]["own"].as_u64().unwrap())
        .sum();
    assert_eq!(counted, own.count() as u64, "{page}");
    println!("/prompt-cache: {:#}", page["channels"]);
}

/// Asserts that the metric has all turns, and those on own channels.
fn assert_counted(metrics: &Metrics, own_turns: usize) {
    let name = "headgate_affinity_requests_total";
    let all = metrics.sum(name, &[("model", "demo-large")]);
    assert_eq!(all, (SESSIONS * TURNS) as f64);
    assert_eq!(metrics.sum(name, &[("result", "own")]), own_turns as f64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_source_keeps_sessions_together_and_none_does_not() {
    for (affinity, cached_min, cached_max) in [
        (json!({"by": {"header": "x-session"}}), 85, 100),
        (json!({"by": {"pointer": "/messages/1/content"}}), 85, 100),
        (json!({"by": "prefix", "share": true}), 85, 100),
        // Requests do not have it.
        (json!({"by": {"header": "x-conversation"}}), 0, 80),
        (Value::Null, 0, 80),
    ] {
        let world = World::start(&affinity).await;
        let turns = play(&world, async |_| ()).await;
        let cached = cached_percent(turns.iter().flatten());
        println!("{affinity}: {cached} % of the prompt tokens cached");
        assert!(
            (cached_min..=cached_max).contains(&cached),
            "{affinity}: {cached} %"
        );
        let counted = turns
            .iter()
            .flatten()
            .filter(|turn| turn.affinity.is_some())
            .count();
        let is_named = cached_min > 0;
        assert_eq!(
            counted,
            if is_named { SESSIONS * TURNS } else { 0 },
            "{affinity}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_requests_of_a_caller_have_one_channel_until_it_is_above_its_share() {
    let world = World::start(&json!({"by": "caller"})).await;
    for turn in 0..5 {
        let answer = world.gateway.ask(&turn_request(turn, 0)).await;
        let line = world.gateway.log_of(&answer).await;
        assert_eq!(line["affinity"], "own", "{line}");
    }
    let requests: Vec<usize> = world
        .providers
        .iter()
        .map(|one| one.provider.requests().len())
        .collect();
    assert_eq!(
        requests.iter().filter(|count| **count > 0).count(),
        1,
        "{requests:?}"
    );
}
