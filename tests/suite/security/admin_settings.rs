//! Tests of the settings of the admin listener, of reloads that change them, and of the audit log.

use crate::harness::admin::{PROVIDER, audit_lines, config, gateway, response, status};
use crate::harness::config::{admin_keys, standard};
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::BINARY;
use crate::harness::request::{OPERATOR, VIEWER};
use crate::harness::{Gateway, Request, eventually};
use serde_json::{Value, json};
use std::process::Command;

#[tokio::test]
async fn each_action_is_one_line_of_the_audit_log_whatever_is_logged() {
    let mut started = config(json!({"admin_keys": admin_keys()}));
    let gateway =
        Gateway::start_logging(folder_with_schemas(), &started, "error,headgate::cli=info").await;
    assert_eq!(gateway.page("POST", "/reload").await.status, 200);
    gateway.folder.write("routes.yaml", "callers: 1");
    assert_eq!(gateway.page("POST", "/reload").await.status, 422);
    let viewer = |request: Request| request.key(VIEWER);
    assert_eq!(status(&gateway, "POST", "/reload", viewer).await, 403);
    let missing = "/callbacks/redrive?id=evt_5d1e0f5ff1a8e0b2c3d4e5f60718293a";
    assert_eq!(gateway.page("POST", missing).await.status, 404);
    // Not actions: reading, and requests of nobody who is known.
    assert_eq!(gateway.page("GET", "/config").await.status, 200);
    assert_eq!(
        status(&gateway, "POST", "/reload", |request| request).await,
        401
    );
    started["server"]["admin_keys"] = json!([]);
    gateway.folder.write("routes.yaml", started.to_string());
    assert_eq!(gateway.page("POST", "/reload").await.status, 200);
    assert_eq!(gateway.page("POST", "/reload").await.status, 200);
    assert_eq!(gateway.page("POST", missing).await.status, 403);
    let expected = [
        json!(["reload", null, "operator", "done", 200]),
        json!(["reload", null, "operator", "refused", 422]),
        json!(["reload", null, "viewer", "denied", 403]),
        json!([
            "redrive_callbacks",
            "evt_5d1e0f5ff1a8e0b2c3d4e5f60718293a",
            "operator",
            "refused",
            404
        ]),
        json!(["reload", null, "operator", "done", 200]),
        json!(["reload", null, "loopback", "done", 200]),
        json!([
            "redrive_callbacks",
            "evt_5d1e0f5ff1a8e0b2c3d4e5f60718293a",
            "loopback",
            "denied",
            403
        ]),
    ];
    assert_eq!(audit_lines(&gateway, expected.len()).await, expected);
}

#[tokio::test]
async fn keys_hosts_and_open_pages_follow_a_reload() {
    let gateway = gateway(json!({"admin_keys": admin_keys()})).await;
    let reload = async |key: &str, server: Value| {
        gateway
            .folder
            .replace("routes.yaml", config(server).to_string());
        let change = |request: Request| request.key(key);
        let reloaded = response(&gateway, "POST", "/reload", change).await;
        assert_eq!(reloaded.status, 200, "{}", reloaded.text());
        assert_eq!(reloaded.json()["needs_restart"], false);
    };
    let viewer = |request: Request| request.key(VIEWER);
    let operator = |request: Request| request.key(OPERATOR);
    let stranger = |request: Request| request.without("host").header("Host", "gate.internal");
    assert_eq!(status(&gateway, "GET", "/metrics", stranger).await, 421);
    let mut keys = admin_keys();
    keys[1]["role"] = "act".into();
    keys.as_array_mut().unwrap().remove(0);
    let server =
        json!({"admin_keys": keys, "admin_hosts": ["gate.internal"], "admin_open": ["metrics"]});
    reload(OPERATOR, server).await;
    assert_eq!(status(&gateway, "GET", "/metrics", stranger).await, 200);
    assert_eq!(
        status(&gateway, "GET", "/healthz", |request| request).await,
        401
    );
    assert_eq!(status(&gateway, "GET", "/config", operator).await, 401);
    assert_eq!(status(&gateway, "POST", "/reload", viewer).await, 200);
    reload(VIEWER, json!({})).await;
    assert_eq!(
        status(&gateway, "GET", "/config", |request| request).await,
        200
    );
}

