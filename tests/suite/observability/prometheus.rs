//! Tests with a real Prometheus: every query of the dashboard returns data, every alert can be evaluated, and the page
//! on metrics is that of a real scrape.

use crate::harness::certificates::Authority;
use crate::harness::config::{self, CREDENTIALS, caller, channel};
use crate::harness::forms::form;
use crate::harness::gateway::Metrics;
use crate::harness::images::{self, image_config, json_body};
use crate::harness::media::{create_with, data_uri, file};
use crate::harness::plugins::{add_plugin, declare_plugin};
use crate::harness::prometheus::{PrometheusServer, promtool};
use crate::harness::receiver::{Receiver, callback_config, create_with_callback};
use crate::harness::request::{ANN, BOB};
use crate::harness::service::{add_service, moderation};
use crate::harness::video::{self, FAMILY_B, GENERIC};
use crate::harness::websocket::BINARY;
use crate::harness::{
    Gateway, Request, ScriptedProvider, Simulator, WebSocketClient, eventually_within,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Traps in each request.
const FAILING_PLUGIN: &str = r#"
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) unreachable)"#;
const SOUND: &str = "/v1/audio/transcriptions";
/// Metrics that only a failure of the state store, a model with another one in its place, or a translation causes.
const RARE: [&str; 5] = [
    "headgate_cost_refunded_total",
    "headgate_fallbacks_total",
    "headgate_limits_unchecked_total",
    "headgate_translations_total",
    "headgate_translation_losses_total",
];

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A gateway with whatever has metrics of its own.
struct MeteredSetup {
    gateway: Gateway,
    receiver: Receiver,
    _service: ScriptedProvider,
    _simulator: Simulator,
}

impl MeteredSetup {
    async fn start() -> Self {
        let simulator = Simulator::start().await;
        let (service, receiver) = (moderation().await, Receiver::responding("200 OK").await);
        let folder = crate::harness::gateway::folder_with_schemas();
        add_plugin(&folder, "trap", FAILING_PLUGIN);
        let mut config = metered_config(&simulator);
        add_service(&mut config, &service, json!({}));
        declare_plugin(&mut config, "trap", json!({}));
        let identity = Authority::new().issue(&["client.test"]);
        config::route(&mut config, "responses")["websocket"] = json!({});
        config["channels"]["broken"]["tls"] = identity.write(&folder, "client");
        Self {
            gateway: Gateway::start_in(folder, &format!("{config:#}")).await,
            receiver,
            _service: service,
            _simulator: simulator,
        }
    }

