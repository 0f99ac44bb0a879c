//! Video tasks end to end: made and asked for in the generic protocol and in both families' own.

use crate::harness::config::{self, caller};
use crate::harness::error_shape::assert_error_body;
use crate::harness::request::{ANN, BOB};
use crate::harness::{Answer, Gateway, Request, Simulator, eventually};
use headgate::protocol::Protocol;
use serde_json::{Value, json};

pub const GENERIC: &str = "/v1/video/generations";
pub const FAMILY_A: &str = "/v1/family-a/video/generations";
pub const FAMILY_B: &str = "/v1/family-b/video/generations";

/// Two accounts, one for each family; `directives` for what the simulated provider does.
pub fn video_config(simulator: &Simulator, directives: &str) -> Value {
    let base = |version: &str| match directives {
        "" => format!("http://{}/api/{version}", simulator.address),
        some => format!("http://{}/~{some}/api/{version}", simulator.address),
    };
    let channel = |version: &str, protocol: &str, family: &str, model: &str| {
        json!({
            "base_url": base(version), "credential": {"bearer": format!("sk-{family}")},
            "protocols": [protocol, "video"], "family": family,
            "models": {model: format!("upstream-{model}")},
        })
    };
    let mut config = config::standard(&simulator.url());
    config["task_keys"] = json!(["0123456789abcdef0123456789abcdef"]);
    config["callers"] = json!([caller("ann", ANN, &["*"]), caller("bob", BOB, &["*"])]);
    config["channels"] = json!({
        "a": channel("v3", "family_a", "family-a", "demo-video-a"),
        "b": channel("v1", "family_b", "family-b", "demo-video-b"),
    });
    config["models"] = json!({});
    let mut routes = Vec::new();
    for (name, path, protocol) in [
        ("video", GENERIC, "video"),
        ("family_a", FAMILY_A, "family_a"),
        ("family_b", FAMILY_B, "family_b"),
    ] {
        routes.push(json!({
            "name": name, "match": format!("POST {path}"), "protocol": protocol,
            "request": [{"use": "body"}, "validate", {"map_task": {"ask": "create"}}],
        }));
        routes.push(json!({
            "name": format!("{name}_task"), "match": format!("GET {path}/{{id}}"),
            "protocol": protocol, "request": ["authenticate", {"map_task": {"ask": "query"}}],
        }));
    }
    config["routes"] = json!(routes);
    config
}

pub fn create_body(path: &str, model: &str) -> Value {
    match path {
        FAMILY_A => json!({"model": model, "content": [{"type": "text", "text": "a gate"}]}),
        FAMILY_B => json!({"model": model, "input": {"prompt": "a gate"}}),
        _ => json!({"model": model, "prompt": "a gate", "ratio": "16:9", "duration": 5}),
    }
}

pub async fn create(gateway: &Gateway, path: &str, model: &str) -> Answer {
    let body = create_body(path, model);
    gateway.ask(&Request::post(path, body.to_string())).await
}

pub fn id_of(path: &str, answer: &Answer) -> String {
    let pointer = match path {
        FAMILY_A => "/id",
        FAMILY_B => "/output/task_id",
        _ => "/task_id",
    };
    let id = answer.json().pointer(pointer).cloned().unwrap_or_default();
    let id = id
        .as_str()
        .unwrap_or_else(|| panic!("{}", answer.text()))
        .to_owned();
    assert!(id.starts_with("task_"), "{id}");
    id
}

pub async fn ask(gateway: &Gateway, path: &str, id: &str) -> Answer {
    gateway.ask(&Request::get(&format!("{path}/{id}"))).await
}

/// How many creates the provider has received.
pub async fn creates(simulator: &Simulator) -> usize {
    let records = simulator.records().await;
    let is_create = |record: &&Value| {
        let endpoint = record["endpoint"].as_str();
        endpoint.is_some_and(|endpoint| endpoint.ends_with(".create"))
    };
    records.iter().filter(is_create).count()
}

#[tokio::test]
async fn a_task_is_made_asked_for_and_done_in_every_protocol() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&video_config(&simulator, "queue=50ms;run=50ms")).await;
    for (path, model, status_at, url_at, word) in [
        (
            GENERIC,
            "demo-video-a",
            "/status",
            "/video_url",
            "succeeded",
        ),
        (
            GENERIC,
            "demo-video-b",
            "/status",
            "/video_url",
            "succeeded",
        ),
        (
            FAMILY_A,
            "demo-video-a",
            "/status",
            "/content/video_url",
            "succeeded",
        ),
        (
            FAMILY_B,
            "demo-video-b",
            "/output/task_status",
            "/output/video_url",
            "SUCCEEDED",
        ),
    ] {
        let made = create(&gateway, path, model).await;
        assert_eq!(made.status, 200, "{path}: {}", made.text());
        let id = id_of(path, &made);
        let done = eventually("the video", async || {
            let answer = ask(&gateway, path, &id).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            let told = answer.json();
            (told.pointer(status_at) == Some(&json!(word))).then_some(told)
        })
        .await;
        assert!(done.pointer(url_at).is_some_and(Value::is_string), "{done}");
        let text = done.to_string();
        assert!(
            !text.contains(&format!("upstream-{model}")),
            "{path}: {text}"
        );
        assert_eq!(id_of(path, &made), id);
    }
}

