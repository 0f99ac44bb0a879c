//! Tests of callers who speak the protocol of Amazon Bedrock to channels of it, as boto3 does.

use crate::harness::error_shape::assert_error_body;
use crate::harness::frames::{ReceivedFrame, received_frames};
use crate::harness::hostile_models::HOSTILE_MODELS;
use crate::harness::path_models::fully_encoded;
use crate::harness::request::BOB;
use crate::harness::{Gateway, Request, Simulator, WholeResponse, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const MODEL: &str = "eu.anthropic.claude-sonnet-4-20250514-v1:0";
const SEGMENT: &str = "eu.anthropic.claude-sonnet-4-20250514-v1%3A0";
const FRAMES: &str = "application/vnd.amazon.eventstream";

/// A configuration with one route for both endpoints, and a channel at the simulated provider.
fn natives(provider: &str) -> Value {
    let mut config = config::standard(provider);
    let bearer = json!({"bearer": config::CREDENTIALS[0]});
    let mut channel = config::channel(provider, &["converse"], bearer);
    channel["models"][MODEL] = json!(MODEL);
    channel["unpriced"] = json!("allow");
    config["channels"] = json!({"bedrock": channel});
    config["routes"] = json!([{"name": "converse", "protocol": "converse",
        "match": ["POST /model/{model}/converse", "POST /model/{model}/converse-stream"],
        "request": [{"use": "body"}, "validate"], "response": ["pass_sse", "heartbeat", "meter_usage"]}]);
    config::without_cool_downs(&mut config);
    config
}

/// The base URL of the provider, whose paths begin at the host.
fn base_url(simulator: &Simulator, directives: &str) -> String {
    match directives {
        "" => format!("http://{}", simulator.address),
        _ => format!("http://{}/~{directives}", simulator.address),
    }
}

fn asking(text: &str) -> Value {
    json!({"messages": [{"role": "user", "content": [{"text": text}]}], "inferenceConfig": {"maxTokens": 500}})
}

fn converse(segment: &str, operation: &str) -> Request {
    let target = format!("/model/{segment}/{operation}");
    Request::post(&target, asking("Mind the gate.").to_string())
}

/// The frames of a stream.
fn frames(answer: &WholeResponse) -> Vec<ReceivedFrame> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.headers.get("content-type"), Some(FRAMES));
    received_frames(&answer.body)
}

#[tokio::test]
async fn a_response_and_its_stream_are_those_of_the_provider() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&natives(&base_url(&simulator, ""))).await;
    for (segment, sent) in [
        ("demo-large", "sim-large-2026-08"),
        (SEGMENT, SEGMENT),
        (MODEL, SEGMENT),
    ] {
        let whole = gateway.ask(&converse(segment, "converse")).await;
        assert_eq!(whole.status, 200, "{}", whole.text());
        let text = whole.json()["output"]["message"]["content"][0]["text"].clone();
        assert!(text.as_str().unwrap().contains("Mind the gate."), "{text}");
        assert!(whole.headers.get("x-amzn-requestid").is_some());
        assert_eq!(
            simulator.last().await["path"],
            format!("/model/{sent}/converse")
        );
        let line = gateway.log_of(&whole).await;
        assert_counted(&line, &whole.json()["usage"]);

        let stream = gateway.ask(&converse(segment, "converse-stream")).await;
        let frames = frames(&stream);
        let joined: String = frames
            .iter()
            .filter_map(|frame| frame.json()["delta"]["text"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(json!(joined), text);
        let types: Vec<_> = frames
            .iter()
            .map(|it| it.header(":event-type").unwrap())
            .collect();
        assert_eq!(
            (types[0], types[types.len() - 1]),
            ("messageStart", "metadata")
        );
        for frame in &frames {
            assert_eq!(frame.header(":message-type"), Some("event"));
            assert_eq!(frame.header(":content-type"), Some("application/json"));
        }
        assert_eq!(
            simulator.last().await["path"],
            format!("/model/{sent}/converse-stream")
        );
        let line = gateway.log_of(&stream).await;
        assert_eq!(
            (&line["streamed"], &line["bytes_out"]),
            (&json!(true), &json!(stream.body.len())),
            "{line}"
        );
        assert_counted(&line, &frames.last().unwrap().json()["usage"]);
    }
}

fn assert_counted(line: &Value, usage: &Value) {
    assert_eq!(line["protocol"], "converse", "{line}");
    assert_eq!(line["settlement"], "complete", "{line}");
    assert_eq!(line["input_tokens"], usage["inputTokens"], "{line}");
    assert_eq!(line["output_tokens"], usage["outputTokens"], "{line}");
    assert!(
        line["output_tokens"].as_u64().is_some_and(|it| it > 0),
        "{line}"
    );
}

#[tokio::test]
async fn a_method_or_path_that_no_route_has_is_refused_like_by_bedrock() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&natives(&base_url(&simulator, ""))).await;
    for (path, status) in [
        ("/model/demo-large/converse", 405),
        ("/model/demo-large/converse/now", 404),
    ] {
        let answer = gateway.ask(&Request::get(path)).await;
        assert_error_body(Protocol::Converse, &answer, status);
        assert_eq!(answer.json()["__type"], "UnknownOperationException");
    }
}

