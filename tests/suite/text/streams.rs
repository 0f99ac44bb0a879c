//! Tests of streams: forwarded byte for byte and without delay, with their tokens counted.

use crate::harness::config::{CREDENTIALS, route};
use crate::harness::{
    Gateway, PROTOCOLS, Request, ScriptedProvider, ScriptedResponse, TestSetup, WholeResponse,
    config, eventually,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;

const HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A stream with unusual syntax: every line ending, comments, a byte order mark, two lines of data. The last event of the
/// protocol follows.
const ODD_STREAM: &str = "\u{feff}: hello\r\n\r\ndata: {\"a\":1}\n\nevent: x\rdata: 1\rdata: 2\r\r\
    id: 7\nretry: 10\ndata:no space\n\n:\n\ndata: \u{1f600}caf\u{e9}\r\n\r\n";
const LAST_EVENTS: [(Protocol, &str); 3] = [
    (Protocol::Chat, "data: [DONE]\n\n"),
    (Protocol::Messages, "event: message_stop\ndata: 1\n\n"),
    (
        Protocol::Responses,
        "event: response.completed\rdata: 1\r\r",
    ),
];

#[tokio::test]
async fn a_stream_reaches_the_caller_byte_for_byte() {
    let provider = ScriptedProvider::start(vec![]).await;
    let gateway = Gateway::start(&config::standard(&provider.url())).await;
    for piece in [1, 3, 7, 4096] {
        for (protocol, last) in LAST_EVENTS {
            let stream = format!("{ODD_STREAM}{last}");
            let mut answer = HEAD.as_bytes().to_vec();
            for bytes in stream.as_bytes().chunks(piece) {
                answer.extend(chunk(bytes));
            }
            answer.extend(b"0\r\n\r\n");
            provider.next(vec![ScriptedResponse::Send(answer)]);
            let answer = gateway.ask(&Request::ask_stream(protocol)).await;
            assert_eq!((answer.status, answer.whole), (200, true));
            assert_eq!(answer.text(), stream, "{protocol:?} in pieces of {piece}");
        }
    }
}

#[tokio::test]
async fn a_stream_is_marked_as_one_and_has_no_length() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        let answer = world.ask(&Request::ask_stream(protocol)).await;
        let headers = &answer.headers;
        assert_eq!(headers.get("content-length"), None);
        assert_eq!(headers.get("x-accel-buffering"), Some("no"));
        assert!(
            headers
                .get("cache-control")
                .is_some_and(|value| value.contains("no-"))
        );
        let kind = headers.get("content-type").unwrap();
        assert!(kind.starts_with("text/event-stream"), "{kind}");
        assert_eq!(
            headers.get("request-id").is_some(),
            protocol == Protocol::Messages
        );
    }
}

#[tokio::test]
async fn the_first_event_arrives_long_before_the_last() {
    let event = |n: u8| chunk(format!("data: {{\"n\":{n}}}\n\n").as_bytes());
    for filters in [json!([]), json!(["force_usage"])] {
        let provider = ScriptedProvider::start(vec![
            ScriptedResponse::Send([HEAD.as_bytes(), &event(1)].concat()),
            ScriptedResponse::Wait(Duration::from_secs(3600)),
        ])
        .await;
        let mut config = config::standard(&provider.url());
        let request = route(&mut config, "chat")["request"]
            .as_array_mut()
            .unwrap();
        request.extend(filters.as_array().unwrap().clone());
        let gateway = Gateway::start(&config).await;
        let mut reply = gateway.open(&Request::ask_stream(Protocol::Chat)).await;
        assert_eq!(reply.until("{\"n\":1}\n\n").await, "data: {\"n\":1}\n\n");
    }
}

