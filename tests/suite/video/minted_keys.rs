//! Tests of tokens that the gateway mints from an access key and a secret key.

use crate::harness::config::{self, caller};
use crate::harness::http_response::{json_response, typed_response};
use crate::harness::request::ANN;
use crate::harness::video::{GENERIC, OPENAI, ask, cancel, id_of};
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use std::collections::BTreeSet;
use std::time::Duration;

const QUERIES: usize = 11;

fn configuration(base_url: &str, secret: &str) -> Value {
    let mut config = config::standard(base_url);
    config["task_keys"] = json!(["0123456789abcdef0123456789abcdef"]);
    config["callers"] = json!([caller("ann", ANN, &["*"])]);
    config["models"] = json!({});
    config["families"] = json!({"own": {
        "extends": "kling",
        "query": {"method": "GET", "path": "{+id}", "cache_ttl": "1ms"},
        "cancel": {"method": "DELETE", "path": "{+id}", "statuses": ["running"]},
    }});
    config["egress"] = json!({"allow": ["127.0.0.1"]});
    config["channels"] = json!({"kling": {
        "base_url": base_url, "protocols": ["video"], "family": "own",
        "credential": {"jwt": {"issuer": "access-key-1", "secret": secret, "lifetime": "1s"}},
        "models": {"demo": "kling-v2-6"},
    }});
    config["routes"] = json!([
        {"name": "create", "match": format!("POST {GENERIC}"), "protocol": "video",
         "request": [{"use": "body"}, "validate", {"map_task": {"operation": "create"}}]},
        {"name": "query", "match": format!("GET {GENERIC}/{{id}}"), "protocol": "video",
         "request": ["authenticate", {"map_task": {"operation": "query"}}]},
        {"name": "cancel", "match": format!("DELETE {GENERIC}/{{id}}"), "protocol": "video",
         "request": ["authenticate", {"map_task": {"operation": "cancel"}}]},
        {"name": "content", "match": format!("GET {OPENAI}/{{id}}/content"), "protocol": "videos",
         "request": ["authenticate", {"map_task": {"operation": "content"}}]},
    ]);
    config
}

/// The vendor: a task whose prompt is `done` has a video, each other one runs until it is cancelled.
fn vendor(request: &str) -> Vec<u8> {
    let (line, head) = request.split_once("\r\n").unwrap();
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    let (_, host) = lines
        .find(|(name, _)| name.eq_ignore_ascii_case("host"))
        .unwrap();
    let task = |id: &str, status: &str| json!({"task_id": id, "task_status": status});
    let data = match line.split(' ').collect::<Vec<_>>()[..2] {
        ["POST", _] if request.contains("\"done\"") => task("100", "submitted"),
        ["POST", _] => task("200", "submitted"),
        ["GET", "/v1/videos/text2video/100"] => {
            let mut task = task("100", "succeed");
            let url = format!("http://{host}/file.mp4");
            task["task_result"] = json!({"videos": [{"id": "1", "url": url, "duration": "5"}]});
            task
        }
        ["GET", "/v1/videos/text2video/200"] => task("200", "processing"),
        ["DELETE", "/v1/videos/text2video/200"] => json!({}),
        ["GET", "/file.mp4"] => return typed_response(200, "video/mp4", "a video"),
        _ => panic!("{line}"),
    };
    let body = json!({"code": 0, "message": "SUCCEED", "data": data});
    json_response(200, body)
}

/// An error of the vendor that repeats the request.
fn repeat_request(request: &str) -> Vec<u8> {
    json_response(400, json!({"code": 1001, "message": request}))
}

/// The token of a request, which must be signed with `secret`.
fn token(request: &str, secret: &str) -> String {
    let mut lines = request.lines().filter_map(|line| line.split_once(": "));
    let (_, value) = lines
        .find(|(name, _)| name.eq_ignore_ascii_case("authorization"))
        .unwrap();
    let token = value.trim().strip_prefix("Bearer ").unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(signed.as_bytes());
    mac.verify_slice(&URL_SAFE_NO_PAD.decode(signature).unwrap())
        .unwrap();
    let (_, claims) = signed.split_once('.').unwrap();
    let claims = URL_SAFE_NO_PAD.decode(claims).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    assert_eq!(claims["iss"], "access-key-1");
    token.to_owned()
}

async fn create(gateway: &Gateway, prompt: &str) -> String {
    let create = json!({"model": "demo", "prompt": prompt, "duration": 5}).to_string();
    let created = gateway.ask(&Request::post(GENERIC, create)).await;
    id_of(GENERIC, &created)
}

/// Polls a running task, and downloads the video of one that has ended.
async fn use_tasks(gateway: &Gateway, running: &str, done: &str) {
    let status = ask(gateway, GENERIC, running).await;
    assert_eq!(status.json()["status"], "running", "{}", status.text());
    let video = ask(gateway, OPENAI, &format!("{done}/content")).await;
    assert_eq!((video.status, video.text()), (200, "a video".into()));
}

/// Asserts that the vendor's API got tokens of this secret only, and its files none; returns the tokens.
fn tokens(requests: &[String], secret: &str) -> BTreeSet<String> {
    let (files, calls): (Vec<_>, Vec<_>) = requests
        .iter()
        .partition(|request| request.starts_with("GET /file.mp4 "));
    assert!(!files.is_empty());
    for file in files {
        assert!(!file.to_lowercase().contains("authorization"), "{file}");
    }
    calls.into_iter().map(|call| token(call, secret)).collect()
}

#[tokio::test]
async fn a_task_is_used_across_ten_tokens_a_restart_and_a_rotated_secret() {
    let provider = ScriptedProvider::start(vec![ScriptedResponse::Answer(vendor)]).await;
    let base = format!("http://{}", provider.address);
    let gateway = Gateway::start(&configuration(&base, "secret-key-1")).await;
    let [cancelled, running, done] = [
        create(&gateway, "a gate").await,
        create(&gateway, "a gate").await,
        create(&gateway, "done").await,
    ];
    for _ in 0..QUERIES {
        // Longer than half of the lifetime of a token.
        tokio::time::sleep(Duration::from_millis(510)).await;
        use_tasks(&gateway, &running, &done).await;
    }
    let reply = cancel(&gateway, GENERIC, &cancelled).await;
    assert_eq!(reply.json()["status"], "cancelled", "{}", reply.text());
    let before = provider.requests();
    // Tokens that were minted in the same second are equal.
    let minted = tokens(&before, "secret-key-1").len();
    assert!(minted > 4, "{minted} tokens");
    drop(gateway);

    let rotated = Gateway::start(&configuration(&base, "secret-key-2")).await;
    use_tasks(&rotated, &running, &done).await;
    let reply = cancel(&rotated, GENERIC, &running).await;
    assert_eq!(reply.json()["status"], "cancelled", "{}", reply.text());
    let after = provider.requests().split_off(before.len());
    tokens(&after, "secret-key-2");
    assert!(after.iter().any(|request| request.starts_with("DELETE ")));
}

#[tokio::test]
async fn no_response_reveals_a_minted_token_or_its_keys() {
    let provider = ScriptedProvider::start(vec![ScriptedResponse::Answer(repeat_request)]).await;
    let base = format!("http://{}", provider.address);
    let gateway = Gateway::start(&configuration(&base, "secret-key-1")).await;
    let create = json!({"model": "demo", "prompt": "a gate", "duration": 5}).to_string();
    let answer = gateway.ask(&Request::post(GENERIC, create)).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    for revealing in [
        "access-key-1",
        "secret-key-1",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ",
    ] {
        assert!(!answer.text().contains(revealing), "{}", answer.text());
    }
}
