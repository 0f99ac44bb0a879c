//! Tests of what `headgate check` reports about `cache` and `mirror`.

use crate::harness::Simulator;
use crate::harness::caching::{add_step, caching_config, insert_step};
use crate::harness::config::{route, standard};
use crate::harness::gateway::folder_with_schemas;
use crate::harness::images::image_config;
use crate::harness::process::BINARY;
use serde_json::{Value, json};
use std::process::Command;

/// Whether the configuration is valid, and the report.
fn check(config: &Value) -> (bool, String) {
    let folder = folder_with_schemas();
    let file = folder.write("routes.yaml", format!("{config:#}"));
    let checked = Command::new(BINARY)
        .args(["check", "--config"])
        .arg(file)
        .output()
        .unwrap();
    let report = [checked.stdout, checked.stderr].concat();
    (checked.status.success(), String::from_utf8(report).unwrap())
}

fn base() -> Value {
    caching_config("https://api.provider.example/v1", &json!({}))
}

#[test]
fn every_filter_must_be_before_the_cache() {
    for step in [
        "authenticate",
        "validate",
        "rate_limit",
        "force_usage",
        "route_model",
    ] {
        let mut config = base();
        let chain = route(&mut config, "chat")["request"]
            .as_array_mut()
            .unwrap();
        chain.retain(|other| other != step);
        add_step(&mut config, "chat", json!(step));
        if ["authenticate", "route_model"].contains(&step) {
            let shared = config["chains"]["body"].as_array_mut().unwrap();
            shared.retain(|other| other != step);
        }
        let (is_valid, report) = check(&config);
        let expected = format!("`cache` requires an earlier `{step}`");
        assert!(!is_valid && report.contains(&expected), "{step}: {report}");
        assert!(report.contains("put `cache` last"), "{report}");
    }
    let (is_valid, report) = check(&base());
    assert!(is_valid, "{report}");
}

#[test]
fn settings_that_cannot_work_are_reported() {
    for (settings, expected) in [
        (json!({"ttl": "500ms"}), "`ttl` must be 1s to 168h"),
        (json!({"ttl": "169h"}), "`ttl` must be 1s to 168h"),
        (
            json!({"entry_size": "2MiB", "memory": "1MiB"}),
            "`entry_size` must not be larger than `memory`",
        ),
        (json!({"wait": "61m"}), "`wait` must be at most 1h"),
        (json!({"memory": "17GiB"}), "`memory` must be at most 16GiB"),
        (json!({"records_max": 0}), "records_max"),
        (json!({"store": "redis"}), "store"),
        (json!({"time": "5m"}), "unknown"),
    ] {
        let mut config = base();
        let chain = route(&mut config, "chat")["request"]
            .as_array_mut()
            .unwrap();
        *chain.last_mut().unwrap() = json!({"cache": settings});
        let (is_valid, report) = check(&config);
        assert!(
            !is_valid && report.contains(expected),
            "{settings}: {report}"
        );
    }
}

#[test]
fn a_response_with_the_id_of_its_request_is_refused() {
    let id = json!({"set_headers": {"x-id": {"cel": "request.id"}}});
    for (side, step, is_refused) in [
        ("response", id.clone(), true),
        (
            "response",
            json!({"if": "request.id != ''", "set_headers": {"x-a": "b"}}),
            true,
        ),
        (
            "request",
            json!({"set_headers": {"x-id": {"cel": "channel + request.id"}}}),
            true,
        ),
        // Such requests are never equal, but a step before the cache may have other uses.
        ("request", id, false),
        (
            "response",
            json!({"if": "sample(10)", "set_headers": {"x-a": "b"}}),
            false,
        ),
    ] {
        let mut config = base();
        let chain = route(&mut config, "chat")[side].as_array_mut().unwrap();
        chain.insert(chain.len() - 1, step.clone());
        let (is_valid, report) = check(&config);
        let expected = "`set_headers` uses `request.id` for an attempt or a response";
        assert_eq!(is_valid, !is_refused, "{step}: {report}");
        assert_eq!(report.contains(expected), is_refused, "{step}: {report}");
    }
}

