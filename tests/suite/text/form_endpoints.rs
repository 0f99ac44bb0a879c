//! End-to-end tests of the shipped endpoints whose requests are forms: transcriptions, translations and variations of images.

use crate::harness::config::{self, channel};
use crate::harness::forms::{form, written};
use crate::harness::http_response::{json_response, typed_response};
use crate::harness::{Gateway, Request, ScriptedProvider, Simulator};
use serde_json::{Value, json};

const TRANSCRIPTIONS: &str = "/v1/audio/transcriptions";
/// Two and a half seconds of the simulator, with bytes that a careless parser would misread.
const SOUND: &[u8] = &{
    let mut sound = [b'~'; 2500];
    sound[0] = b'\r';
    sound[1] = b'\n';
    sound[2] = b'-';
    sound[3] = b'-';
    sound[4] = 0xff;
    sound
};

/// An endpoint: its protocol, its path, a form without its model, and what its response and its log line have.
struct FormEndpoint {
    protocol: &'static str,
    path: &'static str,
    fields: Vec<(&'static str, &'static [u8])>,
    /// A pointer into the response, which has a value there.
    result: &'static str,
    /// Input and output tokens that the log has.
    tokens: (Option<u64>, Option<u64>),
    /// Whether a request that a channel answers with 503 may be sent to another one.
    fails_over: bool,
}

fn endpoints() -> Vec<FormEndpoint> {
    let sound = vec![("file!", SOUND), ("prompt", &b"Mind the gate"[..])];
    let tokens = (Some(25 + 4), Some(20));
    vec![
        FormEndpoint {
            protocol: "transcription",
            path: TRANSCRIPTIONS,
            fields: sound.clone(),
            result: "/text",
            tokens,
            fails_over: true,
        },
        FormEndpoint {
            protocol: "translation",
            path: "/v1/audio/translations",
            fields: sound,
            result: "/text",
            tokens,
            fails_over: true,
        },
        FormEndpoint {
            protocol: "image_variation",
            path: "/v1/images/variations",
            fields: vec![("image!", SOUND), ("n", b"2")],
            result: "/data/1/b64_json",
            tokens: (None, None),
            fails_over: false,
        },
    ]
}

/// Routes of all endpoints, each with two channels.
fn serving(first: &str, second: &str) -> Value {
    let mut config = config::standard(second);
    let mut channels = json!({});
    let mut routes = Vec::new();
    for FormEndpoint { protocol, path, .. } in endpoints() {
        let whisper = json!("sim-whisper-1");
        channels[format!("{protocol}-1")] = channel(first, &[protocol], json!({"bearer": "sk-1"}));
        channels[format!("{protocol}-1")]["models"]["demo-whisper"] = whisper.clone();
        let mut spare = channel(second, &[protocol], json!({"bearer": "sk-2"}));
        spare["tier"] = 1.into();
        spare["models"]["demo-whisper"] = whisper;
        channels[format!("{protocol}-2")] = spare;
        routes.push(json!({
            "name": protocol, "match": format!("POST {path}"), "protocol": protocol,
            "request": ["require_form", "authenticate", {"limit_body": {"body": "1MiB", "file": "512KiB"}},
                "route_model", "rate_limit"],
            "response": ["pass_sse", "meter_usage"],
        }));
    }
    config["channels"] = channels;
    config["routes"] = routes.into();
    config::without_cool_downs(&mut config);
    config
}

fn with_model<'f>(
    endpoint: &FormEndpoint,
    model: &'f str,
    more: &[(&'f str, &'f [u8])],
) -> Vec<(&'f str, &'f [u8])> {
    let model = [("model", model.as_bytes())];
    [&endpoint.fields[..], &model, more].concat()
}

fn request(endpoint: &FormEndpoint, model: &str) -> Request {
    form(endpoint.path, &with_model(endpoint, model, &[]))
}

fn transcription(model: &str, more: &[(&str, &[u8])]) -> Request {
    let fields = [&[("file!", SOUND), ("model", model.as_bytes())], more].concat();
    form(TRANSCRIPTIONS, &fields)
}

