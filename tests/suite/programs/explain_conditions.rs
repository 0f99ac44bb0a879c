//! Tests of `headgate check` and `headgate explain` on conditions: what is refused, and which conditions held.

use crate::harness::config::{self, route};
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::BINARY;
use serde_json::{Value, json};
use std::process::Command;

fn written(config: &Value) -> Folder {
    let folder = folder_with_schemas();
    folder.write("routes.yaml", config.to_string());
    folder
}

/// Standard output and error of the program.
fn run(folder: &Folder, args: &[&str]) -> String {
    let file = folder.path().join("routes.yaml");
    let output = Command::new(BINARY)
        .args(args)
        .arg("--config")
        .arg(file)
        .output()
        .unwrap();
    let texts = [output.stdout, output.stderr].concat();
    String::from_utf8(texts).unwrap()
}

#[test]
fn a_condition_that_would_open_a_gate_is_refused() {
    let always = "must run for every request";
    let cases: Vec<(&str, Value, &str)> = vec![
        (
            "chat",
            json!([{"if": "true", "authenticate": null}, "route_model"]),
            always,
        ),
        (
            "chat",
            json!(["authenticate", {"if": "true", "limit_body": "1MiB"}, "route_model"]),
            always,
        ),
        (
            "chat",
            json!([{"if": "true", "require_json": null}, "authenticate", "route_model"]),
            always,
        ),
        (
            "response",
            json!(["authenticate", {"if": "true", "follow_ids": null}]),
            always,
        ),
        (
            "chat",
            json!(["authenticate", {"if": "true", "use": "body"}, "route_model"]),
            "`use` takes no `if`",
        ),
        (
            "chat",
            json!([{"if": "true", "on_error": "skip", "reply": {"status": 503}}, "authenticate", "route_model"]),
            "takes no `on_error: skip`",
        ),
        (
            "chat",
            json!(["authenticate", {"set_headers": {"x-a": {"cel": "model"}}}, "route_model"]),
            "`model` is not known before `route_model`",
        ),
        (
            "chat",
            json!(["authenticate", {"if": "attempt == 1", "route_model": null}]),
            "`attempt` is not known",
        ),
        (
            "chat",
            json!(["authenticate", {"if": "request.path == '/'", "route_model": null}, "validate"]),
            "`route_model` must not depend on a condition",
        ),
        (
            "chat",
            json!(["authenticate", {"if": "request.path == '/'", "route_model": null}]),
            "no filter that selects a channel",
        ),
        (
            "chat",
            json!(["authenticate", "route_model", {"if": "caller == 'a'", "on_error": "skip", "validate": null}]),
            "takes no `on_error: skip`",
        ),
        (
            "chat",
            json!(["authenticate", {"if": "model == 'm'", "set_headers": {"x-a": "b"}}, "route_model"]),
            "`model` is not known before `route_model`",
        ),
        (
            "chat",
            json!(["authenticate", "route_model", {"if": "response.status == 200", "set_headers": {"x-a": "b"}}]),
            "`response.status` is not known",
        ),
        (
            "chat",
            json!(["authenticate", "route_model", {"if": "callr == 'a'", "set_headers": {"x-a": "b"}}]),
            "did you mean `caller`?",
        ),
        (
            "chat",
            json!(["authenticate", "route_model", {"if": "caller == ", "set_headers": {"x-a": "b"}}]),
            "invalid expression, column",
        ),
        (
            "chat",
            json!(["authenticate", "route_model", {"if": "true"}]),
            "expected exactly one filter, found 0",
        ),
        (
            "chat",
            json!(["authenticate", "route_model", {"if": "true", "validate": null, "normalise": null}]),
            "expected exactly one filter, found 2",
        ),
        (
            "chat",
            json!(["authenticate", "route_model", {"on_error": "run", "validate": null}]),
            "`if`",
        ),
    ];
    for (name, chain, reason) in cases {
        let mut config = config::standard("http://127.0.0.1:1/v1");
        route(&mut config, name)["request"] = chain.clone();
        let report = run(&written(&config), &["check"]);
        assert!(report.contains(reason), "{chain}: {report}");
    }
}

#[test]
fn opposite_conditions_meet_a_need_together() {
    let mut config = config::standard("http://127.0.0.1:1/v1");
    route(&mut config, "chat")["request"] = json!([
        "authenticate",
        {"if": "request.path == '/'", "route_model": null},
        {"if": "!(request.path == '/')", "route_model": null},
        "validate",
    ]);
    let report = run(&written(&config), &["check"]);
    assert!(report.contains("is valid"), "{report}");
}

#[test]
fn explain_prints_which_conditions_held_and_what_they_read() {
    let mut config = config::standard("http://127.0.0.1:1/v1");
    config["channels"]["openai"]["if"] = "caller != 'bob'".into();
    let chain = route(&mut config, "chat")["request"]
        .as_array_mut()
        .unwrap();
    chain.push(
        json!({"if": "request.headers['x-tier'] == 'gold'", "set_headers": {"x-pool": "fast"}}),
    );
    chain.push(json!({"if": "json('/max_tokens') == 5", "set_headers": {"x-five": "yes"}}));
    let body =
        r#"{"model":"demo-large","messages":[{"role":"user","content":"Hi"}],"max_tokens":5}"#;
    let report = run(
        &written(&config),
        &[
            "explain",
            "/v1/chat/completions",
            "--body",
            "-H",
            "x-tier: iron",
            "-d",
            body,
        ],
    );
    for line in [
        r#"condition set_headers skipped: request.headers['x-tier'] == 'gold' (request.headers["x-tier"] = "iron")"#,
        r#"condition set_headers runs: json('/max_tokens') == 5 (json("/max_tokens") = 5)"#,
        r#"condition channel openai candidate: caller != 'bob' (caller = "ann")"#,
        "   header   x-five: yes",
        &body.replace("demo-large", "sim-large-2026-08"),
    ] {
        assert!(report.contains(line), "{line}: {report}");
    }
    assert!(!report.contains("x-pool: fast"), "{report}");
}

#[test]
fn check_warns_of_a_condition_by_which_callers_avoid_a_limit() {
    let mut config = config::standard("http://127.0.0.1:1/v1");
    let chain = route(&mut config, "chat")["request"]
        .as_array_mut()
        .unwrap();
    chain.retain(|step| step != "rate_limit");
    chain.push(json!({"if": "request.headers['x-batch'] != 'yes'", "rate_limit": null}));
    let report = run(&written(&config), &["check"]);
    for part in [
        "is valid",
        "a caller can switch `rate_limit` off: only what the caller sends decides its condition",
        ".if",
    ] {
        assert!(report.contains(part), "{report}");
    }
}
