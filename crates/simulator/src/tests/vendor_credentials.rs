//! Tests of credentials that a vendor's client mints: tokens of Kling.

use super::vendor_fixtures::vendors;
use super::vendors::vendor_request;
use super::{send, simulator};
use crate::clock;
use crate::vendors::callback_keys::hmac_sha256;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

fn token(access_key: &str, secret_key: &str, expires_in: i64) -> String {
    let now = i64::try_from(clock::unix_seconds()).unwrap();
    let part = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
    let header = part(&json!({"alg": "HS256", "typ": "JWT"}));
    let claims = part(&json!({"iss": access_key, "exp": now + expires_in, "nbf": now - 5}));
    let signed = hmac_sha256(
        secret_key.as_bytes(),
        format!("{header}.{claims}").as_bytes(),
    );
    format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode(signed))
}

#[tokio::test]
async fn a_token_counts_if_its_secret_key_signed_it_and_it_is_valid_now() {
    let kling = vendors()
        .into_iter()
        .find(|vendor| vendor.name == "kling")
        .unwrap();
    let simulator = simulator();
    let ask = async |token: String, method: &str, path: &str, body: &Value| {
        let mut request = vendor_request(&kling, "", (method, path), body);
        let bearer = format!("Bearer {token}").parse().unwrap();
        request.headers_mut().insert("authorization", bearer);
        send(&simulator, request).await
    };
    let made = ask(
        token("ak", "ak-secret", 1800),
        "POST",
        kling.create,
        &kling.body,
    )
    .await;
    let id = made.json()["data"]["task_id"].as_str().unwrap().to_owned();
    let path = kling.query.replace("{id}", &id);
    for (token, status) in [
        (token("ak", "ak-secret", 60), 200),
        (token("ak", "ak-secret", -1), 401),
        (token("ak", "other", 1800), 401),
        (token("other", "other-secret", 1800), 404),
    ] {
        let answer = ask(token, "GET", &path, &Value::Null).await;
        assert_eq!(answer.status, status, "{}", answer.json());
    }
}
