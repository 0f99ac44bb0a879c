//! Tests of media that are uploaded before a create, against the stub of PixVerse, which knows the ids that it gave.

use crate::harness::config::{self, caller};
use crate::harness::request::ANN;
use crate::harness::video::{GENERIC, ask, id_of};
use crate::harness::{Gateway, Request, ScriptedProvider, Simulator, WholeResponse};
use serde_json::{Value, json};

/// A file that begins as a PNG does.
const PNG: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==";

/// A channel for each of `directives`, of which the first is tried first.
fn configuration(simulator: &Simulator, directives: &[&str]) -> Value {
    let mut config = config::standard(&simulator.url());
    config["task_keys"] = json!(["0123456789abcdef0123456789abcdef"]);
    config["callers"] = json!([caller("ann", ANN, &["*"])]);
    config["models"] = json!({});
    config["egress"] = json!({"allow": ["127.0.0.1"]});
    config["channels"] = json!({});
    for (tier, directives) in directives.iter().enumerate() {
        let base = format!(
            "http://{}/~queue=0ms;run=0ms{directives}/vendor/pixverse",
            simulator.address
        );
        config["channels"][format!("vendor-{tier}")] = json!({
            "base_url": base, "protocols": ["video"], "family": "pixverse", "tier": tier,
            "credential": {"header": {"name": "API-KEY", "value": format!("vendor-key-{tier}")}},
            "models": {"demo": "v5"},
        });
    }
    config["routes"] = json!([
        {"name": "create", "match": format!("POST {GENERIC}"), "protocol": "video",
         "failover": {"max_attempts": 3},
         "request": [{"use": "body"}, "validate", {"map_task": {"operation": "create"}}]},
        {"name": "query", "match": format!("GET {GENERIC}/{{id}}"), "protocol": "video",
         "request": ["authenticate", {"map_task": {"operation": "query"}}]},
    ]);
    config
}

async fn create(gateway: &Gateway, frames: &[(&str, &str)]) -> WholeResponse {
    let medias = frames.iter();
    let medias = medias.map(|(role, url)| json!({"type": "image", "role": role, "url": url}));
    let medias: Vec<Value> = medias.collect();
    let body = json!({"model": "demo", "prompt": "a gate", "medias": medias}).to_string();
    gateway.ask(&Request::post(GENERIC, body)).await
}

/// The operations that arrived, in order.
async fn operations(simulator: &Simulator) -> Vec<String> {
    let records = simulator.records().await;
    let names = records
        .iter()
        .map(|record| record["endpoint"].as_str().unwrap_or_default());
    names
        .map(|name| name.rsplit('.').next().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test]
async fn images_are_uploaded_and_the_create_has_their_ids() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&configuration(&simulator, &[""])).await;
    for frames in [
        &[("first_frame", "https://media.example/1.png")][..],
        &[("first_frame", PNG)],
        &[
            ("last_frame", PNG),
            ("first_frame", "https://media.example/1.png"),
        ],
    ] {
        let before = simulator.records().await.len();
        let created = create(&gateway, frames).await;
        assert_eq!(created.status, 200, "{frames:?}: {}", created.text());
        let expected = [vec!["upload"; frames.len()], vec!["create"]].concat();
        assert_eq!(
            operations(&simulator).await[before..],
            expected,
            "{frames:?}"
        );
        let status = ask(&gateway, GENERIC, &id_of(GENERIC, &created)).await;
        assert_eq!(status.json()["status"], "succeeded", "{}", status.text());
    }
    let records = json!(simulator.records().await).to_string();
    assert!(!records.contains(ANN), "the caller's key arrived");
}

#[tokio::test]
async fn an_upload_that_fails_leads_to_another_channel_and_costs_nothing() {
    let simulator = Simulator::start().await;
    let directives = [";status=503;only=POST", ""];
    let gateway = Gateway::start(&configuration(&simulator, &directives)).await;
    let created = create(&gateway, &[("first_frame", PNG)]).await;
    assert_eq!(created.status, 200, "{}", created.text());
    assert_eq!(operations(&simulator).await, ["upload", "upload", "create"]);
}

