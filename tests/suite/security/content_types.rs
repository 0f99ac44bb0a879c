//! Tests of the Content-Type of bodies: it must be unambiguous, and content codings are refused.

use crate::harness::error_shape::assert_error_body;
use crate::harness::{PROTOCOLS, Request, TestSetup};
use headgate_protocol::Protocol;

const JSON: &str = "application/json";

/// Accepted: unambiguous types for JSON in UTF-8.
const TAKEN: &[&[(&str, &str)]] = &[
    &[("Content-Type", "application/json; charset=utf8")],
    &[("Content-Type", "application/json; charset=UTF8")],
    &[("Content-Type", "application/json;charset=Utf-8")],
    &[("Content-Type", "application/json; charset=\"utf8\"")],
    &[("Content-Type", "application/json; charset=\"UTF-8\"")],
    &[(
        "Content-Type",
        "application/json ; Charset=utf-8 ; profile=x",
    )],
    &[("Content-Type", "application/json;")],
    &[("Content-Type", "application/json; ; charset=utf-8;")],
    &[("Content-Type", "application/json; utf-8")],
    &[("Content-Type", "application/json; odata.metadata=none")],
    &[(
        "Content-Type",
        "application/json; profile=\"https://x.example/a\"",
    )],
    &[("Content-Type", JSON), ("Content-Encoding", "identity")],
    &[("Content-Type", JSON), ("Content-Encoding", "Identity")],
];

/// Refused: another charset, or an ambiguous type.
const REFUSED: &[&[(&str, &str)]] = &[
    &[("Content-Type", JSON), ("Content-Type", "text/plain")],
    &[("Content-Type", "text/plain"), ("Content-Type", JSON)],
    &[
        ("Content-Type", JSON),
        ("Content-Type", "application/json; charset=utf-16"),
    ],
    &[("Content-Type", JSON), ("Content-Type", JSON)],
    &[
        ("Content-Type", JSON),
        ("Content-Type", "multipart/form-data; boundary=x"),
    ],
    &[("Content-Type", "application/json, text/plain")],
    &[(
        "Content-Type",
        "application/json; charset=utf-8, text/plain",
    )],
    &[(
        "Content-Type",
        "application/json; charset=utf-8; charset=utf-16",
    )],
    &[(
        "Content-Type",
        "application/json; charset=utf-8; Charset=utf-8",
    )],
    &[(
        "Content-Type",
        "application/json; charset=utf-8; charset=\"utf-16\"",
    )],
    &[("Content-Type", "application/json; charset*=utf-8''utf-16")],
    &[(
        "Content-Type",
        "application/json; charset=utf-8; charset*=utf-8''utf-16",
    )],
    &[(
        "Content-Type",
        "application/json; charset*0=utf-; charset*1=16",
    )],
    &[("Content-Type", "application/json; charset=\"utf-8")],
    &[("Content-Type", "application/json; charset=utf-8\"")],
    &[("Content-Type", "application/json; charset='utf-8'")],
    &[("Content-Type", "application/json; charset=\"utf\\-8\"")],
    &[("Content-Type", "application/json; charset=")],
    &[("Content-Type", "application/json; charset=\"\"")],
    &[("Content-Type", "application/json; charset")],
    &[("Content-Type", "application/json; utf-16")],
    &[("Content-Type", "application/json; charset=utf-16")],
    &[("Content-Type", "application/json; charset=utf-8-sig")],
    &[("Content-Type", "application/json; charset=latin1")],
    &[("Content-Type", "application/json; a=\"b; charset=utf-16\"")],
    &[(
        "Content-Type",
        "application/json; a=\"b; c\"; charset=utf-8",
    )],
    &[("Content-Type", "application/json; a=b c; charset=utf-8")],
    &[("Content-Type", "application/json; =utf-8")],
    &[("Content-Type", "application/json charset=utf-8")],
    &[("Content-Type", "application/json\u{e9}")],
    &[
        ("Content-Type", JSON),
        ("Content-Encoding", "identity"),
        ("Content-Encoding", "gzip"),
    ],
    &[
        ("Content-Type", JSON),
        ("Content-Encoding", "gzip"),
        ("Content-Encoding", "identity"),
    ],
    &[
        ("Content-Type", JSON),
        ("Content-Encoding", ""),
        ("Content-Encoding", "gzip"),
    ],
    &[
        ("Content-Type", JSON),
        ("Content-Encoding", "identity, gzip"),
    ],
    &[("Content-Type", JSON), ("Content-Encoding", "x-gzip")],
];

#[tokio::test]
async fn a_content_type_that_all_readers_read_as_json_is_taken() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        for fields in TAKEN {
            let answer = world.ask(&with_fields(protocol, fields)).await;
            assert_eq!(answer.status, 200, "{fields:?}: {}", answer.text());
        }
    }
}

#[tokio::test]
async fn what_could_be_read_in_two_ways_is_refused() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        for fields in REFUSED {
            let answer = world.ask(&with_fields(protocol, fields)).await;
            assert!(
                matches!(answer.status, 400 | 415),
                "{fields:?}: {} {}",
                answer.status,
                answer.text()
            );
            assert_error_body(protocol, &answer, answer.status);
        }
    }
    assert_eq!(world.simulator.records().await.len(), 0);
}

#[tokio::test]
async fn a_long_content_type_is_not_repeated_at_length() {
    let world = TestSetup::start().await;
    let long = format!("text/{}", "x".repeat(8000));
    let request = with_fields(Protocol::Chat, &[("Content-Type", &long)]);
    let answer = world.ask(&request).await;
    let message = assert_error_body(Protocol::Chat, &answer, 415);
    assert!(message.len() < 400, "{message}");
}

fn with_fields(protocol: Protocol, fields: &[(&str, &str)]) -> Request {
    let request = Request::ask(protocol).without("content-type");
    fields.iter().fold(request, |request, (name, value)| {
        request.header(name, value)
    })
}
