//! Requests to Bedrock that are signed with an access key: the provider computes each signature from the bytes that it gets.

use super::provider::whole;
use super::{MODEL, config_for};
use crate::harness::aws_account::AwsAccount;
use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::{http_response, json_response};
use crate::harness::{
    Gateway, PROTOCOLS, Request, ScriptedProvider, ScriptedResponse, body_of, config, eventually,
};
use chrono::{NaiveDateTime, TimeDelta, Utc};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const CANARY: &str = "caller-canary-0a7d";
pub(super) const LASTING: AwsAccount = AwsAccount {
    access_key_id: "AKIDCANARY51B7",
    secret_access_key: "secret+canary/wJalrXUtnFEMI",
    session_token: None,
    region: "eu-west-1",
    service: "bedrock",
};
pub(super) const TEMPORARY: AwsAccount = AwsAccount {
    session_token: Some("session-canary//AQoDYXdzEPT+/w=="),
    ..LASTING
};

/// A provider that takes what an account signed, and refuses all else as AWS does.
pub(super) async fn signed_bedrock(account: AwsAccount) -> ScriptedProvider {
    let respond = move |request: &str| match account.verify(request.as_bytes()) {
        Ok(()) => {
            let content = json!([{"text": "Hello."}]);
            json_response(200, whole(&content, "end_turn"))
        }
        Err(reason) => json_response(403, json!({"message": reason})),
    };
    ScriptedProvider::start(vec![ScriptedResponse::Call(Arc::new(respond))]).await
}

pub(super) fn signed_config(account: &AwsAccount, providers: &[&str]) -> Value {
    let mut config = config_for("chat", providers);
    for channel in config["channels"].as_object_mut().unwrap().values_mut() {
        channel["credential"] = account.credential();
        channel["models"] = json!({
            "demo-large": MODEL,
            "demo-small": "eu.amazon.nova-pro-v1:0",
        });
    }
    config
}

pub(super) fn question(model: &str, text: &str) -> Request {
    let messages = json!([{"role": "user", "content": text}]);
    let body = json!({"model": model, "messages": messages});
    Request::to(Protocol::Chat, body.to_string())
}

/// The value of a header of a request as it was received.
fn header<'r>(request: &'r str, name: &str) -> &'r str {
    let mut fields = request.lines().filter_map(|line| line.split_once(':'));
    let found = fields.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map_or("", |(_, value)| value.trim())
}

#[tokio::test]
async fn a_request_is_signed_over_the_path_and_the_body_that_are_sent() {
    for account in [LASTING, TEMPORARY] {
        let provider = signed_bedrock(account.clone()).await;
        let gateway = Gateway::start(&signed_config(&account, &[&provider.url()])).await;
        for (model, path) in [
            ("demo-small", "/model/eu.amazon.nova-pro-v1%3A0/converse"),
            ("demo-large", "inference-profile%2Feu.anthropic"),
        ] {
            let response = gateway.ask(&question(model, "Grüße")).await;
            assert_eq!(response.status, 200, "{}", response.text());
            let request = provider.requests().pop().unwrap();
            assert!(request.contains(path), "{request}");
        }
    }
}