#[tokio::test]
async fn what_is_refused_has_the_name_of_an_error_of_bedrock() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&natives(&base_url(&simulator, ""))).await;
    let body = |body: &str| converse("demo-large", "converse-stream").with_body(body.into());
    for (request, status, name, words) in [
        (
            converse("demo-none", "converse"),
            404,
            "ResourceNotFoundException",
            "demo-none",
        ),
        (
            converse("demo-large", "converse").key(BOB),
            403,
            "AccessDeniedException",
            "demo-large",
        ),
        (
            converse("demo-large", "converse-stream").key("sk-eve"),
            401,
            "UnrecognizedClientException",
            "Incorrect API key",
        ),
        (body("{"), 400, "ValidationException", "JSON"),
        (
            body(r#"{"messages": "Hi"}"#),
            400,
            "ValidationException",
            "messages",
        ),
    ] {
        let answer = gateway.ask(&request).await;
        let message = assert_error_body(Protocol::Converse, &answer, status);
        assert!(message.contains(words), "{words}: {message}");
        assert_eq!(answer.json()["__type"], name, "{message}");
        assert_eq!(answer.headers.get("x-amzn-errortype"), Some(name));
    }
    let mut connection = gateway.connect().await;
    for name in HOSTILE_MODELS {
        let answer = connection
            .ask(&converse(&fully_encoded(name), "converse"))
            .await;
        assert!(
            matches!(answer.status, 400 | 404),
            "{name}: {}",
            answer.text()
        );
        if answer.headers.get("connection") == Some("close") {
            connection = gateway.connect().await;
        }
    }
    assert!(simulator.records().await.is_empty());
}

#[tokio::test]
async fn an_error_of_the_provider_stays_its_own_and_leads_to_the_next_channel_before_content() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&natives(&base_url(&simulator, ""))).await;
    for (status, name) in [
        (429, "ThrottlingException"),
        (503, "ServiceUnavailableException"),
        (400, "ValidationException"),
    ] {
        for operation in ["converse", "converse-stream"] {
            let directives = format!("status={status}; message=the vendor's own words");
            let answer = gateway
                .ask(&converse("demo-large", operation).simulate(&directives))
                .await;
            assert_eq!(answer.status, status, "{}", answer.text());
            let error = answer.json();
            assert_eq!(
                (&error["__type"], &error["message"]),
                (&json!(name), &json!("the vendor's own words"))
            );
        }
    }
    for directives in ["status=503", "error_event_first", "cut"] {
        let mut config = natives(&base_url(&simulator, ""));
        let mut failing = config["channels"]["bedrock"].clone();
        config["channels"]["bedrock"]["tier"] = json!(1);
        failing["base_url"] = json!(base_url(&simulator, directives));
        config["channels"]["failing"] = failing;
        let gateway = Gateway::start(&config).await;
        let answer = gateway
            .ask(&converse("demo-large", "converse-stream"))
            .await;
        assert_eq!(
            frames(&answer).last().unwrap().header(":event-type"),
            Some("metadata")
        );
        let line = gateway.log_of(&answer).await;
        assert_eq!(
            (&line["attempts"], &line["channel"]),
            (&json!(2), &json!("bedrock")),
            "{directives}: {line}"
        );
    }
}

#[tokio::test]
async fn a_stream_that_fails_ends_with_a_frame_of_an_exception() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&natives(&base_url(&simulator, ""))).await;
    for (directives, name, settlement) in [
        ("cut_after=3", "modelStreamErrorException", "upstream_cut"),
        (
            "end_after_events=5",
            "modelStreamErrorException",
            "upstream_cut",
        ),
        ("error_event_after=3", "", "upstream_error"),
    ] {
        let request = converse("demo-large", "converse-stream").simulate(directives);
        let answer = gateway.ask(&request).await;
        let frames = frames(&answer);
        assert_eq!(
            frames[0].header(":event-type"),
            Some("messageStart"),
            "{directives}"
        );
        let last = frames.last().unwrap();
        assert_eq!(
            last.header(":message-type"),
            Some("exception"),
            "{directives}: {last:?}"
        );
        let kind = last.header(":exception-type").unwrap();
        assert!(
            kind.ends_with("Exception") && (name.is_empty() || kind == name),
            "{kind}"
        );
        assert!(
            last.json()["message"]
                .as_str()
                .is_some_and(|it| !it.is_empty()),
            "{last:?}"
        );
        assert_eq!(gateway.log_of(&answer).await["settlement"], settlement);
    }
}

#[tokio::test]
async fn a_silent_stream_has_no_comments_between_its_frames() {
    let simulator = Simulator::start().await;
    let mut config = natives(&base_url(&simulator, ""));
    config["routes"][0]["response"] =
        json!(["pass_sse", {"heartbeat": {"interval": "50ms"}}, "meter_usage"]);
    let gateway = Gateway::start(&config).await;
    let request = converse("demo-large", "converse-stream").simulate("pace=200ms; events=4");
    let answer = gateway.ask(&request).await;
    assert!(!answer.text().contains("heartbeat"));
    assert_eq!(
        frames(&answer).last().unwrap().header(":event-type"),
        Some("metadata")
    );
}