#[tokio::test]
async fn tokens_are_counted_in_every_protocol_streamed_or_not() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        for streamed in [false, true] {
            let mut body = crate::harness::body_of(protocol);
            body["stream"] = streamed.into();
            if streamed && protocol == Protocol::Chat {
                body["stream_options"] = json!({"include_usage": true});
            }
            let before = world.gateway.metrics().await;
            let answer = world.ask(&Request::to(protocol, body.to_string())).await;
            let line = world.gateway.log_of(&answer).await;
            assert_eq!(line["settlement"], "complete", "{line}");
            assert_eq!(line["streamed"], streamed, "{line}");
            assert_eq!(
                reported_tokens(protocol, &answer),
                Some(tokens_logged(&line)),
                "{line}"
            );
            let after = world.gateway.metrics().await;
            for (kind, logged) in [("input", "input_tokens"), ("output", "output_tokens")] {
                let labels = [("model", "demo-large"), ("kind", kind)];
                let name = "headgate_tokens_total";
                let counted = after.sum(name, &labels) - before.sum(name, &labels);
                assert_eq!(Some(counted), line[logged].as_f64(), "{protocol:?} {kind}");
            }
        }
    }
}

#[tokio::test]
async fn a_stream_without_usage_is_settled_as_such() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        let answer = world
            .ask(&Request::ask_stream(protocol).simulate("no_usage"))
            .await;
        let line = world.gateway.log_of(&answer).await;
        assert_eq!(line["settlement"], "usage_missing", "{protocol:?}: {line}");
        assert_eq!(line["input_tokens"], Value::Null);
    }
}

#[tokio::test]
async fn usage_that_only_the_gateway_wanted_does_not_reach_the_caller() {
    let world = TestSetup::with(|config| {
        route(config, "chat")["request"] = json!([{"use": "body"}, "validate", "force_usage"]);
    })
    .await;
    let answer = world.ask(&Request::ask_stream(Protocol::Chat)).await;
    assert!(!answer.text().contains("usage"), "{}", answer.text());
    assert!(answer.text().ends_with("data: [DONE]\n\n") && answer.whole);
    let line = world.gateway.log_of(&answer).await;
    assert!(line["output_tokens"].as_u64() > Some(0), "{line}");
    let sent = String::from_utf8(world.simulator.last_body().await).unwrap();
    assert!(
        sent.ends_with(",\"stream_options\":{\"include_usage\":true}}"),
        "{sent}"
    );

    let mut body = crate::harness::body_of(Protocol::Chat);
    body["stream"] = true.into();
    body["stream_options"] = json!({"include_usage": true});
    let asked = world
        .ask(&Request::to(Protocol::Chat, body.to_string()))
        .await;
    assert!(
        reported_tokens(Protocol::Chat, &asked).is_some(),
        "{}",
        asked.text()
    );
    assert!(asked.text().contains("\"usage\":null"));
}

#[tokio::test]
async fn an_answer_names_the_platform_model_where_that_is_asked_for() {
    for streams in [false, true] {
        let world = TestSetup::with(|config| {
            for name in ["chat", "messages", "responses"] {
                let response = route(config, name)["response"].as_array_mut().unwrap();
                response.push(json!({"restore_model": {"streams": streams}}));
            }
        })
        .await;
        for protocol in PROTOCOLS {
            let answer = world.ask(&Request::ask(protocol)).await;
            assert_eq!(answer.json()["model"], "demo-large", "{}", answer.text());
            assert!(answer.whole && !answer.text().contains("sim-large"));
            let answer = world.ask(&Request::ask_stream(protocol)).await;
            let names_channel_model = answer.text().contains("\"model\":\"sim-large-2026-08\"");
            assert_eq!(
                names_channel_model,
                !streams,
                "{protocol:?}: {}",
                answer.text()
            );
            assert_eq!(answer.text().contains("\"model\":\"demo-large\""), streams);
            let line = world.gateway.log_of(&answer).await;
            assert_eq!(
                line["settlement"] == "complete",
                protocol != Protocol::Chat,
                "{line}"
            );
        }
    }
}

