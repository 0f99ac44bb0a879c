//! Tests of what providers' errors lead to, with the recorded ones of `tests/fixtures/errors`.

use crate::harness::config::{self, channel};
use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::{json_response, typed_response};
use crate::harness::request::body_of;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator};
use headgate_protocol::Protocol;
use headgate_protocol::error_class::ErrorClass;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The recorded errors of all providers.
static RECORDED: LazyLock<Vec<RecordedError>> = LazyLock::new(|| {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/errors");
    let files = std::fs::read_dir(folder).unwrap();
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        serde_saphyr::from_str::<RecordedErrors>(&text)
            .unwrap()
            .errors
    };
    files.flat_map(read).collect()
});

#[derive(Deserialize)]
struct RecordedErrors {
    errors: Vec<RecordedError>,
}

#[derive(Deserialize)]
struct RecordedError {
    class: String,
    status: u16,
    body: String,
}

/// The member of a request that has the number of the error to send, from 0.
fn seed(request: &str) -> usize {
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    body["seed"].as_u64().unwrap().try_into().unwrap()
}

fn recorded_response(request: &str) -> Vec<u8> {
    let error = &RECORDED[seed(request)];
    json_response(error.status, &error.body)
}

/// First events of streams, and whether they are about the caller's request.
const EVENTS: &[(&str, bool)] = &[
    (r#"{"error":{"message":"m","code":400}}"#, true),
    (r#"{"error":{"message":"m","code":"400"}}"#, true),
    (r#"{"error":{"message":"m","code":413}}"#, true),
    (
        r#"{"error":{"message":"m","code":"data_inspection_failed"}}"#,
        true,
    ),
    (
        r#"{"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}"#,
        true,
    ),
    (
        r#"{"error":{"message":"m","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
        true,
    ),
    (r#"{"error":{"message":"m","code":429}}"#, false),
    (r#"{"error":{"message":"m","code":502}}"#, false),
    (
        r#"{"object":"error","message":"m","type":"InternalServerError","param":null,"code":500}"#,
        false,
    ),
    (r#"{"code":500,"msg":"busy","data":null}"#, false),
    (
        r#"{"error":{"message":"m","code":"insufficient_quota"}}"#,
        false,
    ),
];

fn event_response(request: &str) -> Vec<u8> {
    let (data, _) = EVENTS[seed(request)];
    typed_response(200, "text/event-stream", format!("data: {data}\n\n"))
}

/// A channel in front of one that serves all requests.
struct BrokenChannel {
    gateway: Gateway,
    _provider: ScriptedProvider,
    _good: Simulator,
}

impl BrokenChannel {
    async fn start(answer: fn(&str) -> Vec<u8>, change: impl FnOnce(&mut Value)) -> Self {
        let provider = ScriptedProvider::start(vec![ScriptedResponse::Answer(answer)]).await;
        let good = Simulator::start().await;
        let mut config = config::standard(&good.url());
        let mut first = channel(&provider.url(), &["chat"], json!({"bearer": "sk-x"}));
        let mut second = channel(&good.url(), &["chat"], json!({"bearer": "sk-y"}));
        first["tier"] = 0.into();
        second["tier"] = 1.into();
        config["channels"] = json!({"broken": first, "good": second});
        config::with_unlimited_retries(&mut config);
        change(&mut config);
        Self {
            gateway: Gateway::start(&config).await,
            _provider: provider,
            _good: good,
        }
    }

    /// The status of the response to the request for the error with this number, and the number of attempts.
    async fn ask(&self, seed: usize, is_stream: bool) -> (u16, u64) {
        let mut body = body_of(Protocol::Chat);
        body["seed"] = seed.into();
        body["stream"] = is_stream.into();
        let request = Request::to(Protocol::Chat, body.to_string());
        let answer = self.gateway.ask(&request).await;
        let line = self.gateway.log_of(&answer).await;
        (answer.status, line["attempts"].as_u64().unwrap())
    }
}

#[tokio::test]
async fn errors_of_a_channel_lead_to_the_next_one_and_those_of_the_caller_to_the_caller() {
    let world = BrokenChannel::start(recorded_response, config::without_cool_downs).await;
    let mut served = 0;
    for (seed, error) in RECORDED.iter().enumerate() {
        if error.status < 400 {
            continue;
        }
        let (status, attempts) = world.ask(seed, false).await;
        let class = ErrorClass::named(&error.class).unwrap();
        let expected = match class.is_callers() {
            true => status >= 400 && attempts == 1,
            false => status == 200 && attempts == 2,
        };
        assert!(
            expected,
            "{}: {status}, {attempts} attempts: {}",
            error.class, error.body
        );
        served += u32::from(!class.is_callers());
    }
    assert!(served > 100, "{served}");
}

#[tokio::test]
async fn an_error_in_the_first_event_is_sent_to_the_next_channel_unless_it_is_the_callers() {
    let world = BrokenChannel::start(event_response, config::without_cool_downs).await;
    for (seed, (data, is_callers)) in EVENTS.iter().enumerate() {
        let (_, attempts) = world.ask(seed, true).await;
        assert_eq!(attempts, if *is_callers { 1 } else { 2 }, "{data}");
    }
}

#[tokio::test]
async fn errors_of_a_caller_in_first_events_cool_nothing_down() {
    let world = BrokenChannel::start(event_response, |_| {}).await;
    for (seed, _) in EVENTS.iter().enumerate().filter(|(_, event)| event.1) {
        for _ in 0..6 {
            assert_eq!(world.ask(seed, true).await.1, 1);
        }
    }
    let metrics = world.gateway.metrics().await;
    assert_eq!(metrics.sum("headgate_cool_downs_total", &[]), 0.0);
}

#[tokio::test]
async fn rows_of_a_channel_decide_before_those_that_are_built_in() {
    fn full(_: &str) -> Vec<u8> {
        let body = r#"{"error":{"message":"The queue of \"m\" is full","code":"QUEUE_FULL"}}"#;
        json_response(422, body)
    }
    for (row, attempts) in [
        (json!({"status": 422, "class": "overloaded"}), 2),
        (json!({"code": "queue-full", "class": "rate_limited"}), 2),
        (
            json!({"message": "the queue of * is full", "class": "model_unavailable"}),
            2,
        ),
        (json!({"status": 400, "class": "overloaded"}), 1),
        (json!({"message": "is full", "class": "overloaded"}), 1),
    ] {
        let change = |config: &mut Value| {
            config["channels"]["broken"]["errors"] = json!([row]);
            config::without_cool_downs(config);
        };
        let world = BrokenChannel::start(full, change).await;
        assert_eq!(world.ask(0, false).await.1, attempts, "{row}");
    }
}

#[tokio::test]
async fn a_refusal_in_plain_text_reaches_the_caller_in_the_format_of_the_api() {
    let key = "sk-0123456789abcdefghijklmnop";
    let text = format!("voice `x` is unknown\r\n(key {key})");
    for protocol in [Protocol::Chat, Protocol::Messages, Protocol::Responses] {
        for (status, media_type, quoted) in [
            (400, "text/plain; charset=utf-8", true),
            (422, "text/plain", true),
            (429, "text/plain", true),
            (400, "text/html", false),
            (500, "text/plain", false),
        ] {
            let refusal = typed_response(status, media_type, &text);
            let provider = ScriptedProvider::answering(refusal).await;
            let gateway = Gateway::start(&config::standard(&provider.url())).await;
            let answer = gateway.ask(&Request::ask(protocol)).await;
            let message = assert_error_body(protocol, &answer, status);
            let expected =
                "the provider refused the request: voice `x` is unknown (key [redacted])";
            assert_eq!(
                message == expected,
                quoted,
                "{status} {media_type}: {message}"
            );
            assert_eq!(message.contains("try again"), status == 500, "{message}");
            let kind = match (status, protocol) {
                (400 | 422, _) => "invalid_request_error",
                (429, Protocol::Messages) => "rate_limit_error",
                (429, _) => "requests",
                (_, Protocol::Messages) => "api_error",
                _ => "server_error",
            };
            assert_eq!(answer.json()["error"]["type"], kind, "{status}");
            assert!(!answer.text().contains(key), "{}", answer.text());
        }
    }
}
