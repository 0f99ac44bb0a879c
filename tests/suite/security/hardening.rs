//! Tests of hostile callers and providers: no leak, no hang, and no request is sent twice.

use crate::harness::config::{self, CREDENTIALS};
use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::{http_response, json_response};
use crate::harness::{
    Gateway, PROTOCOLS, Request, ScriptedProvider, ScriptedResponse, TestSetup, body_of,
    eventually, path_of,
};
use headgate_protocol::Protocol;
use serde_json::json;
use std::time::Duration;
use tokio::task::JoinSet;

/// A small valid response.
const GOOD: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"id\":\"ok\"}";

async fn before(provider: &ScriptedProvider) -> Gateway {
    Gateway::start(&config::standard(&provider.url())).await
}

#[tokio::test]
async fn a_request_that_a_provider_took_is_not_sent_again_and_again() {
    const POOLED: usize = 6;
    for (working, sent_most) in [(Duration::ZERO, 2), (Duration::from_millis(200), 1)] {
        // Concurrent requests take one connection each, and leave them in the pool.
        let together = ScriptedResponse::Wait(Duration::from_millis(500));
        let answer = ScriptedResponse::Send(GOOD.to_vec());
        let acts = vec![
            together,
            answer,
            ScriptedResponse::Read,
            ScriptedResponse::Wait(working),
            ScriptedResponse::Close,
        ];
        let provider = ScriptedProvider::start(acts).await;
        let gateway = before(&provider).await;
        let mut first = JoinSet::new();
        for _ in 0..POOLED {
            let mut connection = gateway.connect().await;
            first.spawn(async move { connection.ask(&Request::ask(Protocol::Chat)).await.status });
        }
        assert_eq!(first.join_all().await, [200; POOLED]);
        assert_eq!(provider.requests().len(), POOLED);
        let marked = Request::ask(Protocol::Chat).header("x-mark", "once");
        let answer = gateway.ask(&marked).await;
        let taken = provider.requests();
        let taken = taken.iter().filter(|request| request.contains("x-mark"));
        assert_eq!(taken.count(), sent_most, "{working:?}: {}", answer.text());
        match sent_most {
            // The repeated request uses a connection that is not closed.
            2 => assert_eq!(answer.status, 200, "{}", answer.text()),
            _ => drop(assert_error_body(Protocol::Chat, &answer, 502)),
        }
    }
}

#[tokio::test]
async fn a_caller_that_stops_reading_is_cut() {
    let world = TestSetup::with(|config| {
        config["server"]["limits"] = json!({"write_timeout": "1s"});
    })
    .await;
    for request in [
        Request::ask_stream(Protocol::Chat).simulate("body_bytes=100000000; event_bytes=10000"),
        Request::ask(Protocol::Chat).simulate("body_bytes=100000000"),
    ] {
        let reply = world.open(&request).await;
        assert_eq!(reply.status, 200);
        eventually("the end of the exchange", async || {
            let in_flight = world.gateway.metrics().await.sum("headgate_in_flight", &[]);
            (in_flight == 0.0 && world.simulator.open().await == 0).then_some(())
        })
        .await;
        let line = world.gateway.log_line(|line| line["status"] == 200).await;
        assert_eq!(line["settlement"], "write_timeout", "{line}");
        assert!(!reply.rest().await.whole);
    }
}

#[tokio::test]
async fn a_malformed_head_with_a_credential_in_it_is_not_logged() {
    for head in [
        "HTTP/1.1 200 OK\r\nx-key SECRET\r\nbad line\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx key: SECRET\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: SECRET\r\n\r\n",
        "HTTP/1.1 abc SECRET\r\n\r\n",
        "SECRET\r\n\r\n",
    ] {
        let head = head.replace("SECRET", CREDENTIALS[0]);
        let provider = ScriptedProvider::start(vec![
            ScriptedResponse::Send(head.clone().into()),
            ScriptedResponse::Close,
        ])
        .await;
        let gateway = before(&provider).await;
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_error_body(Protocol::Chat, &answer, 502);
        assert!(!answer.text().contains(CREDENTIALS[0]), "{head}");
        gateway.log_of(&answer).await;
        assert!(!gateway.output().contains(CREDENTIALS[0]), "{head}");
    }
}

