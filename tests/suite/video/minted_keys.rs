//! Tests of tokens that the gateway mints from an access key and a secret key.

use crate::harness::config::{self, caller};
use crate::harness::request::ANN;
use crate::harness::video::{GENERIC, ask, id_of};
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
    }});
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
    ]);
    config
}

fn answer(body: &Value) -> ScriptedResponse {
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    ScriptedResponse::Send(format!("{head}{body}").into())
}

/// An error of the vendor that repeats the request.
fn repeat_request(request: &str) -> Vec<u8> {
    let body = json!({"code": 1001, "message": request}).to_string();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    format!("{head}{body}").into_bytes()
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

#[tokio::test]
async fn a_task_is_polled_across_ten_tokens_a_restart_and_a_rotated_secret() {
    let running =
        json!({"code": 0, "data": {"task_id": "867283741759111202", "task_status": "processing"}});
    let provider = ScriptedProvider::start(vec![answer(&running)]).await;
    let base = format!("http://{}", provider.address);
    let gateway = Gateway::start(&configuration(&base, "secret-key-1")).await;
    let create = json!({"model": "demo", "prompt": "a gate", "duration": 5}).to_string();
    let created = gateway.ask(&Request::post(GENERIC, create)).await;
    let id = id_of(GENERIC, &created);
    for _ in 0..QUERIES {
        // Longer than half of the lifetime of a token.
        tokio::time::sleep(Duration::from_millis(510)).await;
        let status = ask(&gateway, GENERIC, &id).await;
        assert_eq!(status.json()["status"], "running", "{}", status.text());
    }
    let requests = provider.requests();
    let tokens: BTreeSet<_> = requests
        .iter()
        .map(|one| token(one, "secret-key-1"))
        .collect();
    // Tokens that were minted in the same second are equal.
    assert!(tokens.len() > 4, "{} tokens", tokens.len());
    let line = requests.last().unwrap().lines().next().unwrap().to_owned();
    assert_eq!(
        line,
        "GET /v1/videos/text2video/867283741759111202 HTTP/1.1"
    );
    drop(gateway);

    let rotated = Gateway::start(&configuration(&base, "secret-key-2")).await;
    let status = ask(&rotated, GENERIC, &id).await;
    assert_eq!(status.json()["status"], "running", "{}", status.text());
    let requests = provider.requests();
    token(requests.last().unwrap(), "secret-key-2");
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
