//! Each fault of a provider, byte for byte, on each endpoint: what the caller gets, and which of two channels were asked.
//!
//! `cargo test --test suite channels::fault_matrix -- --nocapture` prints the matrix.

use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::typed_response;
use crate::harness::paid::{CreateShape, error_code};
use crate::harness::request::body_of;
use crate::harness::scripted::ScriptedResponse::{self, Close, Hang, Reset, Send};
use crate::harness::{Gateway, Request, ScriptedProvider, Simulator, WholeResponse, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// What a caller gets if the first of two channels has a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    /// The response of the second channel.
    NextChannel,
    /// What the first channel sent before it stopped, without a clean end.
    CutOff,
    /// The provider's refusal, and the second channel is not asked.
    Refusal(u16),
    /// An error of the gateway with this status and code, and the second channel is not asked.
    Error(u16, &'static str),
}

use Outcome::{CutOff, Error, NextChannel, Refusal};

/// Name, what the provider does, and the outcome of a text and of a paid create.
type Fault = (
    &'static str,
    fn() -> Vec<ScriptedResponse>,
    Outcome,
    Outcome,
);

const UNKNOWN: Outcome = Error(504, "outcome_unknown");
const FAILED: Outcome = Error(502, "upstream_error");
const INVALID: Outcome = Error(502, "invalid_upstream_response");

const FAULTS: [Fault; 28] = [
    (
        "closes before the head",
        || vec![Close],
        NextChannel,
        UNKNOWN,
    ),
    (
        "resets before the head",
        || vec![Reset],
        NextChannel,
        UNKNOWN,
    ),
    ("never responds", || vec![Hang], NextChannel, UNKNOWN),
    (
        "is no HTTP server",
        || raw("SSH-2.0-OpenSSH_9.2\r\n"),
        NextChannel,
        UNKNOWN,
    ),
    (
        "closes within the head",
        || raw("HTTP/1.1 200 OK\r\nContent-Ty"),
        NextChannel,
        UNKNOWN,
    ),
    (
        "stops within the head",
        || stops("HTTP/1.1 200 OK\r\nContent-Ty"),
        NextChannel,
        UNKNOWN,
    ),
    ("has a head without end", endless_head, NextChannel, UNKNOWN),
    (
        "has an invalid status",
        || raw("HTTP/1.1 20 OK\r\n\r\n"),
        NextChannel,
        UNKNOWN,
    ),
    (
        "closes after 100 Continue",
        || raw("HTTP/1.1 100 Continue\r\n\r\n"),
        NextChannel,
        UNKNOWN,
    ),
    (
        "redirects",
        || raw("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"),
        NextChannel,
        FAILED,
    ),
    (
        "400",
        || refuses(400, "invalid_value"),
        Refusal(400),
        Refusal(400),
    ),
    (
        "401",
        || refuses(401, "invalid_api_key"),
        NextChannel,
        NextChannel,
    ),
    (
        "403",
        || refuses(403, "AccessDenied"),
        NextChannel,
        NextChannel,
    ),
    (
        "404",
        || refuses(404, "model_not_found"),
        NextChannel,
        NextChannel,
    ),
    (
        "429",
        || refuses(429, "rate_limit_exceeded"),
        NextChannel,
        NextChannel,
    ),
    ("500", || refuses(500, "server_error"), NextChannel, FAILED),
    ("503", || refuses(503, "overloaded"), NextChannel, FAILED),
    (
        "529 without a body",
        || raw("HTTP/1.1 529 \r\nContent-Length: 0\r\n\r\n"),
        NextChannel,
        FAILED,
    ),
    (
        "502 with a page",
        || responds(502, "text/html", PAGE),
        NextChannel,
        FAILED,
    ),
    (
        "200 with a page",
        || responds(200, "text/html", PAGE),
        NextChannel,
        INVALID,
    ),
    (
        "200 with cut JSON",
        || json_body(r#"{"id":"x","#),
        NextChannel,
        INVALID,
    ),
    ("200 with a list", || json_body("[]"), NextChannel, INVALID),
    (
        "200 with an error",
        || {
            json_body(
                r#"{"error":{"message":"Overloaded","type":"overloaded_error","code":"overloaded"}}"#,
            )
        },
        NextChannel,
        INVALID,
    ),
    ("200 without a body", || json_body(""), NextChannel, INVALID),
    (
        "204",
        || raw("HTTP/1.1 204 No Content\r\n\r\n"),
        NextChannel,
        INVALID,
    ),
    (
        "closes within the body",
        || raw(CUT_BODY),
        NextChannel,
        UNKNOWN,
    ),
    ("stops within the body", || stops(CUT_BODY), CutOff, UNKNOWN),
    (
        "has an invalid chunk",
        || {
            raw(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
            )
        },
        NextChannel,
        UNKNOWN,
    ),
];

const PAGE: &str = "<html><body>Bad gateway</body></html>";
const CUT_BODY: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"id\":";

/// A route with a request for it.
struct Endpoint {
    name: String,
    protocol: Protocol,
    request: Request,
    /// `None` for text.
    paid: Option<CreateShape>,
}

#[tokio::test]
async fn each_fault_has_its_outcome_on_endpoints_of_text() {
    let [chat, messages, responses] = text_endpoints().map(differences);
    let (chat, messages, responses) = tokio::join!(chat, messages, responses);
    let wrong = [chat, messages, responses].concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn each_fault_has_its_outcome_on_endpoints_of_paid_creates() {
    let [images, for_a, for_b, family_a, family_b] = paid_endpoints().map(differences);
    let wrong = tokio::join!(images, for_a, for_b, family_a, family_b);
    let wrong = [wrong.0, wrong.1, wrong.2, wrong.3, wrong.4].concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn text_endpoints() -> [Endpoint; 3] {
    [Protocol::Chat, Protocol::Messages, Protocol::Responses].map(|protocol| {
        let mut body = body_of(protocol);
        if protocol == Protocol::Responses {
            // A stored request would not fail over after it was sent.
            body["store"] = false.into();
        }
        Endpoint {
            name: format!("{protocol:?}"),
            protocol,
            request: Request::to(protocol, body.to_string()),
            paid: None,
        }
    })
}

fn paid_endpoints() -> [Endpoint; 5] {
    [
        (CreateShape::ImageJson, Protocol::ImageEdit),
        (CreateShape::GenericForA, Protocol::Video),
        (CreateShape::GenericForB, Protocol::Video),
        (CreateShape::FamilyA, Protocol::FamilyA),
        (CreateShape::FamilyB, Protocol::FamilyB),
    ]
    .map(|(shape, protocol)| Endpoint {
        name: format!("{shape:?}"),
        protocol,
        request: shape.request("a gate"),
        paid: Some(shape),
    })
}

/// The faults whose outcome on this endpoint is not the one in the table.
async fn differences(endpoint: Endpoint) -> Vec<String> {
    let first = ScriptedProvider::start(Vec::new()).await;
    let second = Simulator::start().await;
    let config = match endpoint.paid {
        Some(shape) => shape.config(&second, &json!({})),
        None => config::standard(&second.url()),
    };
    let gateway = Gateway::start(&with_first_channels(config, &first, &second)).await;
    let mut wrong = Vec::new();
    for (fault, script, text, paid) in FAULTS {
        let before = (first.requests().len(), second.records().await.len());
        first.next(script());
        let response = gateway.ask(&endpoint.request).await;
        let after = (first.requests().len(), second.records().await.len());
        let asked = (after.0 - before.0, after.1 - before.1);
        let expected = endpoint.paid.map_or(text, |_| paid);
        let (name, status) = (&endpoint.name, response.status);
        let shown = format!("{name}: {fault}: {status}, requests {asked:?}");
        println!("{shown}");
        if !is_outcome(&response, asked, expected, endpoint.protocol) {
            wrong.push(format!("{shown}, not {expected:?}: {}", response.text()));
        }
    }
    wrong
}

fn is_outcome(
    response: &WholeResponse,
    asked: (usize, usize),
    expected: Outcome,
    protocol: Protocol,
) -> bool {
    match expected {
        NextChannel => response.status == 200 && response.whole && asked == (1, 1),
        CutOff => response.status == 200 && !response.whole && asked == (1, 0),
        Refusal(status) => response.status == status && asked == (1, 0),
        Error(status, code) => {
            let has_code = error_code(response) == spelling(protocol, code);
            let is_expected = response.status == status && has_code && asked == (1, 0);
            if is_expected {
                assert_error_body(protocol, response, status);
            }
            is_expected
        }
    }
}

/// The configuration, with a channel at `first` before each channel at `second`.
fn with_first_channels(mut config: Value, first: &ScriptedProvider, second: &Simulator) -> Value {
    let channels = config["channels"].as_object_mut().unwrap();
    for (name, mut channel) in channels.clone() {
        channels[&name]["tier"] = 1.into();
        let url = channel["base_url"].as_str().unwrap().to_owned();
        let address = |address: std::net::SocketAddr| address.to_string();
        channel["base_url"] = url
            .replace(&address(second.address), &address(first.address))
            .into();
        channel["timeouts"] = json!({"first_byte": "300ms", "idle": "300ms"});
        channels.insert(format!("first-{name}"), channel);
    }
    config::with_unlimited_retries(&mut config);
    config::without_cool_downs(&mut config);
    config
}

/// The code in the error of a protocol.
fn spelling(protocol: Protocol, code: &'static str) -> &'static str {
    match (protocol, code) {
        (Protocol::FamilyB, "outcome_unknown") => "InternalError.Timeout",
        (Protocol::FamilyB, _) => "InternalError",
        // Errors of messages have a type and no code.
        (Protocol::Messages, _) => "",
        _ => code,
    }
}

fn raw(text: &str) -> Vec<ScriptedResponse> {
    vec![Send(text.into()), Close]
}

fn stops(text: &str) -> Vec<ScriptedResponse> {
    vec![Send(text.into()), Hang]
}

fn endless_head() -> Vec<ScriptedResponse> {
    let line = format!("X-Filler: {}\r\n", "a".repeat(4_000));
    raw(&format!("HTTP/1.1 200 OK\r\n{}", line.repeat(100)))
}

fn responds(status: u16, content_type: &str, body: &str) -> Vec<ScriptedResponse> {
    vec![Send(typed_response(status, content_type, body)), Close]
}

fn refuses(status: u16, code: &str) -> Vec<ScriptedResponse> {
    let body = json!({"error": {"message": "No.", "type": "error", "code": code}});
    responds(status, "application/json", &body.to_string())
}

fn json_body(body: &str) -> Vec<ScriptedResponse> {
    responds(200, "application/json", body)
}