#[tokio::test]
async fn each_form_has_the_model_of_the_channel_in_place_of_its_own_and_is_metered() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&serving(&simulator.url(), &simulator.url())).await;
    for endpoint in endpoints() {
        let name = endpoint.protocol;
        let more = [("temperature", &b"0"[..]), ("include[]", b"logprobs")];
        for size in [None, Some(7)] {
            let sent = form(endpoint.path, &with_model(&endpoint, "demo-large", &more));
            let sent = match size {
                Some(size) => sent.chunked(size),
                None => sent,
            };
            let answer = gateway.ask(&sent).await;
            assert_eq!(answer.status, 200, "{name}: {}", answer.text());
            let expected = written(&with_model(&endpoint, "sim-large-2026-08", &more));
            assert!(simulator.last_body().await == expected, "{name}");
            let body = answer.json();
            let result = body.pointer(endpoint.result);
            assert!(result.is_some_and(|it| !it.is_null()), "{name}: {body}");
            let line = gateway.log_of(&answer).await;
            assert_eq!(line["protocol"], name, "{line}");
            assert_eq!(line["settlement"], "complete", "{line}");
            let tokens = (
                line["input_tokens"].as_u64(),
                line["output_tokens"].as_u64(),
            );
            assert_eq!(tokens, endpoint.tokens, "{name}: {line}");
            assert!(line.get("audio_seconds").is_none(), "{name}: {line}");
        }
    }
}

#[tokio::test]
async fn only_a_form_that_buys_nothing_is_sent_to_a_second_channel() {
    let (bad, good) = (Simulator::start().await, Simulator::start().await);
    for directives in ["status=503", "cut", "html"] {
        let gateway = Gateway::start(&serving(&bad.url_obeying(directives), &good.url())).await;
        for endpoint in endpoints() {
            let name = endpoint.protocol;
            let before = good.records().await.len();
            let answer = gateway.ask(&request(&endpoint, "demo-large")).await;
            let line = gateway.log_of(&answer).await;
            let case = format!("{name} {directives}: {line}");
            let second = good.records().await.len() - before;
            match endpoint.fails_over {
                true => assert_eq!((answer.status, second), (200, 1), "{case}"),
                false => assert!(answer.status >= 500 && second == 0, "{case}"),
            }
            assert_eq!(line["attempts"], 1 + second, "{case}");
        }
    }
}

#[tokio::test]
async fn errors_have_the_shape_that_sdks_read_and_nothing_is_sent() {
    let simulator = Simulator::start().await;
    let mut config = serving(&simulator.url(), &simulator.url());
    config["callers"][0]["limits"] = json!({"requests_per_minute": 1000});
    let gateway = Gateway::start(&config).await;
    for endpoint in endpoints() {
        let name = endpoint.protocol;
        let good = request(&endpoint, "demo-large");
        let large = vec![b'x'; 600 << 10];
        let file = endpoint.fields[0].0;
        let with_large = |size: usize| {
            let fields = [(file, &large[..size]), ("model", &b"demo-large"[..])];
            form(endpoint.path, &fields)
        };
        for (request, status, param) in [
            (good.clone().without("Authorization"), 401, Value::Null),
            (request(&endpoint, "demo-lage"), 404, json!("model")),
            (form(endpoint.path, &endpoint.fields), 400, json!("model")),
            (with_large(600 << 10), 413, json!(file.trim_matches('!'))),
            (
                Request::post(endpoint.path, "{\"model\": \"demo-large\"}"),
                415,
                json!("content-type"),
            ),
            (
                good.header("Content-Encoding", "br"),
                415,
                json!("content-encoding"),
            ),
        ] {
            let answer = gateway.ask(&request).await;
            assert_eq!(answer.status, status, "{name}: {}", answer.text());
            let error = &answer.json()["error"];
            let message = error["message"].as_str().unwrap_or_default();
            assert!(!message.is_empty(), "{name}: {error}");
            assert!(error["type"].is_string(), "{name}: {error}");
            assert_eq!(error["param"], param, "{name}: {error}");
        }
    }
    assert!(simulator.records().await.is_empty());
}

