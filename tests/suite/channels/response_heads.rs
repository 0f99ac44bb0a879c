//! Tests that ambiguous heads of providers' responses are not forwarded.

use crate::harness::error_shape::assert_error_body;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, config};
use headgate_protocol::Protocol;

/// A response with these header lines and the body `{}`.
fn response(lines: &[&str]) -> String {
    format!("HTTP/1.1 200 OK\r\n{}\r\n\r\n{{}}", lines.join("\r\n"))
}

async fn before(provider: &ScriptedProvider) -> Gateway {
    let mut config = config::standard(&provider.url());
    config::without_cool_downs(&mut config);
    Gateway::start(&config).await
}

#[tokio::test]
async fn a_header_that_stands_once_is_passed_on_once() {
    let json = "Content-Type: application/json";
    let length = "Content-Length: 2";
    let provider = ScriptedProvider::start(vec![]).await;
    let gateway = before(&provider).await;
    for (lines, name, value) in [
        (&[json, length, length][..], "content-length", Some("2")),
        (&[json, "Content-Length: 2, 2"], "content-length", Some("2")),
        (
            &[json, "content-length:2", length, length],
            "content-length",
            Some("2"),
        ),
        (&[json, "Content-Length: 002"], "content-length", Some("2")),
        (
            &[json, json, length],
            "content-type",
            Some("application/json"),
        ),
        (
            &[json, length, "ETag: \"a\"", "ETag: \"a\""],
            "etag",
            Some("\"a\""),
        ),
        (
            &[json, length, "Retry-After: 2", "Retry-After: 2"],
            "retry-after",
            Some("2"),
        ),
        (
            &[
                json,
                length,
                "Content-Disposition: inline",
                "content-disposition: inline",
            ],
            "content-disposition",
            Some("inline"),
        ),
        // Contradicting values are dropped.
        (&[json, length, "ETag: \"a\"", "ETag: \"b\""], "etag", None),
        (
            &[json, length, "Retry-After: 2", "Retry-After: 60"],
            "retry-after",
            None,
        ),
        (
            &[
                json,
                length,
                "x-should-retry: true",
                "x-should-retry: false",
            ],
            "x-should-retry",
            None,
        ),
    ] {
        provider.next(vec![ScriptedResponse::Send(response(lines).into())]);
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(
            (answer.status, answer.whole),
            (200, true),
            "{lines:?}: {}",
            answer.text()
        );
        let count = answer
            .headers
            .names()
            .filter(|other| *other == name)
            .count();
        assert_eq!(
            count,
            usize::from(value.is_some()),
            "{lines:?}: {:?}",
            answer.headers
        );
        assert_eq!(answer.headers.get(name), value, "{lines:?}");
    }
}

#[tokio::test]
async fn a_list_header_keeps_all_its_lines() {
    let lines = [
        "Content-Type: application/json",
        "Content-Length: 2",
        "Cache-Control: no-store",
        "Cache-Control: private",
    ];
    let provider = ScriptedProvider::answering(response(&lines)).await;
    let gateway = before(&provider).await;
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    let names = answer.headers.names();
    assert_eq!(names.filter(|name| *name == "cache-control").count(), 2);
}

#[tokio::test]
async fn a_response_with_ambiguous_framing_or_type_is_refused() {
    let json = "Content-Type: application/json";
    let length = "Content-Length: 2";
    let provider = ScriptedProvider::start(vec![]).await;
    let gateway = before(&provider).await;
    for lines in [
        &[json, length, "Content-Length: 3"][..],
        &[json, "Content-Length: 2, 3"],
        &[json, "Content-Length: +2"],
        &[json, "Content-Length: two"],
        &[json, "Content-Length: -2"],
        &[json, "Content-Length: 0x2"],
        &[json, "Content-Length: 2,"],
        &[json, "Content-Length: "],
        &[json, "Content-Type: text/event-stream", length],
        &["Content-Type: text/plain", json, length],
        &[
            json,
            length,
            "Content-Encoding: identity",
            "Content-Encoding: gzip",
        ],
        &[
            json,
            length,
            "Content-Disposition: inline",
            "Content-Disposition: attachment",
        ],
    ] {
        provider.next(vec![ScriptedResponse::Send(response(lines).into())]);
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(answer.status, 502, "{lines:?}: {}", answer.text());
        assert_error_body(Protocol::Chat, &answer, 502);
    }
}
