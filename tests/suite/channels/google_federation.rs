//! Tests of tokens of Google for workloads of other clouds and clusters: each request is that of Google's documentation.

use super::issued_credentials_of_clouds::{assert_serves, form_of, gateway_with};
use crate::harness::config::{self, channel};
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::http_response::json_response;
use crate::harness::process::BINARY;
use crate::harness::token_endpoint::{TOKEN, TokenEndpoint};
use crate::harness::{Gateway, Request, ScriptedProvider, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::process::Command;

const AUDIENCE: &str =
    "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const WORKLOAD_TOKEN: &str = "workload-canary.b1.c2";

/// The file that gcloud writes, with a token from this source.
fn account(source: Value) -> Value {
    json!({
        "universe_domain": "googleapis.com",
        "type": "external_account",
        "audience": AUDIENCE,
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
        "credential_source": source,
    })
}

fn impersonating(mut account: Value, lifetime: Value) -> Value {
    account["service_account_impersonation_url"] = json!(
        "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/gateway@p.iam.gserviceaccount.com:generateAccessToken"
    );
    account["service_account_impersonation"] = lifetime;
    account
}

fn credential(endpoint: &TokenEndpoint, others: Value) -> Value {
    let mut gcp = json!({
        "credentials_file": "account.json",
        "token_url": format!("{}/v1/token", endpoint.url()),
    });
    for (key, value) in others.as_object().unwrap() {
        gcp[key] = value.clone();
    }
    json!({"gcp": gcp})
}

fn assert_reveals_nothing(gateway: &Gateway) {
    let output = gateway.process.stderr.all().concat();
    assert!(
        !output.contains("workload-canary") && !output.contains(TOKEN),
        "{output}"
    );
}

#[tokio::test]
async fn the_token_of_a_file_is_exchanged_each_time() {
    let endpoint = TokenEndpoint::start(2).await;
    let folder = folder_with_schemas();
    folder.write("token", format!("{WORKLOAD_TOKEN}\n"));
    folder.write(
        "account.json",
        account(json!({"file": "token"})).to_string(),
    );
    let gateway = gateway_with(&endpoint, folder, credential(&endpoint, json!({})), &[]).await;
    assert_serves(&gateway).await;
    let (line, form) = form_of(&endpoint.last_request());
    assert_eq!(line, "POST /v1/token HTTP/1.1");
    let expected = [
        ("audience", AUDIENCE),
        (
            "grant_type",
            "urn:ietf:params:oauth:grant-type:token-exchange",
        ),
        (
            "requested_token_type",
            "urn:ietf:params:oauth:token-type:access_token",
        ),
        ("scope", SCOPE),
        ("subject_token", WORKLOAD_TOKEN),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"),
    ];
    let form: Vec<_> = form
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    assert_eq!(form, expected);
    gateway.folder.write("token", "workload-canary.next");
    eventually("the next token", async || {
        let (_, form) = form_of(&endpoint.last_request());
        (form["subject_token"] == "workload-canary.next").then_some(())
    })
    .await;
    assert_reveals_nothing(&gateway);
}

#[tokio::test]
async fn the_token_of_a_server_is_asked_for_with_the_headers_of_the_file() {
    let endpoint = TokenEndpoint::start(3_600).await;
    let token = json!({"value": WORKLOAD_TOKEN, "count": 1});
    let issuer = ScriptedProvider::answering(json_response(200, token)).await;
    let folder = folder_with_schemas();
    let source = json!({
        "url": "https://tokens.example/issue?audience=x",
        "headers": {"Authorization": "Bearer canary-of-the-issuer"},
        "format": {"type": "json", "subject_token_field_name": "value"},
    });
    folder.write("account.json", account(source).to_string());
    let url = format!("http://{}/issue?audience=google&version=1", issuer.address);
    let credential = credential(&endpoint, json!({"subject_token_url": url}));
    let gateway = gateway_with(&endpoint, folder, credential, &[]).await;
    assert_serves(&gateway).await;
    let request = issuer.requests().pop().unwrap();
    assert!(
        request.starts_with("GET /issue?audience=google&version=1 HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request
            .to_lowercase()
            .contains("\r\nauthorization: bearer canary-of-the-issuer\r\n"),
        "{request}"
    );
    let (_, form) = form_of(&endpoint.last_request());
    assert_eq!(form["subject_token"], WORKLOAD_TOKEN);
    assert_reveals_nothing(&gateway);
}

#[tokio::test]
async fn a_server_that_repeats_the_headers_of_the_file_reveals_them_to_nobody() {
    let endpoint = TokenEndpoint::start(3_600).await;
    let refusal = json!({"error": "denied", "message": "no workload-canary.h1 is known here"});
    let issuer = ScriptedProvider::answering(json_response(403, refusal)).await;
    let folder = folder_with_schemas();
    let source = json!({
        "url": "https://tokens.example/issue",
        "headers": {"Authorization": "Bearer workload-canary.h1"},
    });
    folder.write("account.json", account(source).to_string());
    let url = format!("http://{}/issue", issuer.address);
    let credential = credential(&endpoint, json!({"subject_token_url": url}));
    let gateway = gateway_with(&endpoint, folder, credential, &[]).await;
    let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(response.status, 502, "{}", response.text());
    let line = eventually("the log line", async || {
        let lines = &gateway.process.stderr;
        lines.find_json("message", "attempt failed")
    })
    .await;
    assert!(
        line["detail"].to_string().contains("status 403: denied"),
        "{line}"
    );
    assert_reveals_nothing(&gateway);
}

#[tokio::test]
async fn a_service_account_is_impersonated_with_the_exchanged_token() {
    for (lifetime, seconds) in [
        (json!({}), "3600s"),
        (json!({"token_lifetime_seconds": 900}), "900s"),
    ] {
        let endpoint = TokenEndpoint::start(3_600).await;
        // The provider takes the first token of the endpoint only.
        let token =
            json!({"accessToken": format!("{TOKEN}-1"), "expireTime": "2199-10-02T15:01:23Z"});
        let iam = ScriptedProvider::answering(json_response(200, token)).await;
        let folder = folder_with_schemas();
        folder.write("token", WORKLOAD_TOKEN);
        let account = impersonating(account(json!({"file": "token"})), lifetime);
        folder.write("account.json", account.to_string());
        let url = format!("http://{}/v1/x:generateAccessToken", iam.address);
        let others = json!({"impersonation_url": url, "scope": "https://a.example/one https://a.example/two"});
        let gateway = gateway_with(&endpoint, folder, credential(&endpoint, others), &[]).await;
        assert_serves(&gateway).await;
        let (_, form) = form_of(&endpoint.last_request());
        assert_eq!(form["scope"], SCOPE);
        let request = iam.requests().pop().unwrap();
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with("POST /v1/x:generateAccessToken HTTP/1.1\r\n"),
            "{head}"
        );
        assert!(head.contains(&format!("Bearer {TOKEN}-1")), "{head}");
        let body: Value = serde_json::from_str(body).unwrap();
        let scopes = ["https://a.example/one", "https://a.example/two"];
        assert_eq!(body, json!({"scope": scopes, "lifetime": seconds}));
        assert_reveals_nothing(&gateway);
    }
}

#[test]
fn a_file_that_asks_others_than_googles_and_azures_servers_is_refused() {
    let folder = folder_with_schemas();
    let with = |name: &str, value: Value| {
        let mut account = account(json!({"file": "token"}));
        account[name] = value;
        account
    };
    for (account, reason) in [
        (
            with("token_url", json!("https://sts.evil.example/v1/token")),
            "not at Google",
        ),
        (
            with("token_url", json!("http://sts.googleapis.com/v1/token")),
            "not at Google",
        ),
        (
            with(
                "service_account_impersonation_url",
                json!("https://evil.example/x:generateAccessToken"),
            ),
            "write it as `impersonation_url`",
        ),
        (
            account(json!({"executable": {"command": "/bin/true"}})),
            "`executable`",
        ),
        (
            account(json!({"environment_id": "aws1", "url": "http://169.254.169.254/x"})),
            "`environment_id`",
        ),
        (
            account(json!({"url": "https://evil.example/token"})),
            "write it as `subject_token_url`",
        ),
        (
            account(json!({"url": "http://169.254.169.254.evil.example/"})),
            "write it as `subject_token_url`",
        ),
        (account(json!({})), "neither, or both"),
        (
            account(json!({"file": "token", "format": {"type": "json"}})),
            "`subject_token_field_name`",
        ),
        (
            account(json!({"file": "token", "format": {"type": "xml"}})),
            "`xml`",
        ),
        (
            json!({"type": "external_account"}),
            "missing field `audience`",
        ),
    ] {
        assert_refused(&folder, &account, reason);
    }
}

fn assert_refused(folder: &Folder, account: &Value, reason: &str) {
    folder.write("account.json", account.to_string());
    let mut config = config::standard("https://models.example");
    let credential = json!({"gcp": {"credentials_file": "account.json"}});
    config["channels"] = json!({"cloud": channel("https://models.example", &["chat"], credential)});
    folder.write("routes.yaml", format!("{config:#}"));
    let output = Command::new(BINARY)
        .args(["check", "routes.yaml"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && text.contains(reason),
        "{account}: {text}"
    );
}