#[tokio::test]
async fn a_transcription_passes_in_each_format_and_its_seconds_are_metered_where_it_has_them() {
    let simulator = Simulator::start().await;
    let mut config = serving(&simulator.url(), &simulator.url());
    config["prices"] = json!({"models": {"demo-whisper": {"audio_minute": 0.006}, "*": {"input": 2.5, "output": 10}}});
    let gateway = Gateway::start(&config).await;
    for (format, content_type, start, usage) in [
        ("json", "application/json", "{\"text\":", true),
        (
            "verbose_json",
            "application/json",
            "{\"task\":\"transcribe\"",
            true,
        ),
        (
            "diarized_json",
            "application/json",
            "{\"task\":\"transcribe\"",
            true,
        ),
        ("text", "text/plain; charset=utf-8", "You said", false),
        ("srt", "text/plain; charset=utf-8", "1\n00:00:00,000", false),
        ("vtt", "text/plain; charset=utf-8", "WEBVTT\n", false),
    ] {
        let format_field = [("response_format", format.as_bytes())];
        for (model, log) in [
            ("demo-whisper", (Some(3.0), None, Some(0.0003))),
            ("demo-large", (None, Some(25), Some(0.000_262_5))),
        ] {
            let answer = gateway.ask(&transcription(model, &format_field)).await;
            let case = format!("{format} {model}");
            assert_eq!(answer.status, 200, "{case}: {}", answer.text());
            let sent_type = answer.headers.get("content-type");
            assert_eq!(sent_type, Some(content_type), "{case}");
            assert!(
                answer.text().starts_with(start),
                "{case}: {}",
                answer.text()
            );
            let line = gateway.log_of(&answer).await;
            let settlement = if usage { "complete" } else { "usage_missing" };
            assert_eq!(line["settlement"], settlement, "{case}: {line}");
            let logged = (
                line["audio_seconds"].as_f64(),
                line["input_tokens"].as_u64(),
                line["cost"].as_f64(),
            );
            let expected = if usage { log } else { (None, None, None) };
            assert_eq!(logged, expected, "{case}: {line}");
        }
    }
    let metrics = gateway.metrics().await;
    let whisper = [("model", "demo-whisper")];
    assert_eq!(metrics.sum("headgate_audio_seconds_total", &whisper), 9.0);
    let cost = metrics.sum("headgate_cost_total", &whisper);
    assert!((cost - 0.0009).abs() < 1e-9, "{cost}");
    let unmetered = [("settlement", "usage_missing")];
    assert_eq!(metrics.sum("headgate_settlements_total", &unmetered), 6.0);
    assert_eq!(metrics.sum("headgate_unpriced_requests_total", &[]), 0.0);
}

#[tokio::test]
async fn the_duration_of_a_response_counts_once_and_only_in_place_of_usage() {
    let usage = json!({"type": "duration", "seconds": 4});
    for (settlement, seconds, members) in [
        ("complete", Some(8.47), json!({"duration": 8.47})),
        (
            "complete",
            Some(8.47),
            json!({"duration": "8.470000267028809"}),
        ),
        (
            "complete",
            Some(8.47),
            json!({"duration": 8.47, "usage": null}),
        ),
        (
            "complete",
            Some(4.0),
            json!({"duration": 3.5, "usage": usage}),
        ),
        ("usage_missing", None, json!({"language": "english"})),
        ("usage_implausible", None, json!({"duration": 90_000})),
    ] {
        let mut body = members.clone();
        body["task"] = "transcribe".into();
        body["text"] = "Mind the gate".into();
        let provider = ScriptedProvider::answering(json_response(200, &body)).await;
        let mut config = serving(&provider.url(), &provider.url());
        config["prices"] = json!({"models": {"*": {"audio_minute": 0.006}}});
        let gateway = Gateway::start(&config).await;
        for endpoint in endpoints().into_iter().take(2) {
            let case = format!("{} {members}", endpoint.protocol);
            let answer = gateway.ask(&request(&endpoint, "demo-whisper")).await;
            assert_eq!(answer.json(), body, "{case}");
            let line = gateway.log_of(&answer).await;
            assert_eq!(line["settlement"], settlement, "{case}: {line}");
            let metered = line["audio_seconds"].as_f64();
            assert_eq!(metered, seconds, "{case}: {line}");
            let cost = seconds.map(|seconds: f64| seconds * 0.0001);
            let error = cost.unwrap_or_default() - line["cost"].as_f64().unwrap_or_default();
            assert!(error.abs() < 1e-9, "{case}: {line}");
            assert_eq!(line["cost"].is_null(), cost.is_none(), "{case}: {line}");
        }
        let metrics = gateway.metrics().await;
        let counted = metrics.sum("headgate_audio_seconds_total", &[]);
        let expected = seconds.unwrap_or_default() * 2.0;
        assert!((counted - expected).abs() < 1e-9, "{members}: {counted}");
    }
}

