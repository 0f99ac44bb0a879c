//! Tests of the first and the last event of streams: what a provider leaves out, and how long it keeps a stream open.

use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, config};
use headgate_protocol::Protocol;
use serde_json::json;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// Whole streams of the protocols, without the end of the body.
const STREAMS: [(Protocol, &str, &str); 4] = [
    (
        Protocol::Chat,
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n",
        "complete",
    ),
    (
        Protocol::Messages,
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":4,\"output_tokens\":1},\"stop_reason\":null,\"stop_sequence\":null}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"input_tokens\":0,\"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        "complete",
    ),
    (
        Protocol::Responses,
        "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"usage\":{\"input_tokens\":4,\"output_tokens\":2}}}\n\n",
        "complete",
    ),
    (
        Protocol::Responses,
        "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\",\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"m\"}}}\n\n",
        "upstream_error",
    ),
];

fn chunked(events: &str) -> Vec<u8> {
    let length = events.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{events}\r\n").into_bytes()
}

async fn gateway(provider: &ScriptedProvider) -> Gateway {
    let mut config = config::standard(&provider.url());
    config::without_cool_downs(&mut config);
    Gateway::start(&config).await
}

#[tokio::test]
async fn a_stream_ends_with_its_last_event_although_the_provider_keeps_it_open() {
    for (protocol, events, settlement) in STREAMS {
        let provider = ScriptedProvider::start(vec![
            ScriptedResponse::Send(chunked(events)),
            ScriptedResponse::Wait(HOUR),
        ])
        .await;
        let gateway = gateway(&provider).await;
        // The test would hang here if the gateway waited for the provider.
        let answer = gateway.ask(&Request::ask_stream(protocol)).await;
        assert_eq!((answer.text(), answer.whole), (events.into(), true));
        let line = gateway.log_of(&answer).await;
        assert_eq!(line["settlement"], settlement, "{line}");
        assert!(
            protocol != Protocol::Messages || line["input_tokens"] == 4,
            "{line}"
        );
    }
}

#[tokio::test]
async fn a_provider_that_ends_its_stream_a_little_later_keeps_its_connection() {
    for (protocol, events, _) in STREAMS {
        let provider = ScriptedProvider::start(vec![
            ScriptedResponse::Send(chunked(events)),
            ScriptedResponse::Wait(Duration::from_millis(50)),
            ScriptedResponse::Send(b"0\r\n\r\n".to_vec()),
        ])
        .await;
        let gateway = gateway(&provider).await;
        for _ in 0..3 {
            let answer = gateway.ask(&Request::ask_stream(protocol)).await;
            assert_eq!((answer.status, answer.whole), (200, true));
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert_eq!(provider.connections(), [0, 0, 0], "{protocol:?}");
    }
}

#[tokio::test]
async fn a_message_start_gets_the_members_that_it_lacks_and_nothing_else_changes() {
    let start = |members: &str| {
        format!(
            "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"id\":\"m\",\"usage\":{{\"input_tokens\":4}}{members}}}}}\n\n: comment\n\nevent: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
        )
    };
    let sent = start("");
    let expected = start(",\"stop_reason\":null,\"stop_sequence\":null");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    for cut in [0, 20, 60, sent.len()] {
        let (first, rest) = sent.split_at(cut);
        let provider = ScriptedProvider::start(vec![
            ScriptedResponse::Send(format!("{head}{first}").into_bytes()),
            ScriptedResponse::Wait(Duration::from_millis(50)),
            ScriptedResponse::Send(rest.into()),
            ScriptedResponse::Close,
        ])
        .await;
        let gateway = gateway(&provider).await;
        let answer = gateway.ask(&Request::ask_stream(Protocol::Messages)).await;
        assert_eq!(answer.text(), expected, "{cut}");
    }
}

#[tokio::test]
async fn a_provider_that_switches_protocols_unasked_is_an_error() {
    let switch = "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n";
    let good = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{\"id\":\"ok\"}";
    let provider = ScriptedProvider::answering(format!("{switch}{good}")).await;
    let gateway = gateway(&provider).await;
    for _ in 0..2 {
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(answer.status, 502, "{}", answer.text());
        assert_eq!(answer.json()["error"]["code"], json!("upstream_error"));
    }
    assert_eq!(provider.connections(), [0, 1]);
}
