//! Tests of streams that end without their last event: the caller must notice, and complete streams must pass.

use crate::harness::config::route;
use crate::harness::error_shape::assert_error_event;
use crate::harness::whole_streams::whole;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, WholeResponse, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const CHUNKED: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const UNTIL_CLOSE: &str = "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

/// The protocols with streams.
const STREAMING: [Protocol; 4] = [
    Protocol::Chat,
    Protocol::Messages,
    Protocol::Responses,
    Protocol::ImageEdit,
];

/// How a provider frames its stream.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Framing {
    Chunked,
    UntilClose,
}

/// The standard configuration with a route for image edits, all with `provider`.
fn before(provider: &ScriptedProvider) -> Value {
    let mut config = config::standard(&provider.url());
    config["channels"]["openai"]["protocols"] = json!(["chat", "responses", "image_edit"]);
    let routes = config["routes"].as_array_mut().unwrap();
    routes.push(
        json!({"name": "image_edit", "match": "POST /v1/images/edits", "protocol": "image_edit",
        "request": [{"use": "body"}], "response": ["pass_sse", "meter_usage"]}),
    );
    config::without_cool_downs(&mut config);
    config
}

fn answer(framing: Framing, stream: &str) -> Vec<ScriptedResponse> {
    match framing {
        Framing::Chunked => {
            let body = match stream {
                "" => String::new(),
                some => format!("{:x}\r\n{some}\r\n", some.len()),
            };
            vec![ScriptedResponse::Send(
                format!("{CHUNKED}{body}0\r\n\r\n").into(),
            )]
        }
        Framing::UntilClose => vec![
            ScriptedResponse::Send(format!("{UNTIL_CLOSE}{stream}").into()),
            ScriptedResponse::Close,
        ],
    }
}

/// A gateway and a provider of streams.
struct Streams {
    provider: ScriptedProvider,
    gateway: Gateway,
}

impl Streams {
    async fn start(change: impl FnOnce(&mut Value)) -> Self {
        let provider = ScriptedProvider::start(vec![]).await;
        let mut config = before(&provider);
        change(&mut config);
        let gateway = Gateway::start(&config).await;
        Self { provider, gateway }
    }

    /// The response for a caller if the provider ends its response cleanly after `stream`.
    async fn ask(&self, protocol: Protocol, framing: Framing, stream: &str) -> WholeResponse {
        self.provider.next(answer(framing, stream));
        self.gateway.ask(&Request::ask_stream(protocol)).await
    }
}

fn joined(events: &[&str], line_end: &str) -> String {
    let event = |event: &&str| format!("{}{line_end}{line_end}", event.replace('\n', line_end));
    events.iter().map(event).collect()
}

async fn assert_cut(protocol: Protocol, gateway: &Gateway, answer: &WholeResponse, sent: &str) {
    let text = answer.text();
    assert_eq!(
        (answer.status, answer.whole),
        (200, false),
        "{protocol:?} {sent:?}: {text}"
    );
    assert!(text.starts_with(sent), "{sent:?}: {text}");
    assert!(!text.contains("[DONE]"), "{text}");
    let line = gateway.log_of(answer).await;
    assert_eq!(line["settlement"], "upstream_cut", "{line}");
    assert_eq!(line["error_code"], "upstream_error", "{line}");
}