    /// Requests that change every series at least once.
    async fn make_traffic(&self, round: usize) {
        let gateway = &self.gateway;
        let chat = |model: &str, text: String, stream: bool| {
            let body = json!({"model": model, "stream": stream, "messages": [{"role": "user", "content": text}]});
            Request::to(Protocol::Chat, body.to_string())
        };
        for request in [
            chat("demo-large", format!("hello {round}"), false),
            chat("demo-large", format!("hello {round}"), true),
            chat("demo-large", "forbidden".into(), false),
            chat("demo-large", "no usage".into(), true).simulate("no_usage"),
            chat("demo-small", "no price".into(), false).key(BOB),
            chat("demo-broken", "nobody listens".into(), false),
            Request::to(Protocol::Chat, r#"{"model": "demo-large"}"#),
            Request::ask(Protocol::Messages),
            Request::ask(Protocol::Messages),
            Request::ask(Protocol::Responses),
            Request::post(images::PATH, json_body().to_string()),
            video_create(round),
            form(SOUND, &[("model", b"demo-whisper"), ("file!", b"RIFF")]),
            Request::get("/nowhere"),
        ] {
            gateway.ask(&request).await;
        }
        let mut websocket = WebSocketClient::open(gateway).await;
        websocket.send_frame(BINARY, b"").await;
        assert_eq!(websocket.close_code().await, Some(1003));
        let media = data_uri("image/png", &file("image", 200, round as u8));
        let create = create_with(FAMILY_B, "demo-video-b", "first_frame", &media);
        gateway
            .ask(&Request::post(FAMILY_B, create.to_string()))
            .await;
        let url = self.receiver.url("/done?for=1");
        let id = create_with_callback(gateway, GENERIC, "demo-video-a", &url).await;
        video::ask(gateway, GENERIC, &id).await;
    }
}

fn video_create(round: usize) -> Request {
    let body =
        json!({"model": "demo-video-a", "prompt": "a gate", "duration": 5, "resolution": "720p"});
    let key = format!("key-{}", round / 2);
    Request::post(GENERIC, body.to_string()).header("Idempotency-Key", &key)
}

fn metered_config(simulator: &Simulator) -> Value {
    let mut config = callback_config(simulator, "queue=100ms;run=100ms");
    for route in config["routes"].as_array_mut().unwrap() {
        let chain = route["request"].as_array_mut().unwrap();
        if let Some(at) = chain.iter().position(|step| step == "validate") {
            chain.insert(at + 1, json!("idempotency"));
            chain.insert(at + 2, json!("store_media"));
        }
    }
    let text = config::standard(&simulator.url());
    let images = image_config(simulator, "", json!({}));
    for more in [&text, &images] {
        let channels = more["channels"].as_object().unwrap().clone();
        config["channels"].as_object_mut().unwrap().extend(channels);
        let routes = more["routes"].as_array().unwrap().clone();
        config["routes"].as_array_mut().unwrap().extend(routes);
    }
    config["routes"].as_array_mut().unwrap().push(json!({
        "name": "media", "match": "GET|HEAD /_headgate/media/{token}", "request": ["serve_media"],
    }));
    let mut bob = caller("bob", BOB, &["*"]);
    bob["limits"] = json!({"requests_per_minute": 2});
    let mut ann = caller("ann", ANN, &["*"]);
    let digest = ann["key_sha256"].take();
    let key = json!({"label": "2099", "key_sha256": digest, "not_after": "2099-01-01T00:00:00Z"});
    ann.as_object_mut().unwrap().remove("key_sha256");
    ann["keys"] = json!([key]);
    ann["limits"] = json!({"models": {"demo-large": {"cost_per_day": 1_000}}});
    config["callers"] = json!([ann, bob]);
    config["issuers"] = json!({"corp": {
        "issuer": "https://login.example", "audience": "headgate", "jwks": "http://127.0.0.1:9/keys",
        "algorithms": ["EdDSA"], "admit": [{"like": "ann"}],
    }});
    config["prompt_logs"] = json!({"archive": {"bucket": {
        "endpoint": "http://127.0.0.1:9", "bucket": "prompts", "access_key_id": "a", "secret_access_key": "b",
    }}});
    let log = json!({"log_prompts": {"sink": "archive"}});
    let chain = &mut config::route(&mut config, "responses")["request"];
    chain.as_array_mut().unwrap().push(log);
    config["channels"]["copies"] = channel(
        &simulator.url(),
        &["responses"],
        json!({"bearer": CREDENTIALS[0]}),
    );
    config["channels"]["copies"]["tier"] = json!(9);
    config["channels"]["broken"] = json!({
        "base_url": "https://localhost:1/v1", "credential": {"bearer": "sk-broken"}, "protocols": ["chat"],
        "models": {"demo-broken": "none"},
        "health": {"consecutive_failures": 1, "cool_down": "1s", "probe": {"interval": "1s", "timeout": "1s"}},
    });
    config["channels"]["issued"] = channel(
        "http://127.0.0.1:1/v1",
        &["chat"],
        json!({"oauth2": {
            "token_url": "http://127.0.0.1:1/token", "client_id": "gate", "client_secret": "client-canary",
        }}),
    );
    config["channels"]["issued"]["models"] = json!({"issued": "issued"});
    config["channels"]["sound"] = json!({
        "base_url": simulator.url(), "credential": {"bearer": "sk-sound"}, "protocols": ["transcription"],
        "models": {"demo-whisper": "sim-whisper-1"},
    });
    config["routes"].as_array_mut().unwrap().push(json!({
        "name": "sound", "match": format!("POST {SOUND}"), "protocol": "transcription",
        "request": ["require_form", "authenticate", "route_model"], "response": ["meter_usage"],
    }));
    for (route, steps) in [
        (
            "chat",
            vec![
                json!({"plugin": {"use": "trap", "on_failure": "allow"}}),
                json!({"callout": {"service": "moderation", "send": {"fields": ["/messages"]}}}),
                json!("rate_limit"),
            ],
        ),
        ("messages", vec![json!({"cache": {"ttl": "10m"}})]),
    ] {
        let chain = &mut config::route(&mut config, route)["request"];
        chain.as_array_mut().unwrap().extend(steps);
    }
    let mirror = json!({"mirror": {"channel": "copies"}});
    let chain = &mut config::route(&mut config, "responses")["request"];
    let chain = chain.as_array_mut().unwrap();
    chain.insert(chain.len() - 1, mirror);
    // Responses have two channels.
    config["models"]["demo-large"] =
        json!({"affinity": {"by": "caller"}, "max_output_tokens": 1_000});
    config["prices"] = json!({"currency": "EUR", "models": {
        "demo-small": {"image": 1},
        "demo-image": {"image": 0.04},
        "demo-video-*": {"video_second": {"*": 0.1}, "video_default_seconds": 5},
        "*": {"input": 2.5, "cached_input": 1.25, "output": 10},
    }});
    config
}

/// The queries of the dashboard, each with the title of its panel; variables are those of one gateway and a minute.
fn dashboard_queries() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(in_repository("deploy/grafana/headgate.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut queries = Vec::new();
    for panel in panels {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expression = target["expr"].as_str().unwrap();
            let expression = expression
                .replace("$instance", ".*")
                .replace("$__rate_interval", "30s")
                .replace("$__range", "1m");
            assert!(!expression.contains('$'), "{expression}");
            let title = panel["title"].as_str().unwrap();
            queries.push((title.to_string(), expression));
        }
    }
    queries
}

#[tokio::test]
async fn a_real_prometheus_has_data_for_every_query_of_the_dashboard_and_evaluates_every_alert() {
    let setup = MeteredSetup::start().await;
    let rules = in_repository("deploy/prometheus/headgate.rules.yaml");
    let prometheus = PrometheusServer::start(setup.gateway.admin, &rules).await;
    let mut open = dashboard_queries();
    assert!(open.len() > 50, "{}", open.len());
    let mut round = 0;
    eventually_within(
        Duration::from_secs(90),
        "data for every query",
        async || {
            setup.make_traffic(round).await;
            round += 1;
            let mut empty = Vec::new();
            for (title, expression) in open.drain(..) {
                match prometheus.query(&expression).await {
                    Ok(samples) if samples.is_empty() => empty.push((title, expression)),
                    Ok(_) => {}
                    Err(error) => panic!("{title}: {expression}: {error}"),
                }
            }
            open = empty;
            if round % 10 == 0 {
                eprintln!("without data after {round} rounds: {open:#?}");
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
            open.is_empty().then_some(())
        },
    )
    .await;
    let rules = prometheus.rules().await;
    let written = std::fs::read_to_string(in_repository("deploy/prometheus/headgate.rules.yaml"));
    let written = written.unwrap().matches("- alert:").count();
    assert_eq!(rules.len(), written);
    for rule in rules {
        assert_eq!(rule["health"], "ok", "{rule}");
    }
    check_page(&setup.gateway.page("GET", "/metrics").await.text());
}

/// Compares the documentation with a scrape: names, types and labels.
fn check_page(scrape: &str) {
    assert_eq!(promtool(&["check", "metrics"], scrape.as_bytes()), "");
    let types: BTreeMap<&str, &str> = scrape
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .collect();
    let mut labels: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for sample in Metrics::parse(scrape).samples {
        let name = types.keys().filter(|name| sample.name.starts_with(**name));
        let name = name.max_by_key(|name| name.len()).unwrap();
        let known = sample.labels.into_keys().filter(|label| label != "le");
        labels.entry(name).or_default().extend(known);
    }
    let page = std::fs::read_to_string(in_repository("docs/metrics.md")).unwrap();
    let mut documented = BTreeSet::new();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`');
        documented.insert(name);
        // A name that ends so begins the names of others.
        if RARE.contains(&name) || name.ends_with('_') {
            continue;
        }
        let kind = cells[2].split(',').next().unwrap();
        assert_eq!(types.get(name), Some(&kind), "type of {name}");
        let named = cells[3].split(", ").filter(|label| !label.is_empty());
        let named: BTreeSet<String> = named.map(|label| label.trim_matches('`').into()).collect();
        assert_eq!(labels.get(name), Some(&named), "labels of {name}");
    }
    let scraped: BTreeSet<&str> = types.keys().copied().collect();
    let missing: Vec<_> = scraped.difference(&documented).collect();
    assert!(
        missing.is_empty(),
        "docs/metrics.md has no row for {missing:?}"
    );
}

#[test]
fn the_alerts_are_valid_and_each_has_unit_tests_and_a_runbook() {
    let rules = in_repository("deploy/prometheus/headgate.rules.yaml");
    promtool(&["check", "rules", rules.to_str().unwrap()], b"");
    let tests = in_repository("deploy/prometheus/headgate.rules.test.yaml");
    promtool(&["test", "rules", tests.to_str().unwrap()], b"");
    let (rules, tests) = (
        std::fs::read_to_string(rules).unwrap(),
        std::fs::read_to_string(tests).unwrap(),
    );
    let alerts: Vec<&str> = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .collect();
    for alert in &alerts {
        for case in ["fires", "is quiet"] {
            assert!(
                tests.contains(&format!("- name: {alert} {case}\n")),
                "{alert} {case}"
            );
        }
    }
    for part in ["summary: ", "runbook: ", "severity: "] {
        assert_eq!(rules.matches(part).count(), alerts.len(), "{part}");
    }
}
