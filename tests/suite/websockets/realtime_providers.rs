//! Tests of sessions whose provider refuses, lies, breaks off or leaves, and of clients that leave theirs.

use super::realtime::{event_of_type, open, session, with_sessions};
use crate::harness::http_response::json_response;
use crate::harness::session_provider::{Acceptance, SessionProvider, server_frame};
use crate::harness::websocket::{CLOSE, PING, TEXT};
use crate::harness::{Gateway, ScriptedProvider, Simulator, config, eventually};
use serde_json::{Value, json};
use std::time::Duration;

const CREATED: &[u8] = br#"{"type":"session.created"}"#;

async fn with_provider(
    acceptance: Acceptance,
    sends: Vec<u8>,
    ends_after: Option<Duration>,
) -> (Gateway, SessionProvider) {
    let provider = SessionProvider::start(acceptance, sends, ends_after).await;
    let config = with_sessions(&provider.url());
    (Gateway::start(&config).await, provider)
}

#[tokio::test]
async fn a_101_that_is_none_of_the_handshake_opens_no_session() {
    use Acceptance::{Besides, Instead, Response};
    let accept = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";
    for acceptance in [
        Instead(""),
        Instead(accept),
        Besides("Sec-WebSocket-Extensions: permessage-deflate\r\n"),
        Besides("Sec-WebSocket-Protocol: realtime\r\n"),
        Response("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"),
        Response(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        ),
        Response(
            "HTTP/1.1 302 Found\r\nLocation: https://evil.example\r\nContent-Length: 0\r\n\r\n",
        ),
    ] {
        let (gateway, provider) = with_provider(acceptance, Vec::new(), None).await;
        let answer = gateway.ask(&session()).await;
        assert_eq!(answer.status, 502, "{acceptance:?}: {}", answer.text());
        let code = answer.json()["error"]["code"].clone();
        assert_eq!(code, "upstream_error", "{acceptance:?}");
        let closed = async || (provider.closed() == 1).then_some(());
        eventually("the end of the provider's connection", closed).await;
    }
}

