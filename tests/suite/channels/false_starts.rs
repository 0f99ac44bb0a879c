//! Tests of responses whose first bytes say little: streams that begin with a piece of a line, errors that arrive slowly, and
//! streams that end at once.

use super::false_successes::{scripted_then_good, unstored};
use crate::harness::{PROTOCOLS, ScriptedProvider, ScriptedResponse};
use headgate_protocol::Protocol;
use std::time::Duration;

const PAUSE: ScriptedResponse = ScriptedResponse::Wait(Duration::from_millis(30));

fn head(content_type: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n")
}

/// The pieces of a body that ends with its connection, with a pause after each.
fn in_pieces(content_type: &str, pieces: &[&str]) -> Vec<ScriptedResponse> {
    let mut acts = vec![ScriptedResponse::Send(head(content_type).into_bytes())];
    for piece in pieces {
        acts.extend([ScriptedResponse::Send(piece.as_bytes().to_vec()), PAUSE]);
    }
    acts.push(ScriptedResponse::Close);
    acts
}

#[tokio::test]
async fn a_stream_under_another_media_type_is_a_stream_however_short_its_first_piece_is() {
    let provider = ScriptedProvider::start(vec![]).await;
    let (gateway, good) = scripted_then_good(&provider).await;
    let stream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    for content_type in ["application/json", "text/plain", "application/octet-stream"] {
        for first in [1, 3, 5] {
            let (first, rest) = stream.split_at(first);
            provider.next(in_pieces(content_type, &[first, rest]));
            let answer = gateway.ask(&unstored(Protocol::Chat, true)).await;
            assert_eq!(answer.text(), stream, "{content_type} {first}");
            let line = gateway.log_of(&answer).await;
            assert_eq!(line["channel"], "bad", "{content_type} {first}: {line}");
            assert_eq!(line["streamed"], true, "{content_type} {first}: {line}");
        }
    }
    assert_eq!(good.records().await.len(), 0);
}

#[tokio::test]
async fn an_error_that_arrives_slowly_is_no_success() {
    let provider = ScriptedProvider::start(vec![]).await;
    let (gateway, _good) = scripted_then_good(&provider).await;
    let error = [r#"{"error":"#, r#"{"message":"over"#, r#"loaded"}}"#];
    for protocol in PROTOCOLS {
        let mut acts = in_pieces("application/json", &error);
        acts.insert(2, ScriptedResponse::Wait(Duration::from_millis(1300)));
        provider.next(acts);
        let answer = gateway.ask(&unstored(protocol, false)).await;
        assert_eq!(answer.status, 200, "{protocol:?}: {}", answer.text());
        let line = gateway.log_of(&answer).await;
        assert_eq!(line["channel"], "good", "{protocol:?}: {line}");
    }
}

#[tokio::test]
async fn a_response_with_nothing_in_it_is_answered_by_the_next_channel() {
    let provider = ScriptedProvider::start(vec![]).await;
    let (gateway, _good) = scripted_then_good(&provider).await;
    for (content_type, body, is_stream) in [
        ("text/event-stream", "data: [DONE]\n\n", true),
        ("text/event-stream", "data: null\n\ndata: [DONE]\n\n", true),
        ("text/event-stream", "data: Internal server error\n\n", true),
        (
            "application/octet-stream",
            r#"{"error":{"message":"x"}}"#,
            false,
        ),
        ("image/png", r#"{"error":{"message":"x"}}"#, true),
        ("application/json", r#"{"error":503}"#, false),
    ] {
        provider.next(in_pieces(content_type, &[body]));
        let answer = gateway.ask(&unstored(Protocol::Chat, is_stream)).await;
        let line = gateway.log_of(&answer).await;
        assert_eq!(line["channel"], "good", "{content_type} {body}: {line}");
    }
}
