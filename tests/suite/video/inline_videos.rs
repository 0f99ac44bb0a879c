//! Tests of videos that a provider sends as base64 in the status of the task.

use crate::harness::config::{self, caller};
use crate::harness::http_response::json_response;
use crate::harness::request::ANN;
use crate::harness::video::{GENERIC, OPENAI, ask, id_of};
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, WholeResponse};
use serde_json::{Value, json};

/// Base64 of `ABC`, and how often it stands in a video: more than a status may have otherwise.
const GROUP: &str = "QUJD";
const GROUPS: usize = 1 << 20;

fn configuration(provider: &ScriptedProvider) -> Value {
    let base_url = format!("http://{}/v1/publishers/google", provider.address);
    let mut config = config::standard(&base_url);
    config["task_keys"] = json!(["0123456789abcdef0123456789abcdef"]);
    config["callers"] = json!([caller("ann", ANN, &["*"])]);
    config["models"] = json!({});
    config["families"] = json!({"veo-vertex": {
        "extends": "veo",
        "query": {
            "method": "POST", "path": "/models/veo-3:fetchPredictOperation",
            "body": {"operationName": "{id}"},
        },
        "response": {"video_base64": "/response/videos/0/bytesBase64Encoded"},
    }});
    config["channels"] = json!({"vendor": {
        "base_url": base_url, "protocols": ["video"], "family": "veo-vertex",
        "credential": {"bearer": "vendor-key"}, "models": {"demo": "veo-3"},
    }});
    config["routes"] = json!([
        {"name": "create", "match": format!("POST {GENERIC}"), "protocol": "video",
         "request": [{"use": "body"}, "validate", {"map_task": {"operation": "create"}}]},
        {"name": "query", "match": format!("GET {GENERIC}/{{id}}"), "protocol": "video",
         "request": ["authenticate", {"map_task": {"operation": "query"}}]},
        {"name": "content", "match": format!("GET {OPENAI}/{{id}}/content"), "protocol": "videos",
         "request": ["authenticate", {"map_task": {"operation": "content"}}]},
    ]);
    config
}

/// A task whose status is `response`, on a gateway.
async fn task(response: &Value) -> (ScriptedProvider, Gateway, String) {
    let mut status = json!({"name": "operations/1", "done": true});
    status["response"] = response.clone();
    let provider = ScriptedProvider::answering(json_response(200, status)).await;
    let created = json_response(200, r#"{"name": "operations/1"}"#);
    provider.next(vec![ScriptedResponse::Send(created)]);
    let gateway = Gateway::start(&configuration(&provider)).await;
    let body = json!({"model": "demo", "prompt": "a gate"}).to_string();
    let created = gateway.ask(&Request::post(GENERIC, body)).await;
    assert_eq!(created.status, 200, "{}", created.text());
    let id = id_of(GENERIC, &created);
    (provider, gateway, id)
}

async fn part(gateway: &Gateway, path: &str, range: &str) -> WholeResponse {
    gateway
        .ask(&Request::get(path).header("Range", range))
        .await
}

#[tokio::test]
async fn a_video_in_the_status_is_downloaded_from_the_gateway() {
    let video = GROUP.repeat(GROUPS);
    let response = json!({"videos": [{"bytesBase64Encoded": video, "mimeType": "video/mp4"}]});
    let (provider, gateway, id) = task(&response).await;
    let status = ask(&gateway, GENERIC, &id).await;
    let path = format!("{OPENAI}/{id}/content");
    assert_eq!(status.json()["status"], "succeeded", "{}", status.text());
    assert_eq!(status.json()["video_url"], path);
    let file = ask(&gateway, OPENAI, &format!("{id}/content")).await;
    assert_eq!(file.status, 200);
    assert!(
        file.body == "ABC".repeat(GROUPS).as_bytes(),
        "{} bytes",
        file.body.len()
    );
    assert_eq!(file.headers.get("content-type"), Some("video/mp4"));
    let middle = part(&gateway, &path, "bytes=3-8").await;
    assert_eq!((middle.status, &*middle.text()), (206, "ABCABC"));
    assert_eq!(
        middle.headers.get("content-range"),
        Some(&*format!("bytes 3-8/{}", 3 * GROUPS))
    );
    let none = part(&gateway, &path, "bytes=99999999-").await;
    assert_eq!(none.status, 416);
    let nobody = Request::get(&path).without("Authorization");
    assert_eq!(gateway.ask(&nobody).await.status, 401);
    let query = provider.requests().pop().unwrap();
    assert!(
        query.ends_with(r#"{"operationName":"operations/1"}"#),
        "{query}"
    );
}

#[tokio::test]
async fn a_status_without_a_video_or_with_one_that_is_not_base64_has_no_file() {
    let filtered = json!({"generateVideoResponse": {"raiMediaFilteredCount": 1}});
    let (_provider, gateway, id) = task(&filtered).await;
    let status = ask(&gateway, GENERIC, &id).await;
    assert_eq!(status.json()["status"], "failed", "{}", status.text());
    let file = ask(&gateway, OPENAI, &format!("{id}/content")).await;
    assert_eq!(file.status, 400, "{}", file.text());
    let invalid = json!({"videos": [{"bytesBase64Encoded": "<html>"}]});
    let (_provider, gateway, id) = task(&invalid).await;
    assert_eq!(ask(&gateway, GENERIC, &id).await.status, 502);
    let file = ask(&gateway, OPENAI, &format!("{id}/content")).await;
    assert_eq!(file.status, 502, "{}", file.text());
}
