//! Tests of tasks that the provider has on another host than that of its base URL.

use crate::harness::config::{self, caller};
use crate::harness::http_response::{http_response, json_response};
use crate::harness::request::ANN;
use crate::harness::video::{GENERIC, ask, cancel, id_of};
use crate::harness::{Gateway, Request, ScriptedProvider, WholeResponse};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// A channel of FLUX at `base`, whose tasks may be at `hosts`.
fn configuration(base: SocketAddr, hosts: &[String], egress: &Value) -> Value {
    let base_url = format!("http://{base}/v1");
    let mut config = config::standard(&base_url);
    config["task_keys"] = json!(["0123456789abcdef0123456789abcdef"]);
    config["callers"] = json!([caller("ann", ANN, &["*"])]);
    config["models"] = json!({});
    config["egress"] = json!({ "allow": egress });
    config["families"] = json!({"regional": {
        "extends": "flux",
        "query": {"method": "GET", "path": "/get_result?id={id}", "url": "/polling_url", "hosts": hosts},
        "cancel": {"method": "POST", "path": "/cancel/{id}", "statuses": ["running"]},
    }});
    config["channels"] = json!({"vendor": {
        "base_url": base_url, "protocols": ["video"], "family": "regional",
        "credential": {"header": {"name": "x-key", "value": "vendor-key"}},
        "models": {"demo": "flux-3-video"},
    }});
    config["routes"] = json!([
        {"name": "create", "match": format!("POST {GENERIC}"), "protocol": "video",
         "request": [{"use": "body"}, "validate", {"map_task": {"operation": "create"}}]},
        {"name": "query", "match": format!("GET {GENERIC}/{{id}}"), "protocol": "video",
         "request": ["authenticate", {"map_task": {"operation": "query"}}]},
        {"name": "cancel", "match": format!("DELETE {GENERIC}/{{id}}"), "protocol": "video",
         "request": ["authenticate", {"map_task": {"operation": "cancel"}}]},
    ]);
    config
}

/// A provider that answers each create with `polling_url`.
async fn provider(polling_url: &str) -> ScriptedProvider {
    let created = json!({"id": "8f2c", "polling_url": polling_url});
    ScriptedProvider::answering(json_response(200, created)).await
}

/// A host of a region that has a task which runs.
async fn region() -> ScriptedProvider {
    let status = json!({"id": "8f2c", "status": "Pending"});
    ScriptedProvider::answering(json_response(200, status)).await
}

async fn create(gateway: &Gateway) -> WholeResponse {
    let body = json!({"model": "demo", "prompt": "a gate"}).to_string();
    gateway.ask(&Request::post(GENERIC, body)).await
}

#[tokio::test]
async fn a_task_is_queried_and_cancelled_on_the_host_that_the_provider_named() {
    let region = region().await;
    let url = format!("http://{}/v1/get_result?id=8f2c&part=1", region.address);
    let provider = provider(&url).await;
    let hosts = [region.address.to_string()];
    let config = configuration(provider.address, &hosts, &json!(["127.0.0.1"]));
    let gateway = Gateway::start(&config).await;
    let created = create(&gateway).await;
    assert_eq!(created.status, 200, "{}", created.text());
    let id = id_of(GENERIC, &created);
    // Another gateway with the same keys: all that it knows is in the id.
    let other = Gateway::start(&config).await;
    let status = ask(&other, GENERIC, &id).await;
    assert_eq!(status.json()["status"], "running", "{}", status.text());
    let cancelled = cancel(&other, GENERIC, &id).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text());
    let requests = region.requests();
    let lines: Vec<&str> = requests
        .iter()
        .filter_map(|one| one.lines().next())
        .collect();
    assert_eq!(lines[0], "GET /v1/get_result?id=8f2c&part=1 HTTP/1.1");
    assert_eq!(*lines.last().unwrap(), "POST /v1/cancel/8f2c HTTP/1.1");
    for request in &requests {
        let request = request.to_ascii_lowercase();
        assert!(request.contains("x-key: vendor-key"), "{request}");
        let host = format!("host: {}", region.address);
        assert!(request.contains(&host), "{request}");
        assert!(!request.contains(&ANN.to_ascii_lowercase()), "{request}");
    }
    assert_eq!(provider.requests().len(), 1, "only the create");
}

#[tokio::test]
async fn a_host_that_the_family_does_not_have_gets_no_request() {
    let elsewhere = region().await;
    let port = elsewhere.address.port();
    for url in [
        format!("http://127.0.0.1:{port}/v1/get_result?id=8f2c"),
        format!("http://region.test@127.0.0.1:{port}/get_result"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "https://api.us1.region.test.other.example/v1/get_result".to_owned(),
        "//api.us1.region.test/v1/get_result".to_owned(),
        format!("https://api.us1.region.test/{}", "x".repeat(65_536)),
    ] {
        let provider = provider(&url).await;
        let hosts = ["api.*.region.test".to_owned()];
        let config = configuration(provider.address, &hosts, &json!(["127.0.0.1"]));
        let gateway = Gateway::start(&config).await;
        let created = create(&gateway).await;
        let shown = &url[..url.len().min(80)];
        assert_eq!(created.status, 502, "{shown}: {}", created.text());
        assert_eq!(provider.requests().len(), 1, "{shown}: sent once");
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_host_that_egress_does_not_allow_gets_no_request() {
    let region = region().await;
    let url = format!("http://{}/v1/get_result?id=8f2c", region.address);
    let provider = provider(&url).await;
    let hosts = [region.address.to_string()];
    let gateway = Gateway::start(&configuration(provider.address, &hosts, &json!([]))).await;
    let created = create(&gateway).await;
    assert_eq!(created.status, 200, "{}", created.text());
    let status = ask(&gateway, GENERIC, &id_of(GENERIC, &created)).await;
    assert_eq!(status.status, 502, "{}", status.text());
    assert!(region.requests().is_empty());
    // The channel itself is well.
    assert_eq!(create(&gateway).await.status, 200);
}

#[tokio::test]
async fn a_host_that_the_family_no_longer_has_gets_no_request() {
    let region = region().await;
    let url = format!("http://{}/v1/get_result?id=8f2c", region.address);
    let provider = provider(&url).await;
    let allowed = json!(["127.0.0.1"]);
    let hosts = [region.address.to_string()];
    let before = Gateway::start(&configuration(provider.address, &hosts, &allowed)).await;
    let id = id_of(GENERIC, &create(&before).await);
    let after = Gateway::start(&configuration(provider.address, &[], &allowed)).await;
    let status = ask(&after, GENERIC, &id).await;
    assert_eq!(status.status, 502, "{}", status.text());
    assert!(region.requests().is_empty());
}

#[tokio::test]
async fn a_redirect_of_a_host_is_not_followed() {
    let elsewhere = region().await;
    let headers = format!("Location: http://{}/x\r\n", elsewhere.address);
    let region = ScriptedProvider::answering(http_response(302, &headers, "")).await;
    let provider = provider(&format!("http://{}/v1/get_result", region.address)).await;
    let hosts = [region.address, elsewhere.address].map(|address| address.to_string());
    let config = configuration(provider.address, &hosts, &json!(["127.0.0.1"]));
    let gateway = Gateway::start(&config).await;
    let id = id_of(GENERIC, &create(&gateway).await);
    let status = ask(&gateway, GENERIC, &id).await;
    assert_eq!(status.status, 502, "{}", status.text());
    assert_eq!(region.requests().len(), 1);
    assert!(elsewhere.requests().is_empty());
}