#[tokio::test]
async fn a_listener_that_other_machines_reach_serves_nothing_once_its_keys_are_removed() {
    let listener = json!({"admin": "0.0.0.0:0", "admin_keys": admin_keys()});
    let gateway = gateway(listener).await;
    assert_eq!(gateway.page("GET", "/config").await.status, 200);
    // The file is valid by itself, but the listener is still the one that other machines reach.
    gateway
        .folder
        .replace("routes.yaml", config(json!({})).to_string());
    let reloaded = gateway.page("POST", "/reload").await.json();
    assert_eq!(
        reloaded["settings_needing_restart"],
        json!(["server.admin"])
    );
    for (method, path, expected) in [
        ("GET", "/config", 403),
        ("GET", "/metrics", 403),
        ("POST", "/reload", 403),
        ("GET", "/healthz", 200),
        ("GET", "/readyz", 200),
    ] {
        let received = gateway.page(method, path).await;
        assert_eq!(received.status, expected, "{path}: {}", received.text());
    }
}

#[tokio::test]
async fn an_address_without_keys_is_served_if_the_configuration_allows_it() {
    let gateway = gateway(json!({"admin": "0.0.0.0:0", "admin_without_keys": true})).await;
    assert_eq!(gateway.page("GET", "/config").await.status, 200);
    assert_eq!(gateway.page("POST", "/reload").await.status, 200);
    assert_eq!(
        gateway
            .page("POST", "/callbacks/redrive?all=true")
            .await
            .status,
        403
    );
    let expected = [
        json!(["reload", null, "without_keys", "done", 200]),
        json!(["redrive_callbacks", null, "without_keys", "denied", 403]),
    ];
    assert_eq!(audit_lines(&gateway, 2).await, expected);
}

#[test]
fn invalid_settings_of_the_admin_listener_are_errors_that_name_the_way_out() {
    let key = admin_keys()[0].clone();
    let of_caller = standard(PROVIDER)["callers"][0]["key_sha256"].clone();
    let named =
        |name: &str, digest: &Value| json!({"name": name, "key_sha256": digest, "role": "read"});
    for (server, args, words) in [
        (
            json!({"admin": "0.0.0.0:0"}),
            &[][..],
            "admin_without_keys: true",
        ),
        (json!({"admin": "[::]:0"}), &[], "headgate key new"),
        (
            json!({"admin": "gate.internal:0"}),
            &[],
            "no key protects them",
        ),
        (json!({}), &["--admin", "0.0.0.0:0"], "error: 0.0.0.0:"),
        (
            json!({"admin_keys": [key, key]}),
            &[],
            "duplicate admin key `operator`",
        ),
        (
            json!({"admin_keys": [key, named("other", &key["key_sha256"])]}),
            &[],
            "another admin key is the same",
        ),
        (
            json!({"admin_keys": [named("ann", &of_caller)]}),
            &[],
            "a caller has the same key",
        ),
        (
            json!({"admin_keys": [named("x", &"00".into())]}),
            &[],
            "64 hex digits",
        ),
        (
            json!({"admin_keys": [{"name": "x", "key_sha256": key["key_sha256"], "role": "write"}]}),
            &[],
            "expected one of read, act",
        ),
        (
            json!({"admin_hosts": ["https://gate.internal"]}),
            &[],
            "write the name alone",
        ),
        (json!({"admin_open": ["config"]}), &[], "metrics"),
        (
            json!({"admin_tls": {"certificate": "no.pem", "key": "no.pem"}}),
            &[],
            "no.pem",
        ),
    ] {
        let folder = folder_with_schemas();
        let file = folder.write("routes.yaml", config(server.clone()).to_string());
        let mut command = Command::new(BINARY);
        command.args(["run", "--config"]).arg(file).args(args);
        let output = command.output().unwrap();
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{server}: {printed}");
        assert!(printed.contains(words), "{words} in {printed}");
    }
}

#[tokio::test]
async fn invalid_keys_are_limited_and_logged_without_the_key() {
    let gateway = gateway(json!({"admin_keys": admin_keys()})).await;
    let wrong = |request: Request| request.key("sk-wrong-canary");
    for attempt in 0..10 {
        let received = status(&gateway, "GET", "/config", wrong).await;
        assert_eq!(received, 401, "{attempt}");
    }
    for change in [wrong, |request: Request| request.key(OPERATOR)] {
        let received = response(&gateway, "GET", "/config", change).await;
        assert_eq!(received.status, 429, "{}", received.text());
        let seconds = received.headers.get("retry-after").unwrap();
        assert!(
            (1..=60).contains(&seconds.parse::<u32>().unwrap()),
            "{seconds}"
        );
    }
    assert_eq!(gateway.page("GET", "/healthz").await.status, 200);
    let lines = eventually("the log", async || {
        let lines = gateway.process.stderr.all();
        let invalid = lines.iter();
        let invalid = invalid.filter(|line| line.contains("invalid admin key"));
        (invalid.count() == 10).then_some(lines)
    })
    .await;
    assert!(lines.iter().all(|line| !line.contains("sk-wrong-canary")));
}