#[tokio::test]
async fn an_answer_in_a_coding_that_nobody_asked_for_does_not_pass() {
    for (provider_status, status) in [(200, 502), (400, 400), (503, 503)] {
        for coding in ["gzip", "GZIP", "br", "identity, gzip"] {
            let body = "\u{1f}\u{8b}\u{8} provider-bytes";
            let headers =
                format!("Content-Type: application/json\r\nContent-Encoding: {coding}\r\n");
            let answer = http_response(provider_status, &headers, body);
            let provider = ScriptedProvider::answering(answer).await;
            let gateway = before(&provider).await;
            for protocol in PROTOCOLS {
                let answer = gateway.ask(&Request::ask(protocol)).await;
                assert_error_body(protocol, &answer, status);
                assert!(!answer.text().contains("provider-bytes"), "{coding}");
                assert_eq!(answer.headers.get("content-encoding"), None);
            }
        }
    }
}

#[tokio::test]
async fn headers_that_the_operator_sets_and_removes_are_the_operators() {
    let provider = ScriptedProvider::answering(GOOD).await;
    let mut config = config::standard(&provider.url());
    let set = json!({
        "x-team": "blue",
        "openai-organization": "org-ours",
        "authorization": "Bearer not-the-channels",
    });
    let chain = config::route(&mut config, "chat")["request"].as_array_mut();
    chain.unwrap().splice(
        1..1,
        [
            json!({"set_headers": set}),
            json!({"remove_headers": ["x-drop-me"]}),
        ],
    );
    let gateway = Gateway::start(&config).await;
    let ask = Request::ask(Protocol::Chat);
    for request in [
        ask.clone(),
        ask.clone()
            .header("Connection", "x-team, openai-organization"),
        ask.clone()
            .header("x-team", "red")
            .header("Connection", "x-team"),
        ask.clone().header("X_Team", "red"),
        ask.clone().header("X-Team", "red").header("x_team", "red"),
        ask.clone().header("openai-organization", "org-theirs"),
        ask.clone().header("openai_organization", "org-theirs"),
        ask.header("x-drop-me", "red").header("x_drop_me", "red"),
    ] {
        let answer = gateway.ask(&request).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let received = provider.requests().pop().unwrap();
        let head = received.split("\r\n\r\n").next().unwrap();
        let values = |wanted: &str| -> Vec<&str> {
            let fields = head.lines().filter_map(|line| line.split_once(": "));
            let alike = |name: &str| name.to_ascii_lowercase().replace('_', "-") == wanted;
            fields
                .filter(|(name, _)| alike(name))
                .map(|(_, value)| value)
                .collect()
        };
        let credential = format!("Bearer {}", CREDENTIALS[0]);
        for (name, expected) in [
            ("x-team", &["blue"][..]),
            ("openai-organization", &["org-ours"]),
            ("authorization", &[&credential]),
            ("x-drop-me", &[]),
        ] {
            assert_eq!(values(name), expected, "{head}");
        }
    }
}

#[tokio::test]
async fn a_status_that_is_no_answer_becomes_an_error() {
    for head in [
        "302 Found\r\nLocation: https://elsewhere.test/\r\nContent-Length: 0",
        "307 Temporary Redirect\r\nLocation: /v2\r\nContent-Length: 4",
        "304 Not Modified\r\nETag: \"x\"",
        "999 Odd\r\nContent-Length: 4",
    ] {
        let body = if head.ends_with('4') { "body" } else { "" };
        let provider = ScriptedProvider::answering(format!("HTTP/1.1 {head}\r\n\r\n{body}")).await;
        let gateway = before(&provider).await;
        for protocol in PROTOCOLS {
            let answer = gateway.ask(&Request::ask(protocol)).await;
            assert_error_body(protocol, &answer, 502);
            assert_eq!(answer.headers.get("location"), None, "{head}");
        }
    }
}

#[tokio::test]
async fn an_answer_without_content_has_no_length() {
    for head in ["204 No Content", "204 No Content\r\nContent-Length: 0"] {
        let provider = ScriptedProvider::answering(format!("HTTP/1.1 {head}\r\n\r\n")).await;
        let gateway = before(&provider).await;
        let mut connection = gateway.connect().await;
        // A generation would have failed without content.
        let count = Request::post(
            "/v1/messages/count_tokens",
            body_of(Protocol::Messages).to_string(),
        )
        .header("anthropic-version", "2023-06-01");
        // Twice, because a wrong length or body would affect the next response.
        for _ in 0..2 {
            let answer = connection.ask(&count).await;
            assert_eq!((answer.status, answer.body.len()), (204, 0));
            for framing in ["content-length", "transfer-encoding"] {
                assert_eq!(answer.headers.get(framing), None, "{framing}");
            }
        }
    }
}

