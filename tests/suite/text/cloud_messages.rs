//! Tests of callers of Claude under the paths of Vertex AI and of Amazon Bedrock, with channels of any protocol, and of Vertex AI as
//! a channel.

use crate::harness::error_shape::assert_error_body;
use crate::harness::frames::received_frames;
use crate::harness::http_response::json_response;
use crate::harness::{Gateway, Request, ScriptedProvider, Simulator, WholeResponse, config};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const VERTEX: &str = "/v1/projects/p-1/locations/l-1/publishers/anthropic/models/demo-large";
const BEDROCK: &str = "/model/demo-large";

/// The body of a client of Vertex AI or of Bedrock, and the ends of its paths.
struct CloudClient {
    path: &'static str,
    whole: &'static str,
    stream: &'static str,
    body: fn(bool) -> Value,
}

const CLIENTS: [CloudClient; 2] = [
    CloudClient {
        path: VERTEX,
        whole: ":rawPredict",
        stream: ":streamRawPredict",
        body: |is_stream| {
            let mut body = asking();
            body["anthropic_version"] = json!("vertex-2023-10-16");
            if is_stream {
                body["stream"] = json!(true);
            }
            body
        },
    },
    CloudClient {
        path: BEDROCK,
        whole: "/invoke",
        stream: "/invoke-with-response-stream",
        body: |_| {
            let mut body = asking();
            body["anthropic_version"] = json!("bedrock-2023-05-31");
            body["anthropic_beta"] = json!(["a-2025-01-01", "b-2025-01-01"]);
            body
        },
    },
];

fn asking() -> Value {
    json!({"max_tokens": 500, "messages": [{"role": "user", "content": "Mind the gate."}]})
}

/// A configuration whose channel speaks `channel`.
fn clouds(provider: &str, channel: &str) -> Value {
    let mut config = config::standard(provider);
    let key = json!({"api_key": config::CREDENTIALS[1]});
    config["channels"] = json!({"claude": config::channel(provider, &[channel], key)});
    let folder = "/v1/projects/{project}/locations/{location}/publishers/anthropic/models/{model}";
    config["routes"] = json!([{"name": "clouds", "protocol": "messages",
        "match": [format!("POST {folder}:rawPredict"), format!("POST {folder}:streamRawPredict"),
            "POST /model/{model}/invoke", "POST /model/{model}/invoke-with-response-stream"],
        "request": [{"use": "body"}, "validate"], "response": ["pass_sse", "heartbeat", "meter_usage"]}]);
    if channel != "messages" {
        config["routes"][0]["translate"] = json!([channel]);
        config["task_keys"] = json!(["a".repeat(32)]);
    }
    config::without_cool_downs(&mut config);
    config
}

fn request(client: &CloudClient, is_stream: bool) -> Request {
    let end = if is_stream {
        client.stream
    } else {
        client.whole
    };
    let body = (client.body)(is_stream).to_string();
    Request::post(&format!("{}{end}", client.path), body)
}

/// The events of a stream, from server-sent events or from the chunks of frames.
fn events(answer: &WholeResponse) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    if answer.headers.get("content-type") != Some("application/vnd.amazon.eventstream") {
        let text = answer.text();
        let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
        return lines
            .map(|data| serde_json::from_str(data).unwrap())
            .collect();
    }
    let frames = received_frames(&answer.body);
    let events = frames
        .iter()
        .map(|frame| match frame.header(":message-type") {
            Some("event") => {
                assert_eq!(frame.header(":event-type"), Some("chunk"));
                let bytes = STANDARD
                    .decode(frame.json()["bytes"].as_str().unwrap())
                    .unwrap();
                serde_json::from_slice(&bytes).unwrap()
            }
            _ => json!({"type": "error", "error": {
            "type": frame.header(":error-code"), "message": frame.header(":error-message")}}),
        });
    events.collect()
}

fn text_of(events: &[Value]) -> String {
    let texts = events
        .iter()
        .filter_map(|event| event["delta"]["text"].as_str());
    texts.collect()
}

#[tokio::test]
async fn a_request_under_the_path_of_a_cloud_is_one_of_the_protocol() {
    let simulator = Simulator::start().await;
    for channel in ["messages", "chat"] {
        let gateway = Gateway::start(&clouds(&simulator.url(), channel)).await;
        for client in &CLIENTS {
            let whole = gateway.ask(&request(client, false)).await;
            assert_eq!(whole.status, 200, "{}: {}", client.path, whole.text());
            let text = whole.json()["content"][0]["text"]
                .as_str()
                .unwrap()
                .to_owned();
            assert!(text.contains("Mind the gate."), "{text}");
            let body: Value = serde_json::from_slice(&simulator.last_body().await).unwrap();
            assert_eq!(body["model"], "sim-large-2026-08", "{body}");
            assert!(!body.to_string().contains("anthropic_"), "{body}");
            let record = simulator.last().await;
            if channel == "messages" {
                assert_eq!(record["path"], "/v1/messages", "{record}");
                assert_eq!(
                    record["headers"]["anthropic-version"], "2023-06-01",
                    "{record}"
                );
                let betas = match client.path {
                    BEDROCK => json!("a-2025-01-01,b-2025-01-01"),
                    _ => Value::Null,
                };
                assert_eq!(record["headers"]["anthropic-beta"], betas, "{record}");
            }
            let stream = gateway.ask(&request(client, true)).await;
            let events = events(&stream);
            assert_eq!(text_of(&events), text, "{}", client.path);
            assert_eq!(events.last().unwrap()["type"], "message_stop");
            let line = gateway.log_of(&stream).await;
            assert_eq!(
                (&line["streamed"], &line["settlement"]),
                (&json!(true), &json!("complete")),
                "{line}"
            );
            assert!(
                line["output_tokens"].as_u64().is_some_and(|it| it > 0),
                "{line}"
            );
        }
    }
}

