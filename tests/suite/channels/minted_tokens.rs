//! Tests of tokens that the gateway mints with a private key: a provider that verifies them takes them.

use crate::configuration::check::{changed, check, check_in};
use crate::harness::config::{self, channel};
use crate::harness::gateway::folder_with_schemas;
use crate::harness::http_response::json_response;
use crate::harness::token_issuer::{RSA_KEY, TokenSigner, encode};
use crate::harness::{Gateway, Request, ScriptedProvider};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const GOOD: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;

fn private_key() -> String {
    let key = RSA_KEY.trim();
    format!("-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----\n")
}

/// The token of a request.
fn token(request: &str) -> &str {
    let mut fields = request.lines().filter_map(|line| line.split_once(": "));
    let sent = fields.find(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let (_, value) = sent.expect("a request with a credential");
    value.strip_prefix("Bearer ").expect("a token")
}

#[tokio::test]
async fn a_token_of_a_private_key_has_its_claims_and_is_used_again() {
    let provider = ScriptedProvider::answering(json_response(200, GOOD)).await;
    let folder = folder_with_schemas();
    folder.write("key.pem", private_key());
    let mut config = config::standard(&provider.url());
    let credential = json!({"jwt": {
        "issuer": "ACCOUNT.USER.SHA256:canary-1", "key_file": "key.pem", "key_id": "key-1",
        "subject": "ACCOUNT.USER", "audience": "https://models.example", "lifetime": "1h",
    }});
    config["channels"] = json!({"minted": channel(&provider.url(), &["chat"], credential)});
    let gateway = Gateway::start_in(folder, &config.to_string()).await;
    for _ in 0..2 {
        let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(response.status, 200, "{}", response.text());
    }
    let requests = provider.requests();
    assert_eq!(token(&requests[0]), token(&requests[1]));
    let (signed, signature) = token(&requests[0]).rsplit_once('.').unwrap();
    let expected = TokenSigner::rsa("key-1").sign(signed.as_bytes());
    assert_eq!(signature, encode(expected));
    let parts = signed.split('.').map(|part| {
        let part = URL_SAFE_NO_PAD.decode(part).unwrap();
        serde_json::from_slice::<Value>(&part).unwrap()
    });
    let parts: Vec<Value> = parts.collect();
    assert_eq!(
        parts[0],
        json!({"alg": "RS256", "kid": "key-1", "typ": "JWT"})
    );
    assert_eq!(parts[1]["iss"], "ACCOUNT.USER.SHA256:canary-1");
    assert_eq!(
        (&parts[1]["sub"], &parts[1]["aud"]),
        (&json!("ACCOUNT.USER"), &json!("https://models.example"))
    );
    let lifetime = parts[1]["exp"].as_u64().unwrap() - parts[1]["iat"].as_u64().unwrap();
    assert_eq!(lifetime, 3_605);
    assert!(
        !gateway.output().contains("canary-1"),
        "{}",
        gateway.output()
    );
}

#[test]
fn a_key_that_cannot_sign_is_refused_where_it_is_wrong() {
    for (jwt, reason) in [
        ("{issuer: a}", "exactly one of `secret` and `key_file`"),
        (
            "{issuer: a, secret: b, key_file: c.pem}",
            "exactly one of `secret` and `key_file`",
        ),
        ("{issuer: a, key_file: missing.pem}", "cannot read"),
    ] {
        let output = check(&changed(
            r#"{bearer: "${KEY}"}"#,
            &format!("{{jwt: {jwt}}}"),
        ));
        assert!(
            !output.success && output.stderr.contains(reason),
            "{jwt}: {}",
            output.stderr
        );
    }
    let folder = folder_with_schemas();
    let jwt = "{jwt: {issuer: a, key_file: key.pem}}";
    for (key, reason) in [
        ("no key".to_owned(), Some("no private key in PEM")),
        (private_key(), None),
    ] {
        folder.write("key.pem", key);
        let output = check_in(&folder, &changed(r#"{bearer: "${KEY}"}"#, jwt));
        assert_eq!(output.success, reason.is_none(), "{}", output.stderr);
        assert!(
            output.stderr.contains(reason.unwrap_or_default()),
            "{}",
            output.stderr
        );
    }
}