#[tokio::test]
async fn a_stream_that_ends_before_its_last_event_gets_an_error_event_and_no_clean_end() {
    let streams = Streams::start(|_| {}).await;
    for protocol in STREAMING {
        let (events, of) = whole(protocol);
        let without_end = match protocol {
            Protocol::Chat => 3,
            _ => of - 1,
        };
        for count in 0..=without_end {
            for (framing, line_end) in [
                (Framing::Chunked, "\n"),
                (Framing::UntilClose, "\r\n"),
                (Framing::Chunked, "\r"),
            ] {
                let stream = joined(&events[..count], line_end);
                let answer = streams.ask(protocol, framing, &stream).await;
                assert_cut(protocol, &streams.gateway, &answer, &stream).await;
                if line_end == "\n" {
                    assert_error_event(protocol, &answer);
                } else {
                    let rest = &answer.text()[stream.len()..];
                    assert!(rest.contains("\"message\":\"the provider"), "{rest}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_within_an_event_has_no_clean_end() {
    let streams = Streams::start(|_| {}).await;
    for protocol in STREAMING {
        let (events, _) = whole(protocol);
        let last = match protocol {
            Protocol::Chat => 3,
            _ => events.len() - 1,
        };
        let before_last = joined(&events[..last], "\n");
        let whole = joined(&events[..=last], "\n");
        // Also within line ends: an event is complete only with its blank line.
        for cut in [
            1,
            8,
            20,
            whole.len() - before_last.len() - 2,
            whole.len() - before_last.len() - 1,
        ] {
            let stream = &whole[..before_last.len() + cut];
            let answer = streams.ask(protocol, Framing::Chunked, stream).await;
            assert_cut(protocol, &streams.gateway, &answer, stream).await;
            assert_eq!(
                answer.text(),
                stream,
                "behind half an event nothing can be read"
            );
        }
    }
}

#[tokio::test]
async fn where_events_are_written_whole_half_an_event_makes_way_for_the_error() {
    let (events, _) = whole(Protocol::Chat);
    let first = joined(&events[..2], "\n");
    let stream = format!("{first}{}", &events[2][..30]);
    let streams = Streams::start(|config| {
        route(config, "chat")["response"] = json!([{"restore_model": {"streams": true}}]);
    })
    .await;
    let answer = streams.ask(Protocol::Chat, Framing::Chunked, &stream).await;
    assert_cut(Protocol::Chat, &streams.gateway, &answer, &first).await;
    assert_error_event(Protocol::Chat, &answer);
    assert!(!answer.text().contains(events[2]), "{}", answer.text());
}

#[tokio::test]
async fn a_whole_stream_passes_as_it_is_and_ends_well() {
    let chat = whole(Protocol::Chat).0;
    let named = |name: &str| format!("event: {name}\ndata: {{\"type\":\"{name}\"}}\n\n");
    let unnamed = |name: &str| format!("data: {{\"type\":\"{name}\"}}\n\n");
    let two_choices = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}},{\"index\":1,\"delta\":{\"content\":\"b\"}}]}\n\n\
        data: {\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let large = "x".repeat(17 << 20);
    let mut table = vec![
        (Protocol::Chat, joined(&chat[..4], "\n")),
        (Protocol::Chat, joined(&chat[..5], "\n")),
        (Protocol::Chat, joined(&chat[..3], "\n") + "data: [DONE]\n\n"),
        (Protocol::Chat, joined(&chat[..3], "\n") + "data: [DONE]"),
        (Protocol::Chat, joined(&chat[..4], "\n") + "data: [DONE]\n"),
        (Protocol::Chat, joined(chat, "\r\n")),
        (Protocol::Chat, joined(chat, "\r")),
        (Protocol::Chat, joined(chat, "\n") + ": bye\n\n"),
        (Protocol::Chat, two_choices.to_string()),
        (Protocol::Chat, "data: {\"choices\": [ {\"finish_reason\" : \"stop\"} ]}\n\n".to_string()),
        // A provider's own error is the last event; the gateway adds no second one.
        (Protocol::Chat, "data: {\"error\":{\"message\":\"no\"}}\n\n".to_string()),
        (Protocol::Messages, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"no\"}}\n\n".to_string()),
        (Protocol::Responses, "event: error\ndata: {\"type\":\"error\",\"message\":\"no\"}\n\n".to_string()),
        (Protocol::Responses, "data: {\"error\":{\"message\":\"no\"}}\n\n".to_string()),
        (Protocol::ImageEdit, "event: error\ndata: {\"error\":{\"message\":\"no\"}}\n\n".to_string()),
        (Protocol::ImageEdit, "data: {\"error\":{\"message\":\"no\"}}\n\n".to_string()),
        // Oversize events, of which only the name is read.
        (Protocol::ImageEdit, format!("event: image_edit.completed\ndata: {{\"b64_json\":\"{large}\"}}\n\n")),
        (Protocol::Responses, format!("data: {{\"type\":\"response.completed\",\"response\":\"{large}\"}}\n\n")),
    ];
    for (protocol, names) in [
        (Protocol::Messages, &["message_stop"][..]),
        (
            Protocol::Responses,
            &[
                "response.completed",
                "response.failed",
                "response.incomplete",
                "response.cancelled",
            ],
        ),
        (
            Protocol::ImageEdit,
            &["image_edit.completed", "image_generation.completed"],
        ),
    ] {
        for name in names {
            table.push((protocol, named(name)));
            table.push((protocol, named(name) + ": ping\n\n"));
            if protocol != Protocol::Messages {
                table.push((protocol, unnamed(name)));
            }
        }
    }
    let streams = Streams::start(|_| {}).await;
    for (protocol, stream) in table {
        let shown = &stream[..stream.len().min(300)];
        let answer = streams.ask(protocol, Framing::Chunked, &stream).await;
        assert_eq!(
            (answer.status, answer.whole),
            (200, true),
            "{protocol:?} {shown:?}"
        );
        assert!(
            answer.text() == stream,
            "{shown:?}: {}",
            &answer.text()[..answer.text().len().min(600)]
        );
        let line = streams.gateway.log_of(&answer).await;
        assert_ne!(line["settlement"], "upstream_cut", "{line}");
        assert_eq!(line["error_code"], Value::Null, "{line}");
    }
}

#[tokio::test]
async fn what_looks_like_a_last_event_and_is_none_ends_nothing() {
    let large = "x".repeat(17 << 20);
    let half = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}},{\"index\":1,\"delta\":{\"content\":\"b\"}}]}\n\n\
        data: {\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let table = [
        // One of the two requested choices is not finished.
        (Protocol::Chat, half.to_string()),
        (Protocol::Messages, "data: [DONE]\n\n".to_string()),
        (Protocol::Responses, "data: [DONE]\n\n".to_string()),
        (Protocol::Messages, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n".to_string()),
        // Clients of this protocol ignore events without a name.
        (Protocol::Messages, "data: {\"error\":{\"message\":\"no\"}}\n\n".to_string()),
        (Protocol::ImageEdit, format!("event: image_edit.partial_image\ndata: {{\"b64_json\":\"{large}\"}}\n\n")),
    ];
    let Streams { provider, gateway } = Streams::start(|_| {}).await;
    for (protocol, stream) in table {
        let shown = &stream[..stream.len().min(300)];
        provider.next(answer(Framing::Chunked, &stream));
        let mut body = crate::harness::body_of(protocol);
        body["stream"] = true.into();
        if protocol == Protocol::Chat {
            body["n"] = 2.into();
        }
        let answer = gateway.ask(&Request::to(protocol, body.to_string())).await;
        assert!(!answer.whole, "{protocol:?} {shown:?}");
        let line = gateway.log_of(&answer).await;
        assert_eq!(line["settlement"], "upstream_cut", "{shown:?}: {line}");
        let text = answer.text();
        assert!(
            text[stream.len()..].contains("\"message\":\"the provider"),
            "{shown:?}"
        );
    }
}

#[tokio::test]
async fn a_channel_whose_streams_end_early_is_left_for_another() {
    let (events, _) = whole(Protocol::Chat);
    let cut = ScriptedProvider::start(answer(Framing::Chunked, &joined(&events[..3], "\n"))).await;
    let good = ScriptedProvider::start(answer(Framing::Chunked, &joined(events, "\n"))).await;
    let mut config = config::standard(&good.url());
    config["channels"]["cut"] = config["channels"]["openai"].clone();
    config["channels"]["cut"]["base_url"] = cut.url().into();
    config["channels"]["cut"]["health"] =
        json!({"consecutive_failures": 2, "cool_down": "60s", "cool_down_max": "60s"});
    config["channels"]["openai"]["tier"] = 1.into();
    let gateway = Gateway::start(&config).await;
    for whole in [false, false, true] {
        let answer = gateway.ask(&Request::ask_stream(Protocol::Chat)).await;
        assert_eq!(answer.whole, whole, "{}", answer.text());
    }
}

#[tokio::test]
async fn a_stream_that_ends_before_its_first_content_fails_over() {
    for protocol in [Protocol::Chat, Protocol::Messages, Protocol::Responses] {
        let (events, _) = whole(protocol);
        for stream in [String::new(), joined(&events[..1], "\n")] {
            let cut = ScriptedProvider::start(answer(Framing::Chunked, &stream)).await;
            let good =
                ScriptedProvider::start(answer(Framing::Chunked, &joined(events, "\n"))).await;
            let mut config = config::standard(&good.url());
            for name in ["openai", "messages"] {
                let mut first = config["channels"][name].clone();
                first["base_url"] = cut.url().into();
                config["channels"][format!("{name}-cut")] = first;
                config["channels"][name]["tier"] = 1.into();
            }
            let gateway = Gateway::start(&config).await;
            let answer = gateway.ask(&Request::ask_stream(protocol)).await;
            assert!(answer.whole, "{protocol:?}: {}", answer.text());
            assert_eq!(answer.text(), joined(events, "\n"));
            assert_eq!(cut.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_stream_without_a_protocol_is_left_alone() {
    let provider = ScriptedProvider::start(answer(Framing::Chunked, "data: {}\n\nhalf")).await;
    let mut config = config::standard(&provider.url());
    let routes = config["routes"].as_array_mut().unwrap();
    routes.push(json!({"name": "foreign", "match": "GET /v1/events",
        "request": ["authenticate", "first_channel"]}));
    let gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&Request::get("/v1/events")).await;
    assert_eq!(
        (answer.status, answer.whole),
        (200, true),
        "{}",
        answer.text()
    );
    assert_eq!(answer.text(), "data: {}\n\nhalf");
    assert_eq!(gateway.log_of(&answer).await["settlement"], "complete");
}

#[tokio::test]
async fn a_break_behind_the_last_event_breaks_nothing_and_behind_an_error_event_adds_none() {
    let Streams { provider, gateway } = Streams::start(|_| {}).await;
    for protocol in STREAMING {
        let (events, _) = whole(protocol);
        for (end, error) in [
            (ScriptedResponse::Close, false),
            (ScriptedResponse::Reset, false),
            (ScriptedResponse::Close, true),
        ] {
            let stream = match error {
                false => joined(events, "\n"),
                true => {
                    "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"no\"}}\n\n"
                        .into()
                }
            };
            // The last chunk is missing.
            let body = format!("{CHUNKED}{:x}\r\n{stream}\r\n", stream.len());
            let pause = ScriptedResponse::Wait(std::time::Duration::from_millis(100));
            provider.next(vec![ScriptedResponse::Send(body.into()), pause, end]);
            let answer = gateway.ask(&Request::ask_stream(protocol)).await;
            assert_eq!((answer.status, answer.whole), (200, !error), "{protocol:?}");
            assert_eq!(answer.text(), stream, "there is no second error event");
            let settlement = gateway.log_of(&answer).await["settlement"].clone();
            assert_eq!(settlement == "upstream_cut", error, "{settlement}");
        }
    }
}