#[tokio::test]
async fn what_is_refused_and_what_breaks_off_are_errors_of_the_protocol() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&clouds(&simulator.url(), "messages")).await;
    for client in &CLIENTS {
        for is_stream in [false, true] {
            let mut unknown = request(client, is_stream);
            unknown.target = unknown.target.replace("demo-large", "demo-none");
            let answer = gateway.ask(&unknown).await;
            let message = assert_error_body(Protocol::Messages, &answer, 404);
            assert!(message.contains("demo-none"), "{message}");
            let answer = gateway.ask(&request(client, is_stream).key("sk-eve")).await;
            assert_error_body(Protocol::Messages, &answer, 401);
            let answer = gateway
                .ask(&request(client, is_stream).with_body(b"{}".to_vec()))
                .await;
            let message = assert_error_body(Protocol::Messages, &answer, 400);
            assert!(message.contains("messages"), "{message}");
            let answer = gateway
                .ask(&request(client, is_stream).simulate("status=429"))
                .await;
            assert_eq!(answer.status, 429, "{}", answer.text());
        }
        let cut = gateway
            .ask(&request(client, true).simulate("cut_after=3"))
            .await;
        let events = events(&cut);
        assert_eq!(events[0]["type"], "message_start");
        let last = &events.last().unwrap()["error"];
        assert_eq!(last["type"], "api_error", "{last}");
        assert_eq!(gateway.log_of(&cut).await["settlement"], "upstream_cut");
    }
}

/// A provider that answers as Vertex AI does, and the configuration of a channel there.
async fn vertex_ai() -> (ScriptedProvider, Value) {
    let message = json!({"id": "msg_vrtx_1", "type": "message", "role": "assistant", "model": "claude",
        "content": [{"type": "text", "text": "Gate."}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2}});
    let provider = ScriptedProvider::answering(json_response(200, message)).await;
    let base = format!(
        "{}/projects/p/locations/l/publishers/anthropic",
        provider.url()
    );
    let mut config = config::standard(&base);
    let mut channel = config["channels"]["messages"].clone();
    channel["cloud"] = json!("vertex_ai");
    channel["models"]["demo-large"] = json!("claude-sonnet-4-5@20250929");
    config["channels"] = json!({"vertex": channel});
    for name in ["chat", "count_tokens", "messages"] {
        let route = config::route(&mut config, name);
        if name == "chat" {
            route["translate"] = json!(["messages"]);
        }
    }
    config["task_keys"] = json!(["a".repeat(32)]);
    config::without_cool_downs(&mut config);
    (provider, config)
}

#[tokio::test]
async fn vertex_ai_gets_the_model_in_the_path_and_its_version_in_the_body() {
    let (provider, config) = vertex_ai().await;
    let gateway = Gateway::start(&config).await;
    let folder = "/v1/projects/p/locations/l/publishers/anthropic/models";
    let mut stream = asking();
    stream["stream"] = json!(true);
    stream["model"] = json!("demo-large");
    for (request, path, has_model) in [
        (
            Request::ask(Protocol::Messages),
            "claude-sonnet-4-5@20250929:rawPredict",
            false,
        ),
        (
            Request::ask(Protocol::Chat),
            "claude-sonnet-4-5@20250929:rawPredict",
            false,
        ),
        (
            Request::post("/v1/messages?beta=true", stream.to_string())
                .header("anthropic-version", "2023-06-01")
                .header("anthropic-beta", "a-2025-01-01"),
            "claude-sonnet-4-5@20250929:streamRawPredict",
            false,
        ),
        (
            Request::post(
                "/v1/messages/count_tokens",
                json!({"model": "demo-large", "messages": [{"role": "user", "content": "Hi"}]})
                    .to_string(),
            )
            .header("anthropic-version", "2023-06-01"),
            "count-tokens:rawPredict",
            true,
        ),
    ] {
        gateway.ask(&request).await;
        let sent = provider.requests().pop().unwrap();
        let (head, body) = sent.split_once("\r\n\r\n").unwrap();
        let line = head.lines().next().unwrap();
        assert_eq!(line, format!("POST {folder}/{path} HTTP/1.1"));
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["anthropic_version"], "vertex-2023-10-16", "{body}");
        let model = has_model.then(|| json!("claude-sonnet-4-5@20250929"));
        assert_eq!(body.get("model"), model.as_ref(), "{body}");
        let is_beta = request.target.contains("beta");
        assert_eq!(
            head.contains("anthropic-beta: a-2025-01-01"),
            is_beta,
            "{head}"
        );
    }
}

#[tokio::test]
async fn a_chat_with_claude_on_vertex_ai_is_answered_and_metered() {
    let (_provider, config) = vertex_ai().await;
    let gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    let body = answer.json();
    assert_eq!(body["choices"][0]["message"]["content"], "Gate.", "{body}");
    let line = gateway.log_of(&answer).await;
    assert_eq!(
        (&line["input_tokens"], &line["output_tokens"]),
        (&json!(3), &json!(2)),
        "{line}"
    );
}