#[tokio::test]
async fn a_handshake_that_one_channel_refuses_is_made_at_the_next() {
    let refusal = r#"{"error":{"message":"busy","type":"server_error","code":null}}"#;
    let busy = ScriptedProvider::answering(json_response(503, refusal)).await;
    let provider =
        SessionProvider::start(Acceptance::Right, server_frame(TEXT, CREATED), None).await;
    let mut config = with_sessions(&busy.url());
    let mut second = config["channels"]["voice"].clone();
    second["base_url"] = provider.url().into();
    second["tier"] = json!(1);
    config["channels"]["second"] = second;
    let gateway = Gateway::start(&config).await;
    open(&gateway).await;
    let line = gateway.log_line(|line| line["status"] == 101).await;
    assert_eq!(
        (&line["attempts"], &line["channel"]),
        (&json!(2), &json!("second")),
        "{line}"
    );
    let head = provider.heads().remove(0);
    assert!(
        head.starts_with("GET /v1/realtime?model=gpt-realtime HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(head.contains(config::CREDENTIALS[0]), "{head}");
    assert!(!head.to_ascii_lowercase().contains("content-"), "{head}");
    // Without another channel, the refusal is the caller's.
    config["channels"].as_object_mut().unwrap().remove("second");
    gateway.reload(&config).await;
    let answer = gateway.ask(&session()).await;
    assert_eq!(answer.status, 503, "{}", answer.text());
}

#[tokio::test]
async fn frames_to_the_provider_are_masked_and_its_pings_are_answered() {
    let sends = [
        server_frame(TEXT, CREATED),
        server_frame(PING, b"are you there"),
        // In fragments.
        server_frame(0x01, br#"{"type":"#),
        server_frame(0x80, br#""custom.event"}"#),
    ];
    let (gateway, provider) = with_provider(Acceptance::Right, sends.concat(), None).await;
    let mut client = open(&gateway).await;
    assert_eq!(client.event().await["type"], "custom.event");
    let long = json!({"type": "input_audio_buffer.append", "audio": "A".repeat(1000)});
    client.send(&long).await;
    let received = async || (provider.texts().len() == 2).then(|| provider.texts());
    let texts = eventually("the pong and the event", received).await;
    assert_eq!(texts, ["are you there".to_owned(), long.to_string()]);
}

#[tokio::test]
async fn secrets_that_a_provider_repeats_are_masked() {
    let secret = config::CREDENTIALS[0];
    let event = json!({"type": "custom.event", "text": format!("key {secret}")}).to_string();
    let sends = [
        server_frame(TEXT, CREATED),
        server_frame(TEXT, event.as_bytes()),
    ];
    let (gateway, _provider) = with_provider(Acceptance::Right, sends.concat(), None).await;
    let mut client = open(&gateway).await;
    let event = client.event().await;
    assert_eq!(event["text"], format!("key {}", "*".repeat(secret.len())));
}

#[tokio::test]
async fn the_end_of_a_providers_session_ends_the_clients() {
    let close = |code: u16, text: &str| [&code.to_be_bytes(), text.as_bytes()].concat();
    let masked = {
        let mut frame = crate::harness::websocket::client_frame(TEXT, CREATED);
        frame.extend(server_frame(TEXT, CREATED));
        frame
    };
    for (sends, code) in [
        (server_frame(CLOSE, &close(1001, "expired")), 1001),
        (server_frame(CLOSE, &close(4001, "own code")), 4001),
        (server_frame(CLOSE, b""), 1011),
        // No frame of a server, and a reserved opcode.
        (masked, 1011),
        (server_frame(0x83, b""), 1011),
        (server_frame(0x82, b"binary"), 1011),
        // The connection just ends.
        (Vec::new(), 1011),
    ] {
        let sends = [server_frame(TEXT, CREATED), sends].concat();
        let after = Duration::from_millis(200);
        let (gateway, _provider) = with_provider(Acceptance::Right, sends, Some(after)).await;
        let mut client = open(&gateway).await;
        assert_eq!(client.close_code().await, Some(code));
        let ended = async || {
            let metrics = gateway.metrics().await;
            let count = metrics.sum("headgate_websockets_ended_total", &[("reason", "provider")]);
            (count == 1.0).then_some(())
        };
        eventually("the end in the metrics", ended).await;
    }
}

#[tokio::test]
async fn the_end_of_a_response_counts_once_however_often_it_is_reported() {
    let done = json!({"type": "response.done", "response": {"id": "resp_1", "status": "completed",
        "usage": {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12}}})
    .to_string();
    let done = server_frame(TEXT, done.as_bytes());
    let sends = [
        server_frame(TEXT, CREATED),
        done.clone(),
        done.clone(),
        done,
        server_frame(TEXT, br#"{"type":"custom.event"}"#),
    ];
    let (gateway, _provider) = with_provider(Acceptance::Right, sends.concat(), None).await;
    let mut client = open(&gateway).await;
    event_of_type(&mut client, "custom.event").await;
    let counted = async || {
        let metrics = gateway.metrics().await;
        let tokens = metrics.sum("headgate_tokens_total", &[("kind", "input")]);
        (tokens > 0.0).then_some(tokens)
    };
    assert_eq!(eventually("the tokens in the metrics", counted).await, 7.0);
    client.send_frame(CLOSE, &1000_u16.to_be_bytes()).await;
    gateway.log_line(|line| line["websocket"] == true).await;
    let metrics = gateway.metrics().await;
    assert_eq!(
        metrics.sum("headgate_tokens_total", &[("kind", "input")]),
        7.0
    );
}

#[tokio::test]
async fn a_budget_in_money_pays_for_the_pieces_of_a_response_that_breaks_off() {
    let begun = json!({"type": "response.created", "response": {"id": "resp_1"}}).to_string();
    let delta =
        json!({"type": "response.output_text.delta", "response_id": "resp_1", "delta": "x"});
    let delta = server_frame(TEXT, delta.to_string().as_bytes());
    let sends = [
        server_frame(TEXT, CREATED),
        server_frame(TEXT, begun.as_bytes()),
        delta.repeat(50),
    ];
    let after = Some(Duration::from_millis(300));
    let provider = SessionProvider::start(Acceptance::Right, sends.concat(), after).await;
    let mut config = with_sessions(&provider.url());
    config["prices"] = json!({"models": {"voice": {"input": 10, "output": 1000}}});
    config["models"]["voice"] = json!({"context_window": 1000, "max_output_tokens": 100});
    config["callers"][0]["limits"] = json!({"cost_per_day": 10});
    let gateway = Gateway::start(&config).await;
    let mut client = open(&gateway).await;
    assert_eq!(client.close_code().await, Some(1011));
    gateway.log_line(|line| line["websocket"] == true).await;
    let metrics = gateway.metrics().await;
    let left = metrics.sum("headgate_budget_remaining", &[("caller", "ann")]);
    // 50 tokens of output, and few of input.
    assert!((9.94..=9.95).contains(&left), "{left}");
}

#[tokio::test]
async fn a_response_that_the_provider_breaks_off_is_cut() {
    let begun = json!({"type": "response.created", "response": {"id": "resp_1"}}).to_string();
    let sends = [
        server_frame(TEXT, CREATED),
        server_frame(TEXT, begun.as_bytes()),
    ];
    let after = Some(Duration::from_millis(200));
    let (gateway, _provider) = with_provider(Acceptance::Right, sends.concat(), after).await;
    let mut client = open(&gateway).await;
    assert_eq!(client.event().await["type"], "response.created");
    assert_eq!(client.close_code().await, Some(1011));
    let line = gateway.log_line(|line| line["websocket"] == true).await;
    assert_eq!(line["settlement"], "upstream_cut", "{line}");
}

#[tokio::test]
async fn a_client_that_leaves_pays_for_what_was_generated_until_then() {
    let simulator = Simulator::start_with(&["--event-ms", "50"]).await;
    let gateway = Gateway::start(&with_sessions(&simulator.url())).await;
    let mut client = open(&gateway).await;
    client.send(&json!({"type": "response.create"})).await;
    event_of_type(&mut client, "response.created").await;
    drop(client);
    let line = gateway.log_line(|line| line["websocket"] == true).await;
    assert_eq!(line["settlement"], "client_cancelled", "{line}");
    assert!(line["output_tokens"].as_u64() > Some(0), "{line}");
}

#[tokio::test]
async fn a_client_that_leaves_closes_the_providers_session() {
    let (gateway, provider) =
        with_provider(Acceptance::Right, server_frame(TEXT, CREATED), None).await;
    let mut client = open(&gateway).await;
    client.send_frame(CLOSE, &1000_u16.to_be_bytes()).await;
    let closed = async || (provider.closed() == 1).then(|| provider.texts());
    let texts = eventually("the end of the provider's session", closed).await;
    assert!(texts[0].ends_with("the client has left"), "{texts:?}");
}

#[tokio::test]
async fn a_shutdown_closes_sessions_once_their_responses_have_ended() {
    let simulator = Simulator::start_with(&["--event-ms", "20"]).await;
    let gateway = Gateway::start(&with_sessions(&simulator.url())).await;
    let mut idle = open(&gateway).await;
    let mut busy = open(&gateway).await;
    busy.send(&json!({"type": "response.create"})).await;
    event_of_type(&mut busy, "response.created").await;
    gateway.process.signal(libc::SIGTERM);
    assert_eq!(idle.close_code().await, Some(1001));
    let done: Value = event_of_type(&mut busy, "response.done").await;
    assert_eq!(done["response"]["status"], "completed", "{done}");
    assert_eq!(busy.close_code().await, Some(1001));
}

#[tokio::test]
async fn a_channel_with_room_for_one_session_refuses_a_second_one() {
    let provider =
        SessionProvider::start(Acceptance::Right, server_frame(TEXT, CREATED), None).await;
    let mut config = with_sessions(&provider.url());
    config["channels"]["voice"]["limits"] = json!({"concurrent": 1});
    let gateway = Gateway::start(&config).await;
    let first = open(&gateway).await;
    let answer = gateway.ask(&session()).await;
    assert_eq!(answer.status, 503, "{}", answer.text());
    drop(first);
    let reopened = async || {
        let mut connection = gateway.connect().await;
        connection.send(&session().bytes()).await.unwrap();
        let (status, _) = connection.head().await?;
        (status == 101).then_some(())
    };
    eventually("room for another session", reopened).await;
}
