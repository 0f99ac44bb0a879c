//! Tests of credentials that a token endpoint issues: when they are fetched, how long they are used, and what happens without.

use crate::configuration::check::{changed, check};
use crate::harness::config::{self, channel};
use crate::harness::error_shape::assert_error_body;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::BINARY;
use crate::harness::token_endpoint::{TOKEN, TokenEndpoint};
use crate::harness::{Connection, Gateway, Request, Simulator, WholeResponse, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

const SECRET: &str = "client-canary:2b/9+";

fn oauth2(endpoint: &TokenEndpoint) -> Value {
    json!({"oauth2": {
        "token_url": format!("{}/oauth2/token", endpoint.url()),
        "client_id": "gate way",
        "client_secret": SECRET,
        "scope": "models.read models/.default",
        "audience": "https://models.example",
    }})
}

/// One channel with this credential at the provider that takes the tokens of `endpoint`.
fn config_with(endpoint: &TokenEndpoint, credential: Value) -> Value {
    let mut config = config::standard(&endpoint.provider.url());
    config["channels"] = json!({
        "tokens": channel(&endpoint.provider.url(), &["chat"], credential),
    });
    config["channels"]["tokens"]["health"] =
        json!({"cool_down": "10ms", "credential_cool_down": "10ms"});
    config
}

fn chat() -> Request {
    Request::ask(Protocol::Chat)
}

/// The responses to so many requests at the same time.
async fn ask_at_once(gateway: &Gateway, count: usize) -> Vec<WholeResponse> {
    let address = gateway.address;
    let asked = (0..count).map(|_| async move { Connection::to(address).await.ask(&chat()).await });
    asked.collect::<JoinSet<_>>().join_all().await
}

#[tokio::test]
async fn requests_at_the_start_wait_for_one_token_which_all_of_them_use() {
    let endpoint = TokenEndpoint::start(3_600).await;
    let gateway = Gateway::start(&config_with(&endpoint, oauth2(&endpoint))).await;
    for response in ask_at_once(&gateway, 20).await {
        assert_eq!(response.status, 200, "{}", response.text());
        assert!(!response.text().contains(TOKEN), "{}", response.text());
        assert!(
            response.text().contains("You sent Bearer ****"),
            "{}",
            response.text()
        );
    }
    assert_eq!((endpoint.issued(), endpoint.refused()), (1, 0));
    let request = endpoint.last_request();
    assert!(
        request.starts_with("POST /oauth2/token HTTP/1.1\r\n"),
        "{request}"
    );
    // `gate%20way:client-canary%3A2b%2F9%2B`, RFC 6749, section 2.3.1.
    let basic = "Basic Z2F0ZSUyMHdheTpjbGllbnQtY2FuYXJ5JTNBMmIlMkY5JTJC";
    assert!(
        request
            .to_lowercase()
            .contains(&format!("authorization: {basic}").to_lowercase())
    );
    assert!(request.ends_with(
        "grant_type=client_credentials&scope=models.read%20models%2F.default&audience=https%3A%2F%2Fmodels.example"
    ), "{request}");
    let page = gateway.page("GET", "/config").await;
    let channels = gateway.page("GET", "/channels").await;
    for text in [gateway.output(), page.text(), channels.text()] {
        assert!(
            !text.contains(TOKEN) && !text.contains("client-canary"),
            "{text}"
        );
    }
    assert_eq!(
        channels.json()["channels"][0]["credentials"][0]["issued"]["valid_seconds"]
            .as_u64()
            .unwrap()
            / 100,
        35
    );
}

#[tokio::test]
async fn a_token_is_refreshed_before_it_expires_and_no_request_fails() {
    let endpoint = TokenEndpoint::start(4).await;
    let mut credential = oauth2(&endpoint);
    credential["oauth2"]["client_authentication"] = json!("post");
    let gateway = Gateway::start(&config_with(&endpoint, credential)).await;
    let until = Instant::now() + Duration::from_secs(9);
    let mut clients = JoinSet::new();
    let address = gateway.address;
    for _ in 0..4 {
        clients.spawn(async move {
            let mut asked = 0;
            while Instant::now() < until {
                let response = Connection::to(address).await.ask(&chat()).await;
                assert_eq!(response.status, 200, "{}", response.text());
                asked += 1;
                sleep(Duration::from_millis(20)).await;
            }
            asked
        });
    }
    let asked: usize = clients.join_all().await.iter().sum();
    assert!(asked > 200, "{asked}");
    assert_eq!(endpoint.refused(), 0);
    assert!(
        (3..=5).contains(&endpoint.issued()),
        "{}",
        endpoint.issued()
    );
    let form = endpoint.last_request();
    assert!(
        form.contains("client_id=gate%20way&client_secret=client-canary%3A2b%2F9%2B"),
        "{form}"
    );
    assert!(!form.to_lowercase().contains("\r\nauthorization"), "{form}");
}

#[tokio::test]
async fn a_token_is_used_to_its_end_while_its_server_is_down_and_then_other_channels_are() {
    let endpoint = TokenEndpoint::start(6).await;
    let simulator = Simulator::start().await;
    let mut config = config_with(&endpoint, oauth2(&endpoint));
    let mut other = channel(
        &simulator.url(),
        &["chat"],
        json!({"bearer": "sk-other-canary"}),
    );
    other["tier"] = json!(1);
    config["channels"]["other"] = other;
    let gateway = Gateway::start(&config).await;
    let served_by = async || {
        let response = gateway.ask(&chat()).await;
        assert_eq!(response.status, 200, "{}", response.text());
        gateway.log_of(&response).await["channel"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(served_by().await, "tokens");
    endpoint.set_down(true);
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(5_000) {
        assert_eq!(served_by().await, "tokens");
        sleep(Duration::from_millis(100)).await;
    }
    eventually("the other channel", async || {
        (served_by().await == "other").then_some(())
    })
    .await;
    assert_eq!(endpoint.refused(), 0);
    let findings = gateway.page("GET", "/findings").await.json();
    let findings = findings["findings"].as_array().unwrap();
    let found = findings
        .iter()
        .find(|finding| finding["code"] == "credential_not_issued");
    let found = found.unwrap_or_else(|| panic!("{findings:#?}"));
    let cause = found["cause"].as_str().unwrap();
    assert!(
        cause.contains("status 503: temporarily_unavailable: Try later."),
        "{cause}"
    );
    assert_eq!(found["severity"], "critical");
    let metrics = gateway.metrics().await;
    let reason = [("channel", "tokens"), ("reason", "credential_unavailable")];
    assert!(metrics.sum("headgate_cool_downs_total", &reason) >= 1.0);
    endpoint.set_down(false);
    eventually("the token", async || {
        (served_by().await == "tokens").then_some(())
    })
    .await;
}

#[tokio::test]
async fn without_a_token_the_caller_learns_that_the_gateway_has_none() {
    let endpoint = TokenEndpoint::start(3_600).await;
    endpoint.set_down(true);
    let gateway = Gateway::start(&config_with(&endpoint, oauth2(&endpoint))).await;
    let response = gateway.ask(&chat()).await;
    assert_error_body(Protocol::Chat, &response, 502);
    assert!(
        response.text().contains("no valid credential"),
        "{}",
        response.text()
    );
    let line = eventually("the log line", async || {
        let lines = &gateway.process.stderr;
        lines.find_json("message", "attempt failed")
    })
    .await;
    assert_eq!(line["outcome"], "credential_unavailable", "{line}");
    assert!(line["detail"].to_string().contains("Try later."), "{line}");
    assert_eq!(endpoint.provider.requests().len(), 0);
}

#[tokio::test]
async fn a_strict_check_fetches_a_token_and_prints_why_it_gets_none() {
    let endpoint = TokenEndpoint::start(3_600).await;
    let folder = folder_with_schemas();
    let config = config_with(&endpoint, oauth2(&endpoint));
    let file = folder.write("routes.yaml", format!("{config:#}"));
    for is_down in [false, true] {
        endpoint.set_down(is_down);
        let mut check = Command::new(BINARY);
        check.arg("check").arg("--strict").arg(&file);
        let output = tokio::task::spawn_blocking(move || check.output().unwrap());
        let output = output.await.unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(
            text.contains("status 503: temporarily_unavailable: Try later."),
            is_down,
            "{text}"
        );
        assert_eq!(
            text.contains("check `credential` of the channel"),
            is_down,
            "{text}"
        );
        assert_eq!(output.status.success(), !is_down, "{text}");
    }
    assert_eq!(endpoint.issued(), 1);
}

#[tokio::test]
async fn a_token_that_the_provider_refuses_is_refreshed_once_and_the_request_sent_again() {
    let endpoint = TokenEndpoint::start(3_600).await;
    let gateway = Gateway::start(&config_with(&endpoint, oauth2(&endpoint))).await;
    assert_eq!(gateway.ask(&chat()).await.status, 200);
    sleep(Duration::from_secs(6)).await;
    endpoint.revoke();
    for response in ask_at_once(&gateway, 5).await {
        assert_eq!(response.status, 200, "{}", response.text());
    }
    assert_eq!(endpoint.issued(), 2);
    // A token that is refused at once was refused for another reason than its age.
    endpoint.revoke();
    assert_eq!(gateway.ask(&chat()).await.status, 502);
    assert_eq!(endpoint.issued(), 2);
    // What is refused again is not sent a third time.
    sleep(Duration::from_secs(6)).await;
    endpoint.set_lifetime(0);
    endpoint.revoke();
    let before = endpoint.refused();
    assert_eq!(gateway.ask(&chat()).await.status, 502);
    assert!(
        endpoint.refused() - before <= 2,
        "{}",
        endpoint.refused() - before
    );
}

#[tokio::test]
async fn a_reload_fetches_a_token_only_if_its_settings_have_changed() {
    let endpoint = TokenEndpoint::start(3_600).await;
    let mut config = config_with(&endpoint, oauth2(&endpoint));
    let gateway = Gateway::start(&config).await;
    assert_eq!(gateway.ask(&chat()).await.status, 200);
    config["channels"]["tokens"]["weight"] = json!(7);
    gateway.reload(&config).await;
    assert_eq!(gateway.ask(&chat()).await.status, 200);
    assert_eq!(endpoint.issued(), 1);
    config["channels"]["tokens"]["credential"]["oauth2"]["scope"] = json!("other");
    gateway.reload(&config).await;
    assert_eq!(gateway.ask(&chat()).await.status, 200);
    assert_eq!(endpoint.issued(), 2);
    assert!(endpoint.last_request().contains("scope=other&"));
}

#[test]
fn a_credential_that_cannot_work_is_refused_where_it_is_wrong() {
    const OAUTH2: &str = "client_id: a, client_secret: b}}";
    for (credential, key, reason) in [
        (
            &*format!("{{oauth2: {{token_url: 'http://idp.example/token', {OAUTH2}"),
            "token_url",
            "a token endpoint must be a URL with https",
        ),
        (
            &*format!("{{oauth2: {{token_url: idp.example, {OAUTH2}"),
            "token_url",
            "must start with `https://`",
        ),
        (
            "{azure: {tenant: t, client_id: a}}",
            "azure",
            "exactly one way",
        ),
        (
            "{azure: {client_secret: s, client_id: a}}",
            "azure",
            "`tenant` and `client_id` are missing",
        ),
        (
            "{azure: {tenant: a/b, client_id: a, client_secret: s}}",
            "tenant",
            "a tenant is an id or a domain",
        ),
        (
            "{azure: {tenant: t, managed_identity: true}}",
            "tenant",
            "a managed identity",
        ),
        (
            "{azure: {tenant: t, client_id: a, certificate: missing.pem}}",
            "certificate",
            "cannot read",
        ),
        (
            "{aws: {region: eu-west-1}}",
            "aws",
            "`access_key_id` and `secret_access_key`",
        ),
        (
            "{aws: {region: eu-west-1, container: true, instance: true}}",
            "aws",
            "exactly one access key or source",
        ),
        (
            "{aws: {region: eu-west-1, profile: missing-of-tests}}",
            "profile",
            "missing-of-tests",
        ),
        (
            "{aws: {region: eu-west-1, container: true}}",
            "container",
            "`AWS_CONTAINER_CREDENTIALS_RELATIVE_URI`",
        ),
        (
            "{aws: {region: eu-west-1, instance: true, assume_role: {role_arn: gateway}}}",
            "role_arn",
            "not the ARN of a role",
        ),
        ("{gcp: {}}", "gcp", "exactly one source of tokens"),
        (
            "{gcp: {credentials_file: missing.json}}",
            "credentials_file",
            "cannot read",
        ),
        (
            "{gcp: {credentials_file: routes.yaml}}",
            "credentials_file",
            "not one of Google's credentials",
        ),
    ] {
        let output = check(&changed(r#"{bearer: "${KEY}"}"#, credential));
        assert!(!output.success, "{credential}");
        let text = &output.stderr;
        assert!(
            text.contains(key) && text.contains(reason),
            "{credential}: {text}"
        );
    }
}