#[tokio::test]
async fn what_another_key_signed_is_refused() {
    let other = AwsAccount {
        secret_access_key: "another+canary/wJalrXUtnFEMI",
        ..LASTING
    };
    let elsewhere = AwsAccount {
        region: "us-east-1",
        ..LASTING
    };
    for account in [other, elsewhere, TEMPORARY] {
        let provider = signed_bedrock(LASTING).await;
        let gateway = Gateway::start(&signed_config(&account, &[&provider.url()])).await;
        let response = gateway.ask(&question("demo-large", "Hi")).await;
        assert_ne!(response.status, 200, "{}", response.text());
        assert_eq!(provider.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_body_of_thirty_megabytes_is_signed() {
    let provider = signed_bedrock(LASTING).await;
    let gateway = Gateway::start(&signed_config(&LASTING, &[&provider.url()])).await;
    let text = "Signed. ".repeat(30 * 1_000_000 / 8);
    let response = gateway.ask(&question("demo-large", &text)).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert!(provider.requests().pop().unwrap().len() > text.len());
}

#[tokio::test]
async fn each_attempt_has_a_signature_of_its_own() {
    let provider = signed_bedrock(TEMPORARY).await;
    let url = provider.url();
    let gateway = Gateway::start(&signed_config(&TEMPORARY, &[&url, &url])).await;
    let failure = json_response(500, json!({"message": "try again"}));
    // The next attempt begins in another second, of which signatures have the time.
    let slow = ScriptedResponse::Wait(Duration::from_millis(1_100));
    provider.next(vec![slow, ScriptedResponse::Send(failure)]);
    let response = gateway.ask(&question("demo-large", "Hi")).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let requests = provider.requests();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        TEMPORARY.verify(request.as_bytes()).unwrap();
    }
    for name in ["x-amz-date", "authorization"] {
        let [one, other] = [0, 1].map(|at| header(&requests[at], name));
        assert_ne!(one, other, "{name}");
    }
}

#[tokio::test]
async fn the_time_of_a_provider_that_refuses_ours_is_that_of_later_signatures() {
    let provider = signed_bedrock(LASTING).await;
    let mut config = signed_config(&LASTING, &[&provider.url()]);
    config["channels"]["bedrock-0"]["health"]["credential_cool_down"] = json!("1ms");
    let gateway = Gateway::start(&config).await;
    let theirs = Utc::now() + TimeDelta::minutes(4);
    let body = json!({"message": "Signature expired: 1 is now earlier than 2"});
    let date = theirs.format("%a, %d %b %Y %H:%M:%S GMT");
    let headers = format!("Date: {date}\r\nContent-Type: application/json\r\n");
    let refusal = http_response(403, &headers, body.to_string());
    provider.next(vec![ScriptedResponse::Send(refusal)]);
    eventually("an accepted signature", async || {
        let response = gateway.ask(&question("demo-large", "Hi")).await;
        (response.status == 200).then_some(())
    })
    .await;
    let request = provider.requests().pop().unwrap();
    let time = NaiveDateTime::parse_from_str(header(&request, "x-amz-date"), "%Y%m%dT%H%M%SZ");
    let age = time.unwrap() - theirs.naive_utc();
    assert!((-1..60).contains(&age.num_seconds()), "{age}");
}

#[tokio::test]
async fn signatures_of_callers_are_no_keys_and_reach_no_provider() {
    let provider = signed_bedrock(LASTING).await;
    let mut config = signed_config(&LASTING, &[&provider.url()]);
    for route in ["messages", "responses"] {
        config::route(&mut config, route)["translate"] = json!(["converse"]);
    }
    let gateway = Gateway::start(&config).await;
    let scope = "20150830/eu-west-1/bedrock/aws4_request";
    let signature = format!(
        "AWS4-HMAC-SHA256 Credential={CANARY}/{scope}, SignedHeaders=host;x-amz-date, Signature={CANARY}"
    );
    for caller in PROTOCOLS {
        let request = Request::ask(caller).without("authorization");
        let request = request.header("Authorization", &signature);
        assert_error_body(caller, &gateway.ask(&request).await, 401);
    }
    assert_eq!(provider.requests().len(), 0);

    for caller in PROTOCOLS {
        let mut request = Request::to(caller, body_of(caller).to_string());
        request.target += &format!("?X-Amz-Signature={CANARY}&X-Amz-Date={CANARY}");
        for name in [
            "X-Amz-Date",
            "x-amz-content-sha256",
            "X-Amz-Security-Token",
            "x-amz-meta-canary",
            "x_amz_date",
        ] {
            request = request.header(name, CANARY);
        }
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let request = provider.requests().pop().unwrap().to_ascii_lowercase();
        assert!(!request.contains("canary-0a7d"), "{request}");
        assert!(!request.contains("x-amz-security-token"), "{request}");
    }
}

#[tokio::test]
async fn no_part_of_an_access_key_comes_back_from_a_provider_that_repeats_it() {
    let repeat: fn(&str) -> Vec<u8> = |request| {
        let secret = TEMPORARY.secret_access_key;
        let message = format!("bad request: {request} {secret}");
        json_response(400, json!({"message": message}))
    };
    let provider = ScriptedProvider::start(vec![ScriptedResponse::Answer(repeat)]).await;
    let gateway = Gateway::start(&signed_config(&TEMPORARY, &[&provider.url()])).await;
    let response = gateway.ask(&question("demo-large", "Hi")).await;
    assert_eq!(response.status, 400, "{}", response.text());
    let text = response.text();
    assert!(text.contains("bad request"), "{text}");
    for secret in ["AKIDCANARY51B7", "secret+canary", "session-canary"] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[tokio::test]
async fn a_large_body_that_no_filter_reads_is_read_whole_for_its_signature() {
    let provider = signed_bedrock(LASTING).await;
    let mut config = config::standard(&provider.url());
    let channel = config::channel(&provider.url(), &["chat"], LASTING.credential());
    config["channels"] = json!({"signed": channel});
    config["routes"] = json!([{
        "name": "uploads", "match": "POST /v1/uploads", "protocol": "chat",
        "request": ["authenticate", {"limit_body": "8MiB"}, "first_channel"],
    }]);
    let gateway = Gateway::start(&config).await;
    let written = gateway.output();
    let warning = "bodies of route `uploads` are read whole before they are sent, since channel `signed` signs them";
    assert!(written.contains(warning), "{written}");
    let body = "part ".repeat(1 << 18);
    for request in [
        Request::post("/v1/uploads?b=2&a=x%20y", body.clone()),
        Request::post("/v1/uploads?b=2&a=x%20y", body.clone()).chunked(10_000),
    ] {
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let request = provider.requests().pop().unwrap();
        assert!(request.ends_with(&body));
        assert_eq!(header(&request, "content-length"), body.len().to_string());
    }
}