#[tokio::test]
async fn an_oversized_error_becomes_a_local_reply() {
    let message = "m".repeat(2 << 20);
    let body = json!({"error": {"type": "t", "message": message}}).to_string();
    let mut chunked = String::new();
    for piece in body.as_bytes().chunks(50_000) {
        let piece = std::str::from_utf8(piece).unwrap();
        chunked.push_str(&format!("{:x}\r\n{piece}\r\n", piece.len()));
    }
    chunked.push_str("0\r\n\r\n");
    let with_length = format!("Content-Length: {}\r\n\r\n{body}", body.len());
    let in_chunks = format!("Transfer-Encoding: chunked\r\n\r\n{chunked}");
    for framed in [with_length, in_chunks] {
        for status in [400, 429, 500] {
            let head = format!("HTTP/1.1 {status} X\r\nContent-Type: application/json");
            let provider = ScriptedProvider::answering(format!("{head}\r\n{framed}")).await;
            let gateway = before(&provider).await;
            for protocol in PROTOCOLS {
                let answer = gateway.ask(&Request::ask(protocol)).await;
                assert!(answer.body.len() < 10_000, "{} bytes", answer.body.len());
                assert_error_body(protocol, &answer, status);
            }
        }
    }
}

#[tokio::test]
async fn an_answer_in_tiny_chunks_takes_no_more_memory_than_it_has_bytes() {
    let text = "x".repeat(100_000);
    let body = json!({"id": "chatcmpl-1", "choices": [], "text": text}).to_string();
    let mut answer =
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            .to_vec();
    for byte in body.bytes() {
        answer.extend([b'1', b'\r', b'\n', byte, b'\r', b'\n']);
    }
    answer.extend(b"0\r\n\r\n");
    let provider = ScriptedProvider::answering(answer).await;
    let gateway = before(&provider).await;
    // Makes the process allocate what any request needs.
    let refused = gateway
        .ask(&Request::post(path_of(Protocol::Chat), "{}"))
        .await;
    assert_eq!(refused.status, 400);
    let peak = gateway.process.memory_peak();
    for protocol in PROTOCOLS {
        let answer = gateway.ask(&Request::ask(protocol)).await;
        assert_eq!((answer.status, answer.whole), (200, true));
        assert!(answer.body == body.as_bytes(), "{protocol:?}");
    }
    let grown = gateway.process.memory_peak() - peak;
    assert!(grown < 15 << 20, "{grown} bytes");
}

#[tokio::test]
async fn an_id_of_no_sensible_shape_is_neither_kept_nor_logged() {
    let long = format!("resp_{}", "a".repeat(10_000));
    for (id, kept) in [("resp_1", true), (&*long, false), ("resp 1", false)] {
        let body = json!({"id": id, "object": "response", "output": []}).to_string();
        let provider = ScriptedProvider::answering(json_response(200, &body)).await;
        let gateway = before(&provider).await;
        let answer = gateway.ask(&Request::ask(Protocol::Responses)).await;
        assert_eq!((answer.status, answer.text()), (200, body));
        let line = gateway.log_of(&answer).await;
        assert_eq!(line["response_id"] == id, kept, "{line}");
        assert_eq!(gateway.output().contains(id), kept);
        let path = format!("/v1/responses/{}", id.replace(' ', "%20"));
        let found = gateway.ask(&Request::get(&path)).await;
        assert_eq!(
            found.status,
            if kept { 200 } else { 404 },
            "{}",
            found.text()
        );
    }
}

#[tokio::test]
async fn an_empty_line_before_a_request_is_ignored() {
    let world = TestSetup::start().await;
    let mut connection = world.gateway.connect().await;
    for protocol in PROTOCOLS {
        connection.send(b"\r\n").await.unwrap();
        let answer = connection.ask(&Request::ask(protocol)).await;
        assert_eq!((answer.status, answer.whole), (200, true));
        // Also in one piece.
        let request = [&b"\r\n"[..], &Request::ask(protocol).bytes()].concat();
        connection.send(&request).await.unwrap();
        let answer = connection.answer().await.expect("an answer");
        assert_eq!((answer.status, answer.whole), (200, true));
    }
}
