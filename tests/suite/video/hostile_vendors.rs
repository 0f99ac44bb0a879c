//! Tests of vendors that answer a create with ids and URLs that lead elsewhere.

use crate::harness::config::{self, caller};
use crate::harness::http_response::json_response;
use crate::harness::request::ANN;
use crate::harness::video::{GENERIC, OPENAI, ask, id_of};
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, WholeResponse};
use serde_json::{Value, json};
use tokio::net::TcpListener;

fn configuration(base_url: &str, family: &str) -> Value {
    let mut config = config::standard(base_url);
    config["task_keys"] = json!(["0123456789abcdef0123456789abcdef"]);
    config["callers"] = json!([caller("ann", ANN, &["*"])]);
    config["models"] = json!({});
    config["channels"] = json!({"vendor": {
        "base_url": base_url, "protocols": ["video"], "family": family,
        "credential": {"bearer": "vendor-key"}, "models": {"demo": "fal-ai/some-model"},
    }});
    config["routes"] = json!([
        {"name": "create", "match": format!("POST {GENERIC}"), "protocol": "video",
         "request": [{"use": "body"}, "validate", {"map_task": {"operation": "create"}}]},
        {"name": "query", "match": format!("GET {GENERIC}/{{id}}"), "protocol": "video",
         "request": ["authenticate", {"map_task": {"operation": "query"}}]},
        {"name": "content", "match": format!("GET {OPENAI}/{{id}}/content"), "protocol": "videos",
         "request": ["authenticate", {"map_task": {"operation": "content"}}]},
    ]);
    config["egress"] = json!({"allow": ["127.0.0.1"]});
    config
}

/// Creates a task at a provider that answers `created`, in which `BASE` is its base URL; what the provider received and
/// what the caller got, and the gateway.
async fn create(family: &str, created: &str) -> (ScriptedProvider, WholeResponse, Gateway) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let response = json_response(200, created.replace("BASE", &base));
    let provider = ScriptedProvider::on(listener, vec![ScriptedResponse::Send(response)]);
    let gateway = Gateway::start(&configuration(&base, family)).await;
    let request = json!({"model": "demo", "prompt": "a gate"}).to_string();
    let answer = gateway.ask(&Request::post(GENERIC, request)).await;
    (provider, answer, gateway)
}

#[tokio::test]
async fn an_id_that_leads_elsewhere_is_an_unreadable_create_that_is_not_sent_again() {
    let long = format!(r#"{{"name": "{}"}}"#, "x".repeat(65_536));
    for (family, created) in [
        (
            "fal",
            r#"{"request_id": "1", "response_url": "http://169.254.169.254/latest/requests/1"}"#,
        ),
        (
            "fal",
            r#"{"request_id": "1", "response_url": "https://other.example/fal/requests/1"}"#,
        ),
        (
            "fal",
            r#"{"request_id": "1", "response_url": "BASE@other.example/requests/1"}"#,
        ),
        (
            "fal",
            r#"{"request_id": "1", "response_url": "BASE/../admin/requests/1"}"#,
        ),
        ("replicate", r#"{"id": "..", "status": "starting"}"#),
        ("replicate", "{\"id\": \"a\\nb\", \"status\": \"starting\"}"),
        ("luma", r#"{"state": "queued"}"#),
        ("luma", &long.replace("name", "id")),
    ] {
        let (provider, answer, _gateway) = create(family, created).await;
        let shown = &created[..created.len().min(90)];
        assert_eq!(answer.status, 502, "{family} {shown}: {}", answer.text());
        assert_eq!(provider.requests().len(), 1, "{family} {shown}");
        assert!(!answer.text().contains("169.254"), "{}", answer.text());
    }
}

#[tokio::test]
async fn a_query_goes_to_the_channel_whatever_the_id_is() {
    for (family, created, path) in [
        (
            "fal",
            r#"{"response_url": "BASE/fal-ai/some-model/requests/1?x=1"}"#,
            "GET /fal-ai/some-model/requests/1/status",
        ),
        (
            "replicate",
            r#"{"id": "a/../../b?c#d", "status": "starting"}"#,
            "GET /predictions/a%2F..%2F..%2Fb%3Fc%23d",
        ),
        (
            "luma",
            r#"{"id": "https://169.254.169.254/x", "state": "queued"}"#,
            "",
        ),
    ] {
        let (provider, answer, gateway) = create(family, created).await;
        if path.is_empty() {
            assert_eq!(answer.status, 502, "{family}: {}", answer.text());
            continue;
        }
        ask(&gateway, GENERIC, &id_of(GENERIC, &answer)).await;
        let requests = provider.requests();
        let line = requests.last().unwrap().lines().next().unwrap_or_default();
        assert!(line.starts_with(path), "{family}: {line}");
        assert!(!requests.concat().contains(ANN), "{family}");
    }
}

#[tokio::test]
async fn a_channels_credential_goes_with_a_file_only_to_the_channels_host() {
    let file = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfile";
    let elsewhere = ScriptedProvider::start(vec![ScriptedResponse::Send(file.into())]).await;
    let name = "models/fal-ai/operations/1";
    let video = json!({"uri": format!("http://{}/file", elsewhere.address)});
    let samples = json!({"generatedSamples": [{"video": video}]});
    let status = json!({
        "name": name, "done": true, "response": {"generateVideoResponse": samples},
    });
    let (provider, answer, gateway) = create("veo", &status.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let id = id_of(GENERIC, &answer);
    let content = ask(&gateway, OPENAI, &format!("{id}/content")).await;
    assert_eq!(content.status, 200, "{}", content.text());
    let requests = elsewhere.requests();
    assert_eq!(requests.len(), 1);
    assert!(!requests.concat().contains("vendor-key"), "{requests:?}");
    assert!(provider.requests().concat().contains("vendor-key"));
}