#[test]
fn explain_names_the_channel_of_copies() {
    let mut config = standard("http://127.0.0.1:1/v1");
    config["channels"]["copies"] = config["channels"]["openai"].clone();
    config["channels"]["copies"]["if"] = json!("request.headers['x-tenant'] != 'blue'");
    let mirror = json!({"mirror": {"channel": "copies", "percent": 12.5}});
    insert_step(&mut config, "chat", mirror);
    let skipped = json!({"if": "caller == 'bob'", "mirror": {"channel": "openai"}});
    insert_step(&mut config, "chat", skipped);
    let folder = folder_with_schemas();
    let file = folder.write("routes.yaml", format!("{config:#}"));
    for (tenant, store, expected) in [
        (
            "red",
            "false",
            "copy      to copies, for 12.5 % of such requests",
        ),
        (
            "red",
            "false",
            "copy      none to openai: the condition of the step does not hold",
        ),
        (
            "blue",
            "false",
            "copy      none to copies: the condition of the channel does not hold",
        ),
        (
            "red",
            "true",
            "copy      none to copies: the provider stores or continues it (store)",
        ),
    ] {
        let body = format!(
            r#"{{"model":"demo-large","messages":[{{"role":"user","content":"Hi"}}],"store":{store}}}"#
        );
        let explained = Command::new(BINARY)
            .args(["explain", "/v1/chat/completions", "-d", &body])
            .args(["-H", &format!("x-tenant: {tenant}"), "--config"])
            .arg(&file)
            .output()
            .unwrap();
        let report = String::from_utf8([explained.stdout, explained.stderr].concat()).unwrap();
        assert!(report.contains(expected), "{expected}: {report}");
    }
}

#[test]
fn what_has_no_effect_is_a_warning() {
    let mut config = base();
    add_step(&mut config, "responses", json!("cache"));
    let (is_valid, report) = check(&config);
    let expected = "no response of this route is recorded";
    assert!(is_valid && report.contains(expected), "{report}");
    let mut config = base();
    let chain = route(&mut config, "chat")["request"]
        .as_array_mut()
        .unwrap();
    *chain.last_mut().unwrap() = json!({"cache": {"store": "state"}});
    let (is_valid, report) = check(&config);
    let expected = "`store: state` has no effect: `state` is memory";
    assert!(is_valid && report.contains(expected), "{report}");
}

#[tokio::test]
async fn paid_creates_are_neither_recorded_nor_copied() {
    let simulator = Simulator::start().await;
    let config = image_config(&simulator, "", json!({}));
    let edits = config["routes"].as_array().unwrap().iter();
    let name = edits.map(|route| route["name"].as_str().unwrap()).next();
    let name = name.unwrap().to_owned();
    let channels = config["channels"].as_object().unwrap();
    let channel = channels.keys().next().unwrap().clone();
    for (step, expected) in [
        (json!("cache"), "`cache` cannot be used for paid creates"),
        (
            json!({"mirror": {"channel": channel}}),
            "`mirror` cannot be used for paid creates",
        ),
    ] {
        let mut config = config.clone();
        add_step(&mut config, &name, step);
        let (is_valid, report) = check(&config);
        assert!(!is_valid && report.contains(expected), "{report}");
    }
}

#[test]
fn a_mirror_needs_a_channel_of_the_protocol() {
    for (settings, expected) in [
        (json!({"channel": "opena"}), "unknown channel `opena`"),
        (
            json!({"channel": "messages"}),
            "channel `messages` does not speak chat",
        ),
        (
            json!({"channel": "openai", "percent": 0}),
            "`percent` must be above 0 and up to 100",
        ),
        (
            json!({"channel": "openai", "percent": 101}),
            "`percent` must be above 0 and up to 100",
        ),
        (
            json!({"channel": "openai", "timeout": "2h"}),
            "`timeout` must be 100ms to 1h",
        ),
        (json!({"channel": "openai", "concurrent": 0}), "concurrent"),
    ] {
        let mut config = standard("https://api.provider.example/v1");
        insert_step(&mut config, "chat", json!({"mirror": settings}));
        let (is_valid, report) = check(&config);
        assert!(
            !is_valid && report.contains(expected),
            "{settings}: {report}"
        );
    }
}
