//! Tests of providers that compress without being asked.

use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::http_response;
use crate::harness::{Gateway, PROTOCOLS, Request, ScriptedProvider, ScriptedResponse, config};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use headgate_protocol::Protocol;
use std::io::Write;

const SUCCESS: &str = r#"{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#;
const STREAM: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";

/// The header line of a coding, and the encoder.
type CodingCase = (&'static str, fn(&[u8]) -> Vec<u8>);

const CODINGS: [CodingCase; 6] = [
    ("content-encoding: gzip\r\n", gzip),
    ("Content-Encoding: X-GZIP\r\n", gzip),
    ("content-encoding: deflate\r\n", zlib),
    ("content-encoding: deflate\r\n", deflate),
    ("content-encoding: br\r\n", brotli),
    // Compressed, and not labelled.
    ("", gzip),
];

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn deflate(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn brotli(text: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    brotli::CompressorWriter::new(&mut encoded, 4096, 5, 22)
        .write_all(text)
        .unwrap();
    encoded
}

fn response(status: u16, content_type: &str, coding: &str, body: &[u8]) -> Vec<ScriptedResponse> {
    let headers = format!("content-type: {content_type}\r\n{coding}");
    vec![ScriptedResponse::Send(http_response(
        status, &headers, body,
    ))]
}

async fn gateway(provider: &ScriptedProvider) -> Gateway {
    let mut config = config::standard(&provider.url());
    config::without_cool_downs(&mut config);
    Gateway::start(&config).await
}

#[tokio::test]
async fn json_streams_and_errors_are_decoded_whatever_compresses_them() {
    let provider = ScriptedProvider::start(vec![]).await;
    let gateway = gateway(&provider).await;
    let error = r#"{"error":{"message":"`temperature` is too high","type":"invalid_request_error","param":"temperature","code":null}}"#;
    for (coding, encode) in CODINGS {
        for (status, content_type, text, is_stream) in [
            (200, "application/json", SUCCESS, false),
            (200, "text/event-stream", STREAM, true),
            (400, "application/json", error, false),
        ] {
            provider.next(response(
                status,
                content_type,
                coding,
                &encode(text.as_bytes()),
            ));
            let request = match is_stream {
                true => Request::ask_stream(Protocol::Chat),
                false => Request::ask(Protocol::Chat),
            };
            let answer = gateway.ask(&request).await;
            assert_eq!(
                (answer.status, answer.text()),
                (status, text.into()),
                "{coding}"
            );
            assert_eq!(answer.headers.get("content-encoding"), None, "{coding}");
            if status == 200 {
                let line = gateway.log_of(&answer).await;
                assert_eq!(
                    (&line["output_tokens"], &line["settlement"]),
                    (&2.into(), &"complete".into()),
                    "{line}"
                );
            }
        }
    }
}

#[tokio::test]
async fn what_cannot_be_decoded_is_an_error_of_the_protocol() {
    let provider = ScriptedProvider::start(vec![]).await;
    let gateway = gateway(&provider).await;
    let gz = "content-encoding: gzip\r\n";
    let whole = gzip(SUCCESS.as_bytes());
    for protocol in PROTOCOLS {
        for (coding, body) in [
            (gz, SUCCESS.as_bytes().to_vec()),
            (gz, whole[..whole.len() - 9].to_vec()),
            (gz, gzip(&vec![b' '; 64 << 20])),
            ("content-encoding: zstd\r\n", vec![0x28, 0xb5, 0x2f, 0xfd]),
            ("content-encoding: gzip, gzip\r\n", gzip(&whole)),
        ] {
            provider.next(response(200, "application/json", coding, &body));
            let answer = gateway.ask(&Request::ask(protocol)).await;
            assert_error_body(protocol, &answer, 502);
        }
    }
}
