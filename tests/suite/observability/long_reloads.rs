//! Test of the admin pages while a configuration takes long to load.

use crate::harness::admin::PROVIDER;
use crate::harness::plugins::{add_plugin, declare_plugin, folder_with_plugin};
use crate::harness::{Connection, Gateway, config, eventually};
use serde_json::json;
use std::sync::Arc;

/// Logs a line when it starts, and then computes until its limit is reached.
const ENDLESS_START: &str = r#"
  (data (i32.const 0) "the start begins")
  (func (export "proxy_on_configure") (param i32 i32) (result i32)
    (drop (call $log (i32.const 2) (i32.const 0) (i32.const 16)))
    (loop $again (br $again))
    (i32.const 1))"#;

#[tokio::test]
async fn every_page_and_probe_is_served_while_a_reload_builds() {
    let folder = folder_with_plugin("endless", ENDLESS_START);
    add_plugin(&folder, "running", "");
    let mut config = config::standard(PROVIDER);
    let mut use_plugin = |name: &str, limits: serde_json::Value| {
        declare_plugin(&mut config, name, json!({"limits": limits}));
        let chain = &mut config::route(&mut config, "chat")["request"];
        let filter = json!({"plugin": {"use": name}});
        chain.as_array_mut().unwrap().push(filter);
        format!("{config:#}")
    };
    let first = use_plugin("running", json!({}));
    let second = use_plugin("endless", json!({"start_cpu": "60s"}));
    let gateway = Arc::new(Gateway::start_in(folder, &first).await);
    let unknown = gateway.page("GET", "/nothing").await.text();
    let pages: Vec<(&str, &str)> = unknown
        .split_once("pages are ")
        .expect("a list of the pages")
        .1
        .trim()
        .split(", ")
        .map(|page| page.split_once(' ').expect("a method and a path"))
        .collect();
    gateway.folder.replace("routes.yaml", second);
    let reloading = gateway.clone();
    let reload = tokio::spawn(async move { reloading.page("POST", "/reload").await });
    eventually("the start of the plugin", async || {
        let lines = gateway.process.stderr.all();
        let has_begun = lines.iter().any(|line| line.contains("the start begins"));
        has_begun.then_some(())
    })
    .await;
    for (method, path) in pages {
        if path == "/reload" {
            continue;
        }
        let page = gateway.admin_request(method, path);
        let mut response = Connection::to(gateway.admin).await.open(&page).await;
        if path == "/events" {
            response.until("event: overview").await;
        } else {
            assert!(response.rest().await.whole, "{method} {path}");
        }
        for probe in ["/healthz", "/readyz", "/metrics"] {
            let received = gateway.page("GET", probe).await;
            assert_eq!(received.status, 200, "{probe} after {method} {path}");
        }
    }
    assert!(!reload.is_finished(), "the reload was too short");
    reload.abort();
}