#[tokio::test]
async fn older_spellings_are_rewritten_for_the_provider() {
    let world = TestSetup::with(|config| {
        for name in ["chat", "responses"] {
            let request = route(config, name)["request"].as_array_mut().unwrap();
            request.push(json!("normalise"));
        }
    })
    .await;
    for (protocol, key, sent, received) in [
        (
            Protocol::Messages,
            "tool_choice",
            json!("any"),
            json!({"type": "any"}),
        ),
        (
            Protocol::Messages,
            "tool_choice",
            json!({"type": "auto"}),
            json!({"type": "auto"}),
        ),
        (
            Protocol::Chat,
            "prompt_cache_retention",
            json!("in-memory"),
            json!("in_memory"),
        ),
        (
            Protocol::Responses,
            "prompt_cache_retention",
            json!("in-memory"),
            json!("in_memory"),
        ),
        (
            Protocol::Chat,
            "prompt_cache_retention",
            json!("24h"),
            json!("24h"),
        ),
    ] {
        let mut body = crate::harness::body_of(protocol);
        body[key] = sent;
        let answer = world.ask(&Request::to(protocol, body.to_string())).await;
        assert_eq!(answer.status, 200, "{body}: {}", answer.text());
        let arrived: Value = serde_json::from_slice(&world.simulator.last_body().await).unwrap();
        assert_eq!(arrived[key], received);
    }
}

#[tokio::test]
async fn a_providers_cookies_account_and_machines_stay_hidden() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        for request in [
            Request::ask(protocol),
            Request::ask_stream(protocol),
            Request::ask(protocol).simulate("status=429"),
            Request::ask(protocol).simulate("status=400; echo_credential"),
        ] {
            let answer = world.ask(&request).await;
            for name in answer.headers.names() {
                let hidden = [
                    "set-cookie",
                    "cf-ray",
                    "openai-organization",
                    "openai-project",
                    "anthropic-organization-id",
                    "x-simulated-credential",
                    "server",
                ];
                assert!(!hidden.contains(&name), "{name}");
            }
            let own = answer.headers.get("x-request-id").unwrap();
            assert!(
                own.starts_with("req_") && !own.starts_with("req_sim_"),
                "{own}"
            );
            let mut names = answer.headers.names();
            assert!(!names.any(|name| name.contains("ratelimit")));
            assert!(
                CREDENTIALS
                    .iter()
                    .all(|secret| !answer.text().contains(secret))
            );
        }
    }
}

#[tokio::test]
async fn a_connection_is_used_again_behind_a_stream() {
    let world = TestSetup::start().await;
    let mut connection = world.gateway.connect().await;
    for protocol in PROTOCOLS {
        for _ in 0..2 {
            let answer = connection.ask(&Request::ask_stream(protocol)).await;
            assert!(answer.whole && answer.status == 200);
        }
    }
    let open = async || (world.simulator.open().await == 0).then_some(());
    eventually("the end of all streams", open).await;
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// Input and output tokens in the log.
fn tokens_logged(line: &Value) -> (Option<u64>, Option<u64>) {
    (
        line["input_tokens"].as_u64(),
        line["output_tokens"].as_u64(),
    )
}

/// Input and output tokens in the last usage of the response.
fn reported_tokens(
    protocol: Protocol,
    answer: &WholeResponse,
) -> Option<(Option<u64>, Option<u64>)> {
    let text = answer.text();
    let documents = text
        .lines()
        .map(|line| line.strip_prefix("data: ").unwrap_or(line))
        .filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let mut usages = documents.filter_map(|document| {
        let place = ["/usage", "/response/usage"]
            .into_iter()
            .find_map(|at| document.pointer(at));
        place.filter(|usage| !usage.is_null()).cloned()
    });
    let usage = usages.next_back()?;
    let (input, output) = match protocol {
        Protocol::Chat => ("prompt_tokens", "completion_tokens"),
        _ => ("input_tokens", "output_tokens"),
    };
    Some((usage[input].as_u64(), usage[output].as_u64()))
}
