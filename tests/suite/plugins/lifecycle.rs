//! Tests of plugins over the life of a configuration: load errors, reloads, drains, and streams that outlive their plugin.

use super::messages::HEADERS;
use crate::configuration::check;
use crate::harness::plugins::{add_plugin, declare_plugin, folder_with_plugin};
use crate::harness::process::{BINARY, Process};
use crate::harness::{Gateway, Request, Simulator, body_of, config, eventually, path_of};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::process::Command;

/// Refuses a configuration that is not empty.
const REFUSES: &str = r#"
  (func (export "proxy_on_configure") (param $root i32) (param $size i32) (result i32) (i32.eqz (local.get $size)))"#;

/// Sets `x-version` of responses.
pub(super) fn version(text: &str) -> String {
    format!(
        r#"
  (data (i32.const 0) "x-version")
  (data (i32.const 32) "{text}")
  (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32)
    (drop (call $set_header (i32.const 2) (i32.const 0) (i32.const 9) (i32.const 32) (i32.const {})))
    (i32.const 0))"#,
        text.len()
    )
}

fn with_plugin(simulator: &str, plugin: Value, filter: Value) -> Value {
    let mut config = config::standard(simulator);
    declare_plugin(&mut config, "tested", plugin);
    let chain = &mut config::route(&mut config, "chat")["request"];
    chain
        .as_array_mut()
        .unwrap()
        .push(json!({"plugin": filter}));
    config
}

#[tokio::test]
async fn a_plugin_that_cannot_work_is_an_error_of_the_file_with_its_place() {
    let filter = json!({"use": "tested"});
    let table = [
        (json!({}), json!({"use": "testd"}), "did you mean `tested`?"),
        (
            json!({}),
            json!({"use": "tested", "config": {"a": 1}}),
            "refused its configuration",
        ),
        (
            json!({}),
            json!({"use": "tested", "phases": ["request_body"]}),
            "has no `proxy_on_request_body`",
        ),
        (
            json!({"sha256": "0".repeat(64)}),
            filter.clone(),
            "if this is the right one, write its SHA-256 as `sha256`",
        ),
        (
            json!({"grants": {"http_call": ["nobody"]}}),
            filter.clone(),
            "no service `nobody`",
        ),
        (
            json!({"limits": {"memory": "1B"}}),
            filter.clone(),
            "`memory` must be",
        ),
    ];
    for (plugin, filter, message) in table {
        let folder = folder_with_plugin("tested", REFUSES);
        let config = with_plugin("http://127.0.0.1:9/v1", plugin, filter);
        let file = folder.write("routes.yaml", format!("{config:#}"));
        let mut process = Process::spawn(&["check", file.to_str().unwrap()]);
        let status = eventually("the check ends", async || process.ended()).await;
        let report = process.stderr.all().join("\n");
        assert_eq!(status.code(), Some(1), "{message}: {report}");
        assert!(report.contains(message), "{message}: {report}");
        assert!(report.contains("routes.yaml:"), "{report}");
        // A declaration with an error is not reported as missing.
        assert!(!report.contains("no plugin `tested`"), "{report}");
    }
}

#[test]
fn a_plugin_that_no_filter_runs_is_a_warning() {
    let folder = folder_with_plugin("tested", REFUSES);
    let mut config = config::standard("http://127.0.0.1:9/v1");
    declare_plugin(&mut config, "tested", json!({}));
    let output = check::check_in(&folder, &format!("{config:#}"));
    let report = format!("{}{}", output.stdout, output.stderr);
    assert!(output.success, "{report}");
    assert!(report.contains("plugin `tested` is never used"), "{report}");
}

#[test]
fn explain_names_the_plugins_of_a_route_and_runs_them() {
    let folder = folder_with_plugin("tested", HEADERS);
    let config = with_plugin("http://127.0.0.1:9/v1", json!({}), json!({"use": "tested"}));
    let file = folder.write("routes.yaml", format!("{config:#}"));
    let printed = Command::new(BINARY)
        .args(["explain", path_of(Protocol::Chat), "-c"])
        .arg(&file)
        .args(["-d", &body_of(Protocol::Chat).to_string()])
        .output()
        .unwrap();
    let text = String::from_utf8(printed.stdout).unwrap();
    let chain = text.lines().find(|line| line.starts_with("request "));
    assert!(
        chain.is_some_and(|chain| chain.ends_with(", plugin tested")),
        "{text}"
    );
    assert!(text.contains("x-by-plugin: yes"), "{text}");
}

#[tokio::test]
async fn a_module_outside_of_the_folder_of_plugins_is_refused() {
    let folder = folder_with_plugin("tested", REFUSES);
    std::fs::copy(
        folder.path().join("plugins/tested.wasm"),
        folder.path().join("outside.wasm"),
    )
    .unwrap();
    let link = folder.path().join("plugins/link.wasm");
    std::os::unix::fs::symlink(folder.path().join("outside.wasm"), link).unwrap();
    for path in [
        "outside.wasm",
        "plugins/../outside.wasm",
        "plugins/link.wasm",
    ] {
        let mut config = with_plugin("http://127.0.0.1:9/v1", json!({}), json!({"use": "tested"}));
        config["plugins"]["tested"]["wasm"] = json!(path);
        let file = folder.write("routes.yaml", format!("{config:#}"));
        let mut process = Process::spawn(&["check", file.to_str().unwrap()]);
        eventually("the check ends", async || process.ended()).await;
        let report = process.stderr.all().join("\n");
        assert!(report.contains("is outside of"), "{path}: {report}");
    }
}

#[tokio::test]
async fn a_reload_starts_the_new_module_and_streams_end_with_the_old_one() {
    let simulator = Simulator::start().await;
    let config = with_plugin(&simulator.url(), json!({}), json!({"use": "tested"}));
    let folder = folder_with_plugin("tested", &version("one"));
    let gateway = Gateway::start_in(folder, &format!("{config:#}")).await;
    let stream = Request::ask_stream(Protocol::Chat).simulate("events=40; pace=50ms");
    let open = gateway.open(&stream).await;
    assert_eq!(open.headers.get("x-version"), Some("one"));
    add_plugin(&gateway.folder, "tested", &version("two"));
    gateway.reload(&config).await;
    let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(response.headers.get("x-version"), Some("two"));
    let rest = open.rest().await;
    assert!(rest.whole, "{}", rest.text());
    // A module that is none changes nothing.
    gateway.folder.write("plugins/tested.wasm", "no module");
    let reload = gateway.page("POST", "/reload").await;
    assert_ne!(reload.status, 200, "{}", reload.text());
    let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(response.headers.get("x-version"), Some("two"));
}
