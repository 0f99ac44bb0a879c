//! Tests of `response_headers`: which of a provider's headers callers get.

use crate::configuration::check::{changed, check};
use crate::harness::http_response::http_response;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const SUCCESS: &str = r#"{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#;
const STREAM: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const ERROR: &str =
    r#"{"error":{"message":"`temperature` is too high","type":"invalid_request_error"}}"#;

/// What a provider may send besides the framing.
const HEADERS: [(&str, &str); 23] = [
    ("anthropic-ratelimit-requests-limit", "60"),
    ("Anthropic-RateLimit-Tokens-Remaining", "9"),
    ("x-ratelimit-limit-requests", "70"),
    ("x-region", "eu"),
    ("x-region", "us"),
    ("x-reveals", config::CREDENTIALS[0]),
    ("x-hop", "1"),
    ("x-accel-redirect", "/etc/passwd"),
    ("x-should-retry", "true"),
    ("x-request-id", "req_of_the_provider"),
    ("x-headgate-attempts", "9"),
    ("x-api-key", "provider-key"),
    ("x-amz-security-token", "t"),
    ("set-cookie", "a=b"),
    ("access-control-allow-origin", "*"),
    ("location", "https://elsewhere.example/"),
    ("alt-svc", "h3=\":443\""),
    ("strict-transport-security", "max-age=1"),
    ("content-security-policy", "default-src 'none'"),
    ("openai-organization", "org"),
    ("cf-ray", "1"),
    ("server", "provider"),
    ("openai-version", "2020-10-01"),
];

fn response(status: u16, content_type: &str, body: &str) -> Vec<ScriptedResponse> {
    let mut headers = format!("content-type: {content_type}\r\nconnection: keep-alive, x-hop\r\n");
    for (name, value) in HEADERS {
        headers += &format!("{name}: {value}\r\n");
    }
    vec![ScriptedResponse::Send(http_response(
        status, &headers, body,
    ))]
}

async fn gateway(provider: &ScriptedProvider, patterns: Value) -> Gateway {
    let mut config = config::standard(&provider.url());
    config::without_cool_downs(&mut config);
    config["channels"]["openai"]["response_headers"] = patterns;
    Gateway::start(&config).await
}

#[tokio::test]
async fn callers_get_what_is_listed_and_nothing_that_never_reaches_them() {
    let provider = ScriptedProvider::start(vec![]).await;
    for (patterns, shown) in [
        (json!([]), &[][..]),
        (
            json!(["anthropic-ratelimit-*"]),
            &[
                "anthropic-ratelimit-requests-limit",
                "anthropic-ratelimit-tokens-remaining",
            ],
        ),
        (
            json!(["X-Region", "cf-ray", "openai-processing-ms"]),
            &["cf-ray", "x-region"],
        ),
        (
            // As wide as a list can be written.
            json!(["a*", "c*", "l*", "o*", "s*", "x*"]),
            &[
                "anthropic-ratelimit-requests-limit",
                "anthropic-ratelimit-tokens-remaining",
                "cf-ray",
                "openai-organization",
                "server",
                "x-ratelimit-limit-requests",
                "x-region",
            ],
        ),
    ] {
        let gateway = gateway(&provider, patterns.clone()).await;
        for (status, content_type, body, is_stream) in [
            (200, "application/json", SUCCESS, false),
            (200, "text/event-stream", STREAM, true),
            (400, "application/json", ERROR, false),
        ] {
            provider.next(response(status, content_type, body));
            let request = match is_stream {
                true => Request::ask_stream(Protocol::Chat),
                false => Request::ask(Protocol::Chat),
            };
            let answer = gateway.ask(&request).await;
            let mut names: Vec<&str> = answer.headers.names().collect();
            let always = [
                "content-type",
                "content-length",
                "transfer-encoding",
                "date",
                "connection",
                "x-request-id",
                "openai-version",
                "x-should-retry",
                // Those of a stream.
                "cache-control",
                "x-accel-buffering",
            ];
            names.retain(|name| !always.contains(name));
            names.sort_unstable();
            names.dedup();
            assert_eq!(names, shown, "{patterns} {status}");
            let own_id = answer.headers.get("x-request-id");
            assert!(
                own_id.is_some_and(|id| id != "req_of_the_provider"),
                "{own_id:?}"
            );
            let regions = answer.headers.names().filter(|name| *name == "x-region");
            let expected = if shown.contains(&"x-region") { 2 } else { 0 };
            assert_eq!(regions.count(), expected, "{patterns} {status}");
        }
    }
}

#[tokio::test]
async fn the_gateways_own_limits_take_precedence_over_those_of_the_provider() {
    let provider = ScriptedProvider::start(vec![]).await;
    let mut config = config::standard(&provider.url());
    config["channels"]["openai"]["response_headers"] = json!(["x-ratelimit-*"]);
    config["callers"][0]["limits"] = json!({"requests_per_minute": 1234});
    let request = config::route(&mut config, "chat")["request"]
        .as_array_mut()
        .unwrap();
    request.push(json!("rate_limit"));
    let gateway = Gateway::start(&config).await;
    provider.next(response(200, "application/json", SUCCESS));
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(
        answer.headers.get("x-ratelimit-limit-requests"),
        Some("1234")
    );
}

#[test]
fn what_never_reaches_callers_cannot_be_listed() {
    for (pattern, reason) in [
        ("*", "an asterisk alone shows everything"),
        ("x y", "expected a header name"),
        ("x-*-limit", "expected a header name"),
        ("connection", "the connection to the provider"),
        ("Transfer-Encoding", "the connection to the provider"),
        ("via", "the connection to the provider"),
        ("content-length", "describes the body"),
        ("content-encoding", "describes the body"),
        ("location", "the gateway's own origin"),
        ("Access-Control-*", "the gateway's own origin"),
        (
            "content-security-policy-report-only",
            "the gateway's own origin",
        ),
        ("x-should-retry", "the gateway sets it itself"),
        ("x-request-id", "the gateway sets it itself"),
        ("x-headgate-*", "the gateway sets it itself"),
        ("set-cookie", "carries a credential"),
        ("x-accel-redirect", "would obey it"),
        ("www-authenticate", "carries a credential"),
        ("x-api-key", "carries a credential"),
    ] {
        let list = format!("    protocols: [chat]\n    response_headers: [\"{pattern}\"]\n");
        let printed = check(&changed("    protocols: [chat]\n", &list));
        assert!(!printed.success, "{pattern}");
        assert!(
            printed.stderr.contains(reason),
            "{pattern}: {}",
            printed.stderr
        );
    }
}
