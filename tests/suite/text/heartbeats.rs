//! Tests of keep-alive comments: only between the events of a silent stream, whose bytes stay the same.

use crate::harness::error_shape::assert_error_event;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, WholeResponse, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;

const COMMENT: &str = ": heartbeat\n\n";
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
const EVENT: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word\"}}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";
/// Enough time for several keep-alive comments.
const INTERVAL: Duration = Duration::from_millis(800);

fn send(text: &str) -> ScriptedResponse {
    ScriptedResponse::Send(text.into())
}

/// The stream that a caller receives from a provider that applies `acts`, through a gateway with keep-alive comments.
async fn streamed(
    acts: Vec<ScriptedResponse>,
    change: impl FnOnce(&mut Value),
) -> (Gateway, WholeResponse) {
    let acts = [vec![send(HEAD)], acts].concat();
    let provider = ScriptedProvider::start(acts).await;
    let mut config = config::standard(&provider.url());
    let response = json!(["pass_sse", {"heartbeat": {"interval": "100ms"}}, "meter_usage"]);
    config::route(&mut config, "chat")["response"] = response;
    change(&mut config);
    let gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&Request::ask_stream(Protocol::Chat)).await;
    (gateway, answer)
}

#[tokio::test]
async fn keep_alive_comments_are_sent_between_events_only() {
    let (start, end) = EVENT.split_at(20);
    let wait = ScriptedResponse::Wait(INTERVAL);
    // The pieces that the provider sends, with silence between them, and between which of them comments are allowed.
    let cases: [(&[&str], &[bool]); 6] = [
        (&[EVENT, EVENT, DONE], &[true, true]),
        (&["", EVENT, DONE], &[true, true]),
        (&[EVENT, start, &format!("{end}{DONE}")], &[true, false]),
        (&[start, end, DONE], &[false, true]),
        (&["data: {}\n", "\n", DONE], &[false, true]),
        (&[EVENT, DONE, ""], &[true, false]),
    ];
    for (pieces, comments) in cases {
        let mut acts = Vec::new();
        for piece in pieces {
            acts.extend([send(piece), wait.clone()]);
        }
        acts.pop();
        acts.push(ScriptedResponse::Close);
        let (_gateway, answer) = streamed(acts, |_| {}).await;
        let text = answer.text();
        assert_eq!(text.replace(COMMENT, ""), pieces.concat(), "{pieces:?}");
        let mut rest = &*text;
        for (piece, comments) in pieces.iter().zip(comments) {
            rest = rest
                .strip_prefix(piece)
                .unwrap_or_else(|| panic!("{piece:?}: {text}"));
            let count = rest.len() - rest.trim_start_matches(COMMENT).len();
            assert_eq!(
                count > 0,
                *comments,
                "behind {piece:?} of {pieces:?}: {text}"
            );
            rest = rest.trim_start_matches(COMMENT);
        }
    }
}

#[tokio::test]
async fn without_the_filter_a_silent_stream_stays_silent() {
    let acts = vec![
        send(EVENT),
        ScriptedResponse::Wait(INTERVAL),
        send(DONE),
        ScriptedResponse::Close,
    ];
    let (_gateway, answer) = streamed(acts, |config| {
        config::route(config, "chat")["response"] = json!(["pass_sse"]);
    })
    .await;
    assert_eq!(answer.text(), format!("{EVENT}{DONE}"));
}

#[tokio::test]
async fn rewritten_streams_get_comments_during_a_partial_event() {
    let (start, end) = EVENT.split_at(20);
    let acts = vec![
        send(start),
        ScriptedResponse::Wait(INTERVAL),
        send(end),
        send(DONE),
        ScriptedResponse::Close,
    ];
    let (_gateway, answer) = streamed(acts, |config| {
        let response =
            json!([{"heartbeat": {"interval": "100ms"}}, {"restore_model": {"streams": true}}]);
        config::route(config, "chat")["response"] = response;
    })
    .await;
    let text = answer.text();
    assert!(text.starts_with(COMMENT), "{text}");
    assert_eq!(text.trim_start_matches(COMMENT), format!("{EVENT}{DONE}"));
}

#[tokio::test]
async fn comments_do_not_extend_the_idle_timeout() {
    let acts = vec![send(EVENT), ScriptedResponse::Wait(INTERVAL * 100)];
    let (gateway, answer) = streamed(acts, |config| {
        config["channels"]["openai"]["timeouts"] = json!({"idle": "1s"});
    })
    .await;
    assert!(answer.text().contains(COMMENT), "{}", answer.text());
    assert_error_event(Protocol::Chat, &answer);
    let line = gateway.log_of(&answer).await;
    assert_eq!(line["settlement"], "upstream_cut", "{line}");
    assert!(
        line["upstream_longest_wait_ms"].as_f64() >= Some(900.0),
        "{line}"
    );
}

#[tokio::test]
async fn a_heartbeat_does_not_wait_for_a_stream_that_is_held_for_another_channel() {
    let framing = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n";
    let acts = vec![
        send(framing),
        ScriptedResponse::Wait(INTERVAL),
        send(EVENT),
        send(DONE),
        ScriptedResponse::Close,
    ];
    let (_gateway, answer) = streamed(acts, |config| {
        let mut other = config["channels"]["openai"].clone();
        other["tier"] = 1.into();
        config["channels"]["other"] = other;
        config::route(config, "chat")["failover"] = json!({"buffer_first_events": {"time": "1h"}});
    })
    .await;
    let text = answer.text();
    assert!(text.starts_with(&format!("{framing}{COMMENT}")), "{text}");
    assert_eq!(text.replace(COMMENT, ""), format!("{framing}{EVENT}{DONE}"));
}
