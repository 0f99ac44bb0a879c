//! Tests of compressed requests: they are decoded within bounds, and refused if they are anything else.

use crate::harness::error_shape::assert_error_body;
use crate::harness::{Gateway, PROTOCOLS, Request, ScriptedProvider, body_of, config, path_of};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::io::Write;

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 143\r\n\r\n{\"id\":\"r\",\"object\":\"response\",\"type\":\"message\",\"role\":\"assistant\",\"status\":\"completed\",\"choices\":[],\"content\":[],\"output\":[],\"usage\":null     }";
const ACCEPTED: Option<&str> = Some("gzip, zstd, deflate");

type Coding = (&'static str, fn(&[u8]) -> Vec<u8>);

const CODINGS: [Coding; 5] = [
    ("gzip", gzip),
    ("X-GZip", gzip),
    ("zstd", zstd),
    ("deflate", zlib),
    ("deflate", deflate),
];

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn deflate(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 9).unwrap()
}

/// A request to a protocol whose body is as given.
fn coded(protocol: Protocol, coding: &str, body: Vec<u8>) -> Request {
    let request = Request::ask(protocol).header("Content-Encoding", coding);
    request.with_body(body)
}

async fn gateway(provider: &ScriptedProvider) -> Gateway {
    let mut config = config::standard(&provider.url());
    config::without_cool_downs(&mut config);
    config["chains"]["body"] =
        json!(["require_json", "authenticate", {"limit_body": "8MiB"}, "route_model"]);
    Gateway::start(&config).await
}

/// A chat request of this many bytes.
fn chat_of(bytes: usize, filler: impl Fn(usize) -> u8) -> Vec<u8> {
    let mut body = body_of(Protocol::Chat);
    body["messages"][0]["content"] = json!("");
    let empty = body.to_string();
    let (before, after) = empty.split_once(r#""content":"""#).unwrap();
    let before = format!(r#"{before}"content":""#);
    let after = format!(r#""{after}"#);
    let filled = (0..bytes - before.len() - after.len())
        .map(filler)
        .collect();
    [before.into_bytes(), filled, after.into_bytes()].concat()
}

/// Letters in no order, which compress about as text does.
fn letter(index: usize) -> u8 {
    let mut mixed = (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^= mixed >> 27;
    b'a' + (mixed % 26) as u8
}

#[tokio::test]
async fn a_provider_gets_the_decoded_body_without_its_coding() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let gateway = gateway(&provider).await;
    for protocol in PROTOCOLS {
        let body = body_of(protocol);
        for (coding, encode) in CODINGS {
            let encoded = encode(body.to_string().as_bytes());
            let length = encoded.len();
            let whole = coded(protocol, coding, encoded);
            for request in [whole.clone(), whole.chunked(7)] {
                let answer = gateway.ask(&request).await;
                assert_eq!(answer.status, 200, "{coding}: {}", answer.text());
                let received = provider.requests().pop().unwrap();
                let (head, sent) = received.split_once("\r\n\r\n").unwrap();
                let head = head.to_ascii_lowercase();
                assert!(!head.contains("content-encoding"), "{coding}: {head}");
                assert!(
                    head.contains(&format!("content-length: {}", sent.len())),
                    "{head}"
                );
                let mut expected = body.clone();
                expected["model"] = json!("sim-large-2026-08");
                let sent: Value = serde_json::from_str(sent).unwrap();
                assert_eq!(sent, expected, "{coding}");
                let line = gateway.log_of(&answer).await;
                assert_eq!(line["bytes_in"], length, "{line}");
            }
        }
    }
}

#[tokio::test]
async fn a_large_body_is_decoded_up_to_the_limit_of_the_route() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let mut config = config::standard(&provider.url());
    config["chains"]["body"] =
        json!(["require_json", "authenticate", {"limit_body": "8MiB"}, "route_model"]);
    // Both in memory and in a file.
    for threshold in ["1MiB", "64MiB"] {
        config["server"]["spool"] = json!({"threshold": threshold});
        let gateway = Gateway::start(&config).await;
        for (coding, encode) in CODINGS {
            let body = chat_of(8 << 20, letter);
            let answer = gateway
                .ask(&coded(Protocol::Chat, coding, encode(&body)))
                .await;
            assert_eq!(answer.status, 200, "{coding}: {}", answer.text());
            let received = provider.raw_requests().pop().unwrap();
            assert!(received.len() > 8 << 20, "{coding}");
            let body = chat_of((8 << 20) + 1, letter);
            let answer = gateway
                .ask(&coded(Protocol::Chat, coding, encode(&body)))
                .await;
            let message = assert_error_body(Protocol::Chat, &answer, 413);
            assert!(
                message.contains("exceeds the limit of 8388608 bytes"),
                "{message}"
            );
        }
    }
}

#[tokio::test]
async fn a_body_that_grows_out_of_proportion_is_refused() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let gateway = gateway(&provider).await;
    let before = gateway.process.anonymous_bytes();
    for (coding, encode) in CODINGS {
        for (bytes, words) in [
            (6 << 20, "more than 100 times larger"),
            (96 << 20, "more than 100 times larger"),
        ] {
            let bomb = encode(&vec![b' '; bytes]);
            for protocol in PROTOCOLS {
                let answer = gateway.ask(&coded(protocol, coding, bomb.clone())).await;
                let message = assert_error_body(protocol, &answer, 413);
                assert!(message.contains(words), "{coding} {bytes}: {message}");
            }
        }
    }
    assert!(provider.requests().is_empty());
    let grown = gateway.process.anonymous_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown}");
    // What is small may have any ratio.
    let body = chat_of(3 << 20, |_| b'a');
    let answer = gateway
        .ask(&coded(Protocol::Chat, "gzip", gzip(&body)))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn what_is_not_of_its_coding_is_an_error_of_the_protocol() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let gateway = gateway(&provider).await;
    for protocol in PROTOCOLS {
        let plain = body_of(protocol).to_string().into_bytes();
        for (coding, encode) in CODINGS {
            let whole = encode(&plain);
            let mut damaged = whole.clone();
            let middle = damaged.len() / 2;
            damaged[middle] ^= 0x55;
            damaged[middle + 1] ^= 0xaa;
            for (body, is_garbled) in [
                (plain.clone(), true),
                (whole[..whole.len() - 3].to_vec(), true),
                (whole[..1].to_vec(), true),
                (damaged, false),
            ] {
                let answer = gateway.ask(&coded(protocol, coding, body)).await;
                let message = assert_error_body(protocol, &answer, 400);
                let has_reason = message.contains("is not valid");
                // Raw deflate has no checksum: what is damaged may decode to something that is no JSON.
                assert!(has_reason || !is_garbled, "{coding}: {message}");
            }
        }
        for (coding, body) in [
            ("gzip", [gzip(&plain), b"trailing".to_vec()].concat()),
            ("zstd", [zstd(&plain), b"trailing".to_vec()].concat()),
            ("gzip", zstd(&plain)),
            ("zstd", gzip(&plain)),
            ("zstd", wide_window(&plain)),
        ] {
            let answer = gateway.ask(&coded(protocol, coding, body)).await;
            let message = assert_error_body(protocol, &answer, 400);
            assert!(
                message.contains(&format!("is not valid {coding}")),
                "{message}"
            );
        }
    }
    assert!(provider.requests().is_empty());
}

/// A frame that needs a window of 128 MiB.
fn wide_window(text: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn the_decoded_body_is_read_as_strictly_as_any_other() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let gateway = gateway(&provider).await;
    for (body, status) in [
        (
            r#"{"model":"demo-large","model":"demo-small","messages":[]}"#,
            400,
        ),
        (r#"{"model":"demo-large","messages":"#, 400),
        (r#"{"model":"demo-large"}"#, 400),
        (
            r#"{"model":"none","messages":[{"role":"user","content":"a"}]}"#,
            404,
        ),
        ("", 400),
    ] {
        for (coding, encode) in CODINGS {
            let answer = gateway
                .ask(&coded(Protocol::Chat, coding, encode(body.as_bytes())))
                .await;
            assert_error_body(Protocol::Chat, &answer, status);
        }
    }
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn another_coding_is_refused_with_those_that_are_accepted() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let gateway = gateway(&provider).await;
    for protocol in PROTOCOLS {
        let body = gzip(body_of(protocol).to_string().as_bytes());
        for codings in [
            &["br"][..],
            &["compress"],
            &["gzip, gzip"],
            &["gzip,identity"],
            &["gzip", "gzip"],
            &["identity", "gzip"],
            &[""],
        ] {
            let request = codings
                .iter()
                .fold(Request::ask(protocol), |request, coding| {
                    request.header("Content-Encoding", coding)
                });
            let answer = gateway.ask(&request.with_body(body.clone())).await;
            let message = assert_error_body(protocol, &answer, 415);
            assert!(
                message.contains("gzip, zstd and deflate"),
                "{codings:?}: {message}"
            );
            assert_eq!(
                answer.headers.get("accept-encoding"),
                ACCEPTED,
                "{codings:?}"
            );
        }
        // The type of the content is another problem.
        let typed = Request::new("POST", path_of(protocol)).header("Content-Type", "text/plain");
        let answer = gateway.ask(&typed.with_body(body)).await;
        let status = if protocol == Protocol::Messages {
            400
        } else {
            415
        };
        assert_error_body(protocol, &answer, status);
        assert_eq!(answer.headers.get("accept-encoding"), None);
    }
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn a_body_that_no_filter_reads_keeps_its_coding() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let mut config = config::standard(&provider.url());
    config["routes"].as_array_mut().unwrap().push(json!({
        "name": "raw", "match": "POST /v1/raw", "request": ["authenticate", {"pin": "openai"}, "first_channel"],
    }));
    let gateway = Gateway::start(&config).await;
    for body in [gzip(b"anything"), gzip(&chat_of(1 << 20, letter))] {
        let request = Request::new("POST", "/v1/raw").header("Content-Encoding", "gzip");
        let answer = gateway.ask(&request.with_body(body.clone())).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let received = provider.raw_requests().pop().unwrap();
        assert!(received.ends_with(&body));
        let head =
            String::from_utf8_lossy(&received[..received.len() - body.len()]).to_ascii_lowercase();
        assert!(head.contains("content-encoding: gzip"), "{head}");
    }
}