#[tokio::test]
async fn a_create_is_not_sent_if_no_channel_takes_its_images() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&configuration(&simulator, &[";status=503;only=POST"])).await;
    let created = create(&gateway, &[("first_frame", PNG)]).await;
    assert_eq!(created.status, 502, "{}", created.text());
    assert_eq!(operations(&simulator).await, ["upload"]);
}

#[tokio::test]
async fn what_cannot_be_uploaded_is_refused_before_anything_is_sent() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&configuration(&simulator, &[""])).await;
    let many = vec![("first_frame", PNG); 17];
    for (frames, param) in [
        (&[("last_frame", PNG)][..], json!("medias[0]")),
        (
            &[("first_frame", "data:image/png;base64,!")],
            json!("medias[0].url"),
        ),
        (&many, json!("medias")),
    ] {
        let refused = create(&gateway, frames).await;
        assert_eq!(refused.status, 400, "{}", refused.text());
        assert_eq!(
            refused.json()["error"]["param"],
            param,
            "{}",
            refused.text()
        );
    }
    assert!(operations(&simulator).await.is_empty());
}

#[tokio::test]
async fn an_upload_shares_the_limits_of_its_attempt() {
    let simulator = Simulator::start().await;
    let mut config = configuration(&simulator, &[""]);
    config["channels"]["vendor-0"]["limits"] = json!({"concurrent": 1});
    let gateway = Gateway::start(&config).await;
    let created = create(&gateway, &[("first_frame", PNG)]).await;
    assert_eq!(created.status, 200, "{}", created.text());
}

/// The configuration with a family that uploads files only.
fn with_files_only(simulator: &Simulator, egress: &Value) -> Value {
    let mut config = configuration(simulator, &[""]);
    config["egress"] = json!({ "allow": egress });
    config["families"] = json!({"files": {"extends": "pixverse", "upload": {
        "method": "POST", "path": "/openapi/v2/image/upload", "headers": {"ai-trace-id": "{uuid}"},
        "form": {"image": "{file}"}, "id": "/Resp/img_id", "roles": ["first_frame"], "max_size": "1KiB",
    }}});
    config["channels"]["vendor-0"]["family"] = json!("files");
    config
}

#[tokio::test]
async fn a_file_is_fetched_where_the_vendor_takes_no_urls() {
    let simulator = Simulator::start().await;
    let file = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 12\r\n\r\n\x89PNG\r\n\x1a\n1234";
    let server = ScriptedProvider::answering(file.to_vec()).await;
    let url = format!("http://{}/1.png", server.address);
    let allowed = with_files_only(&simulator, &json!(["127.0.0.1"]));
    let gateway = Gateway::start(&allowed).await;
    let created = create(&gateway, &[("first_frame", &url)]).await;
    assert_eq!(created.status, 200, "{}", created.text());
    let fetched = server.requests().concat();
    assert!(
        !fetched.contains("vendor-key") && !fetched.contains(ANN),
        "{fetched}"
    );
    // Nothing inside is fetched unless the operator allows it.
    let sent = simulator.records().await.len();
    let gateway = Gateway::start(&with_files_only(&simulator, &json!([]))).await;
    for url in [&*url, "http://169.254.169.254/latest/meta-data"] {
        let refused = create(&gateway, &[("first_frame", url)]).await;
        assert_eq!(refused.status, 400, "{}", refused.text());
    }
    assert_eq!(simulator.records().await.len(), sent);
}

#[tokio::test]
async fn a_file_that_is_too_large_or_breaks_off_makes_no_create() {
    let simulator = Simulator::start().await;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: ";
    for (length, status) in [(1025, 413), (900, 400)] {
        use crate::harness::ScriptedResponse::{Close, Send};
        let start = format!("{head}{length}\r\n\r\n1234");
        let server = ScriptedProvider::start(vec![Send(start.into()), Close]).await;
        let url = format!("http://{}/1.png", server.address);
        let config = with_files_only(&simulator, &json!(["127.0.0.1"]));
        let gateway = Gateway::start(&config).await;
        let refused = create(&gateway, &[("first_frame", &url)]).await;
        assert_eq!(refused.status, status, "{}", refused.text());
    }
    assert!(!operations(&simulator).await.contains(&"create".to_owned()));
}