#[tokio::test]
async fn ids_of_others_forged_ones_and_the_providers_own_are_the_same_404() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&video_config(&simulator, "")).await;
    let made = create(&gateway, GENERIC, "demo-video-a").await;
    let id = id_of(GENERIC, &made);
    let mut forged = id.clone().into_bytes();
    let last = forged.len() - 2;
    forged[last] = if forged[last] == b'A' { b'B' } else { b'A' };
    let forged = String::from_utf8(forged).unwrap();
    let upstream = simulator.records().await[0]["response_id"].clone();
    let upstream = upstream
        .as_str()
        .unwrap_or("cgt-20260101000000-abcde")
        .to_owned();
    let mut bodies = Vec::new();
    for (key, id) in [
        (BOB, &id),
        (ANN, &forged),
        (ANN, &upstream),
        (ANN, &"task_x".to_owned()),
    ] {
        let request = Request::get(&format!("{GENERIC}/{id}")).key(key);
        let answer = gateway.ask(&request).await;
        assert_error_body(Protocol::Chat, &answer, 404);
        bodies.push(answer.text());
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    assert_eq!(ask(&gateway, GENERIC, &id).await.status, 200);
}

#[tokio::test]
async fn another_edge_with_the_same_keys_answers_for_a_task_it_never_saw() {
    let simulator = Simulator::start().await;
    let config = video_config(&simulator, "");
    let first = Gateway::start(&config).await;
    let id = id_of(GENERIC, &create(&first, GENERIC, "demo-video-b").await);
    first.process.signal(libc::SIGKILL);
    let second = Gateway::start(&config).await;
    let answer = ask(&second, GENERIC, &id).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["model"], "demo-video-b");
    let other = second
        .ask(&Request::get(&format!("{GENERIC}/{id}")).key(BOB))
        .await;
    assert_eq!(other.status, 404);
}

#[tokio::test]
async fn a_paid_create_is_never_sent_twice() {
    for (directives, status, code, sent) in [
        ("status=429", 429, None, 2),
        ("status=400", 400, None, 1),
        ("status=500", 502, Some("upstream_error"), 1),
        ("status=503", 502, Some("upstream_error"), 1),
        ("cut", 504, Some("outcome_unknown"), 1),
        ("stall", 504, Some("outcome_unknown"), 1),
        ("no_id", 502, Some("invalid_upstream_response"), 1),
    ] {
        let simulator = Simulator::start().await;
        let mut config = video_config(&simulator, directives);
        config["channels"]["a"]["timeouts"] = json!({"first_byte": "300ms", "idle": "300ms"});
        config["channels"]["second"] = config["channels"]["a"].clone();
        config::without_cool_downs(&mut config);
        let gateway = Gateway::start(&config).await;
        let answer = create(&gateway, GENERIC, "demo-video-a").await;
        assert_eq!(answer.status, status, "{directives}: {}", answer.text());
        if let Some(code) = code {
            assert_eq!(answer.json()["error"]["code"], code, "{}", answer.text());
        }
        assert_eq!(creates(&simulator).await, sent, "{directives}");
    }
}

#[tokio::test]
async fn what_a_family_cannot_do_is_said_before_anything_is_sent() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&video_config(&simulator, "")).await;
    for (model, field, value) in [
        ("demo-video-b", "resolution", json!("4k")),
        ("demo-video-b", "ratio", json!("21:9")),
        ("demo-video-a", "negative_prompt", json!("rain")),
    ] {
        let mut body = create_body(GENERIC, model);
        body[field] = value;
        let answer = gateway.ask(&Request::post(GENERIC, body.to_string())).await;
        assert_error_body(Protocol::Chat, &answer, 400);
        assert_eq!(answer.json()["error"]["param"], field, "{}", answer.text());
    }
    assert_eq!(creates(&simulator).await, 0);
}

#[tokio::test]
async fn a_status_that_nobody_knows_reads_running_and_its_word_is_told() {
    let simulator = Simulator::start().await;
    let config = video_config(&simulator, "queue=1ms;run=60m;unknown_status=PONDERING");
    let gateway = Gateway::start(&config).await;
    let id = id_of(GENERIC, &create(&gateway, GENERIC, "demo-video-a").await);
    let answer = eventually("the unknown word", async || {
        let answer = ask(&gateway, GENERIC, &id).await;
        let word = answer
            .headers
            .get("x-headgate-upstream-status")
            .map(str::to_owned);
        word.map(|word| (word, answer))
    })
    .await;
    assert_eq!(answer.0, "PONDERING");
    assert_eq!(answer.1.json()["status"], "running");
    assert!(answer.1.headers.get("retry-after").is_some());
}