#[tokio::test]
async fn an_error_is_no_text_without_usage() {
    for (directives, settlement) in [
        ("status=400", "upstream_error"),
        ("no_usage", "usage_missing"),
    ] {
        let simulator = Simulator::start().await;
        let url = simulator.url_obeying(directives);
        let gateway = Gateway::start(&serving(&url, &url)).await;
        for streamed in ["false", "true"] {
            let stream = [("stream", streamed.as_bytes())];
            let answer = gateway.ask(&transcription("demo-large", &stream)).await;
            let line = gateway.log_of(&answer).await;
            let case = format!("{directives} {streamed}: {line}");
            assert_eq!(line["settlement"], settlement, "{case}");
            assert_eq!(line["input_tokens"], Value::Null, "{case}");
        }
    }
}

#[tokio::test]
async fn a_stream_of_a_transcription_passes_as_it_is_and_its_last_event_is_metered() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&serving(&simulator.url(), &simulator.url())).await;
    let stream = [("stream", &b"true"[..])];
    let answer = gateway.ask(&transcription("demo-large", &stream)).await;
    let text = answer.text();
    assert_eq!((answer.status, answer.whole), (200, true), "{text}");
    assert!(
        text.starts_with("data: {\"type\":\"transcript.text.delta\""),
        "{text}"
    );
    assert_eq!(text.matches("transcript.text.done").count(), 1, "{text}");
    assert!(!text.contains("[DONE]"), "{text}");
    let line = gateway.log_of(&answer).await;
    assert_eq!(line["settlement"], "complete", "{line}");
    let tokens = [&line["input_tokens"], &line["output_tokens"]];
    assert_eq!(tokens, [&json!(25), &json!(20)], "{line}");
    let cut = transcription("demo-large", &stream).simulate("cut_after=2");
    let answer = gateway.ask(&cut).await;
    assert!(answer.text().contains("\"error\""), "{}", answer.text());
    assert_eq!(gateway.log_of(&answer).await["settlement"], "upstream_cut");
}

#[tokio::test]
async fn seconds_with_decimal_places_are_metered_to_the_millisecond() {
    let body = r#"{"text":"Mind the gate","usage":{"type":"duration","seconds":8.47}}"#;
    let provider = ScriptedProvider::answering(json_response(200, body)).await;
    let mut config = serving(&provider.url(), &provider.url());
    config["prices"] = json!({"models": {"*": {"audio_minute": 0.006}}});
    let gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&transcription("demo-whisper", &[])).await;
    let line = gateway.log_of(&answer).await;
    assert_eq!(line["audio_seconds"], 8.47, "{line}");
    assert_eq!(line["cost"], 0.000_847, "{line}");
}

#[tokio::test]
async fn an_error_under_a_success_fails_over_and_a_text_is_no_error() {
    let failure = r#"{"error":{"message":"overloaded","type":"server_error","code":503}}"#;
    let text = "error: is what the speaker said\n";
    for (response, attempts) in [
        (json_response(200, failure), 2),
        (typed_response(200, "text/plain", failure), 2),
        (typed_response(200, "text/plain; charset=utf-8", text), 1),
        (typed_response(200, "text/plain", "{laughs} Hello."), 1),
        // Nobody has said anything.
        (typed_response(200, "text/plain", ""), 1),
    ] {
        let provider = ScriptedProvider::answering(response).await;
        let simulator = Simulator::start().await;
        let gateway = Gateway::start(&serving(&provider.url(), &simulator.url())).await;
        let answer = gateway.ask(&transcription("demo-large", &[])).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let line = gateway.log_of(&answer).await;
        assert_eq!(line["attempts"], attempts, "{line}");
    }
}
