//! Tests that a caller's key is not forwarded, in any header or query member, and that other headers are.

use crate::harness::request::ANN;
use crate::harness::{Request, TestSetup};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const CANARY: &str = "credential-canary";

/// Headers that carry credentials by convention, or identify an account.
const CREDENTIAL_HEADERS: &[&str] = &[
    "api-key",
    "apikey",
    "Ocp-Apim-Subscription-Key",
    "Subscription-Key",
    "x-api-key",
    "xi-api-key",
    "x-goog-api-key",
    "x-litellm-api-key",
    "x-openai-key",
    "x-rapidapi-key",
    "x-functions-key",
    "x-auth-key",
    "x-access-key",
    "X-Secret-Key",
    "x-authorization",
    "x-forwarded-authorization",
    "x-serverless-authorization",
    "x-original-authorization",
    "proxy-authorization",
    "cf-aig-authorization",
    "authentication",
    "x-auth",
    "auth",
    "helicone-auth",
    "x-auth-user",
    "x-auth-token",
    "x-access-token",
    "x-token",
    "token",
    "private-token",
    "job-token",
    "x-amz-security-token",
    "X-Amz-Date",
    "x-amz-content-sha256",
    "x-csrf-token",
    "x-vault-token",
    "x-client-secret",
    "cf-access-client-secret",
    "x-api-secret",
    "x-password",
    "x-credential",
    "x-amz-credentials",
    "x-amzn-oidc-data",
    "x-amzn-oidc-accesstoken",
    "x-goog-iap-jwt-assertion",
    "x-jwt",
    "cookie",
    "cookie2",
    "x-session-cookie",
    "x-client-cert",
    "X_Authorization",
    "Private_Token",
    "x__api__key",
    // Headers that select the account to charge.
    "X-DashScope-WorkSpace",
    "openai-organization",
    "openai-project",
    "x-goog-user-project",
    "anthropic-workspace-id",
];

/// Headers that affect the provider, or are not secret.
const OTHER_HEADERS: &[&str] = &[
    "idempotency-key",
    "x-idempotency-key",
    "anthropic-beta",
    "openai-beta",
    "session_id",
    "x-claude-code-session-id",
    "conversation_id",
    "originator",
    "traceparent",
    "tracestate",
    "baggage",
    "x-client-request-id",
    "x-stainless-retry-count",
    "x-dashscope-async",
    "x-dashscope-datainspection",
    "http-referer",
    "x-title",
    "x-author",
    "x-keyboard",
    "x-max-tokens",
    "x-monkey",
    "x-turkey",
];

const CREDENTIAL_MEMBERS: &[&str] = &[
    "key",
    "KEY",
    "api_key",
    "api-key",
    "apikey",
    "apiKey",
    "x-api-key",
    "subscription-key",
    "access_token",
    "accessToken",
    "token",
    "auth_token",
    "auth",
    "authorization",
    "password",
    "client_secret",
    "sig",
    "jwt",
    "X-Amz-Signature",
    "X-Amz-Credential",
    "api%5Fkey",
    "%61pi_key",
    "%6B%65%79",
    "access%5ftoken",
    "api_key%5B%5D",
    "token[]",
];

const OTHER_MEMBERS: &[&str] = &[
    "beta",
    "limit",
    "after_id",
    "include[]",
    "api-version",
    "page_token",
    "pageToken",
    "next_page_token",
    "continuation_token",
    "idempotency_key",
    "keyword",
    "monkey",
    "author",
    "signed",
];

#[tokio::test]
async fn headers_that_carry_credentials_by_convention_go_to_no_provider() {
    let world = TestSetup::start().await;
    let mut request = Request::ask(Protocol::Chat);
    // Each has its own value: one that is also the caller's key would be removed wherever it stands.
    let canary = |name: &str| format!("{CANARY}-{name}");
    for name in CREDENTIAL_HEADERS {
        request = request.header(name, &canary(name));
    }
    for name in OTHER_HEADERS {
        request = request.header(name, "kept");
    }
    let answer = world.ask(&request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let headers = world.simulator.last().await["headers"].clone();
    let shown = CREDENTIAL_HEADERS
        .iter()
        .filter(|name| headers[name.to_ascii_lowercase()] == canary(name));
    assert_eq!(shown.collect::<Vec<_>>(), Vec::<&&str>::new(), "{headers}");
    let lost = OTHER_HEADERS
        .iter()
        .filter(|name| headers[**name] != "kept");
    assert_eq!(lost.collect::<Vec<_>>(), Vec::<&&str>::new(), "{headers}");
}

#[tokio::test]
async fn query_members_that_carry_credentials_by_convention_go_to_no_provider() {
    let world = TestSetup::start().await;
    for (separator, members) in [("&", CREDENTIAL_MEMBERS), (";", CREDENTIAL_MEMBERS)] {
        for name in members {
            for (query, kept) in [
                (format!("{name}={CANARY}"), ""),
                (format!("{name}={CANARY}{separator}beta=true"), "?beta=true"),
                (format!("beta=true{separator}{name}={CANARY}"), "?beta=true"),
                (
                    format!("a=1{separator}{name}={CANARY}{separator}b=%20+%zz"),
                    match separator {
                        "&" => "?a=1&b=%20+%zz",
                        _ => "?a=1;b=%20+%zz",
                    },
                ),
            ] {
                assert_eq!(path_sent(&world, &query).await, path_with(kept), "{query}");
            }
        }
    }
    for name in OTHER_MEMBERS {
        let query = format!("{name}=1&x=&=y&&{name}");
        assert_eq!(
            path_sent(&world, &query).await,
            path_with(&format!("?{query}"))
        );
    }
}

#[tokio::test]
async fn the_callers_own_key_stays_here_under_whatever_name() {
    let world = TestSetup::start().await;
    let encoded = ANN.replace('-', "%2D");
    let request = Request::ask(Protocol::Chat)
        .header("x-own-field", ANN)
        .header("x-own-scheme", &format!("Bearer {ANN}"))
        .header("x-own-else", "kept");
    for query in [format!("mine={ANN}&a=1"), format!("a=1&mine={encoded}")] {
        let mut request = request.clone();
        request.target = format!("{}?{query}", request.target);
        assert_eq!(world.ask(&request).await.status, 200);
        let record = world.simulator.last().await;
        assert!(!record.to_string().contains(ANN), "{record}");
        assert_eq!(record["path"], path_with("?a=1"));
        assert_eq!(record["headers"]["x-own-else"], "kept");
    }
}

#[tokio::test]
async fn a_channels_own_headers_may_have_such_names() {
    let world = TestSetup::with(|config| {
        config["channels"]["openai"]["headers"] =
            json!({"api-key": "operators", "X-DashScope-WorkSpace": "ws"});
    })
    .await;
    let request = Request::ask(Protocol::Chat)
        .header("api-key", CANARY)
        .header("x-dashscope-workspace", CANARY);
    assert_eq!(world.ask(&request).await.status, 200);
    let headers = world.simulator.last().await["headers"].clone();
    assert_eq!(headers["api-key"], "operators");
    assert_eq!(headers["x-dashscope-workspace"], "ws");
}

async fn path_sent(world: &TestSetup, query: &str) -> Value {
    let mut request = Request::ask(Protocol::Chat);
    request.target = format!("{}?{query}", request.target);
    let answer = world.ask(&request).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    world.simulator.last().await["path"].clone()
}

fn path_with(query: &str) -> String {
    format!("/v1/chat/completions{query}")
}
