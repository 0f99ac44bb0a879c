//! Tests of request smuggling: an ambiguous request is refused, or read in the one way that is safe.

use crate::harness::request::{ANN, body_of};
use crate::harness::{Connection, Request, TestSetup};
use headgate_protocol::Protocol;
use std::time::Duration;
use tokio::time::timeout;

/// A connection that is silent for this long waits for more input.
const HANGS: Duration = Duration::from_secs(5);

/// The outcome of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// An error status, a closed connection, and no request at any provider.
    Refused,
    /// Like `Refused`, but the connection may stay open: the end of the request is unambiguous.
    RefusedAlone,
    /// One response with 200, one request at the provider.
    Served,
}

use Outcome::{Refused, RefusedAlone, Served};

const POST: &str = "POST /v1/chat/completions HTTP/1.1\r\nHost: gate.test\r\n";
/// What every request needs besides its Host header.
const COMMON: &str = "Authorization: Bearer {K}\r\nContent-Type: application/json\r\n";

/// Framing headers of a POST, and its body: `{B}` is a valid one, `{L}` its length, `{C}` the same in chunks.
const BODIES: &[(Outcome, &str, &str)] = &[
    (Served, "Content-Length: {L}", "{B}"),
    (Served, "Transfer-Encoding: chunked", "{C}"),
    (Served, "transfer-encoding: Chunked", "{C}"),
    // Both framings, in each order and spelling.
    (
        Refused,
        "Content-Length: {L}\r\nTransfer-Encoding: chunked",
        "{C}",
    ),
    (
        Refused,
        "Transfer-Encoding: chunked\r\nContent-Length: {L}",
        "{C}",
    ),
    (
        Refused,
        "Transfer-Encoding: chunked\r\nContent-Length: 0",
        "{C}",
    ),
    (
        Refused,
        "Transfer-Encoding: chunked\r\ncontent-length: 5",
        "{C}",
    ),
    (
        Refused,
        "Content-Length: {L}\r\nTransfer-Encoding: identity",
        "{B}",
    ),
    (Refused, "Content-Length: {L}\r\nTransfer-Encoding:", "{B}"),
    (
        Refused,
        "Content-Length: {L}\r\nTransfer_Encoding: chunked",
        "{B}",
    ),
    (
        Refused,
        "Transfer-Encoding: chunked\r\nContent_Length: {L}",
        "{C}",
    ),
    // More than one length, or one that is not a number.
    (Refused, "Content-Length: {L}\r\nContent-Length: {L}", "{B}"),
    (Refused, "Content-Length: {L}\r\nContent-Length: 1", "{B}"),
    (Refused, "Content-Length: 1\r\nContent-Length: {L}", "{B}"),
    (Refused, "Content-Length: {L}, {L}", "{B}"),
    (Refused, "Content-Length: +{L}", "{B}"),
    (Refused, "Content-Length: -1", "{B}"),
    (Refused, "Content-Length: 0x10", "{B}"),
    (Refused, "Content-Length: {L} {L}", "{B}"),
    (Refused, "Content-Length: {L}a", "{B}"),
    (Refused, "Content-Length: 99999999999999999999999", "{B}"),
    (Refused, "Content-Length:", "{B}"),
    (Refused, "Content-Length : {L}", "{B}"),
    // Codings that are not exactly `chunked`.
    (Refused, "Transfer-Encoding: xchunked", "{C}"),
    (Refused, "Transfer-Encoding: chunked, identity", "{C}"),
    (Refused, "Transfer-Encoding: gzip, chunked", "{C}"),
    (Refused, "Transfer-Encoding: chunked, chunked", "{C}"),
    (
        Refused,
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "{C}",
    ),
    (
        Refused,
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "{C}",
    ),
    (Refused, "Transfer-Encoding: \"chunked\"", "{C}"),
    (Refused, "Transfer-Encoding: chunked;q=1", "{C}"),
    (Refused, "Transfer-Encoding: \u{b}chunked", "{C}"),
    (Refused, "Transfer-Encoding : chunked", "{C}"),
    (Refused, "Transfer-Encoding\t: chunked", "{C}"),
    (Refused, " Transfer-Encoding: chunked", "{C}"),
    (Refused, "Transfer-Encoding:\r\n chunked", "{C}"),
];

/// Chunked bodies.
const CHUNKS: &[(Outcome, &str)] = &[
    (Served, "{1}0\r\n\r\n"),
    (Served, "{1}000\r\n\r\n"),
    (Refused, "zz\r\n{B}\r\n0\r\n\r\n"),
    (Refused, "-1\r\n{B}\r\n0\r\n\r\n"),
    (Refused, "+5\r\nabcde\r\n0\r\n\r\n"),
    (Refused, "0x5\r\nabcde\r\n0\r\n\r\n"),
    (Refused, "5\r\nabcdeXX\r\n0\r\n\r\n"),
    (Refused, "5\r\nabcde0\r\n\r\n"),
    (Refused, "fffffffffffffffff\r\n{B}\r\n0\r\n\r\n"),
    // Some parsers accept an empty size as zero.
    (Refused, "\r\n{1}0\r\n\r\n"),
    (Refused, ";a=b\r\n{B}\r\n0\r\n\r\n"),
    (Refused, "{1}\r\n\r\nGET /v1/models HTTP/1.1\r\n\r\n"),
    (Refused, "{1};\r\n\r\nGET /v1/models HTTP/1.1\r\n\r\n"),
];

/// Request lines.
const LINES: &[(Outcome, &str)] = &[
    (Served, "GET /v1/models?limit=5 HTTP/1.1"),
    (Served, "GET http://gate.test/v1/models HTTP/1.1"),
    (Refused, "GET http://other.test/v1/models HTTP/1.1"),
    (Refused, "GET ftp://gate.test/v1/models HTTP/1.1"),
    (Refused, "GET /v1//models HTTP/1.1"),
    (Refused, "GET //v1/models HTTP/1.1"),
    (Refused, "GET /v1/./models HTTP/1.1"),
    (Refused, "GET /v1/x/../models HTTP/1.1"),
    (Refused, "GET /v1/%2e%2e/v1/models HTTP/1.1"),
    (Refused, "GET /v1/.%2E/v1/models HTTP/1.1"),
    (Refused, "GET /v1%2Fmodels HTTP/1.1"),
    (Refused, "GET /v1%5cmodels HTTP/1.1"),
    (Refused, "GET /v1\\models HTTP/1.1"),
    (Refused, "GET /v1/models%00 HTTP/1.1"),
    (Refused, "GET /v1/models%0d%0aX:1 HTTP/1.1"),
    (Refused, "GET /v1/models%zz HTTP/1.1"),
    (Refused, "GET /v1/%252e%252e/models HTTP/1.1"),
    (Refused, "GET /v1/models\u{e9} HTTP/1.1"),
    (Refused, "GET /v1/models\0 HTTP/1.1"),
    (Refused, "GET /v1/models\t HTTP/1.1"),
    (Refused, "GET /v1/models#x HTTP/1.1"),
    (Refused, "GET v1/models HTTP/1.1"),
    (Refused, "GET * HTTP/1.1"),
    (Refused, "OPTIONS * HTTP/1.1"),
    (Refused, "CONNECT gate.test:443 HTTP/1.1"),
    (Refused, "CONNECT http://gate.test/ HTTP/1.1"),
    (Refused, "CONNECT http://gate.test:80/ HTTP/1.1"),
    // Some parsers escape what is between the first space and the version.
    (Refused, "GET /v1/mo dels HTTP/1.1"),
    (Refused, "GET /v1/models?a b HTTP/1.1"),
    (Refused, "GET /v1/models?a\tb HTTP/1.1"),
    (Refused, "GET /v1/models?a\"b c HTTP/1.1"),
    (Refused, "GET /v1/models?\u{e9} HTTP/1.1"),
    (Refused, "GET /v1/models?\u{7f} HTTP/1.1"),
    (Refused, "GET /v1/models? HTTP/1.1 HTTP/1.1"),
    (Refused, "GET  /v1/models HTTP/1.1"),
    (Refused, "GET /v1/models  HTTP/1.1"),
    (Refused, "GET /v1/models HTTP/1.1 "),
    (Refused, "GET /v1/models HTTP/1.1\t"),
    (Refused, "GET\t/v1/models HTTP/1.1"),
    (Refused, "GET /v1/models\tHTTP/1.1"),
    (Refused, "GET \t/v1/models HTTP/1.1"),
    (Refused, "GET /v1/models\u{b} HTTP/1.1"),
    (Refused, "GET /v1/models\u{c}HTTP/1.1"),
    (Refused, "GET /v1/models\r HTTP/1.1"),
    (Refused, "GET /v1/models HTTP/1.1\r"),
    (Refused, "GET /v1/models\rX HTTP/1.1"),
    (Refused, "\tGET /v1/models HTTP/1.1"),
    (Refused, "\rGET /v1/models HTTP/1.1"),
    (Served, "\r\nGET /v1/models HTTP/1.1"),
    (Served, "\r\n\r\nGET /v1/models HTTP/1.1"),
    (RefusedAlone, "TRACE /v1/models HTTP/1.1"),
    (RefusedAlone, "get /v1/models HTTP/1.1"),
    (Refused, "GET /v1/models HTTP/2.0"),
    (Refused, "GET /v1/models HTTP/1.2"),
    (Refused, "GET /v1/models"),
    (Refused, "GET /v1/models HTTP/1.1 x"),
    (Refused, " GET /v1/models HTTP/1.1"),
    (Refused, "\0GET /v1/models HTTP/1.1"),
    (Refused, "SSH-2.0-OpenSSH_9.6"),
];

/// Header lines.
const HEADERS: &[(Outcome, &str)] = &[
    (Served, "Host: gate.test\r\nX-A: b"),
    (Refused, "X-A: b"),
    (Refused, "Host:"),
    (Refused, "Host: gate.test\r\nHost: gate.test"),
    (Refused, "Host: gate.test\r\nHost: other.test"),
    (Refused, "Host: a, b"),
    (Refused, "Host: a/b"),
    (Refused, "Host: user@a"),
    (Refused, "Host: a b"),
    (Refused, "Host: gate.test\r\nX-A: b\rX-C: d"),
    (Refused, "Host: gate.test\r\nX-A: b\0c"),
    (Refused, "Host: gate.test\r\nX-A: b\r\n folded"),
    (Refused, "Host: gate.test\r\n\tX-A: b"),
    (Refused, "Host: gate.test\r\nX A: b"),
    (Refused, "Host: gate.test\r\nX-A : b"),
    (Refused, "Host: gate.test\r\n: b"),
    (Refused, "Host: gate.test\r\nX-A"),
    (Refused, "Host: gate.test\r\nX-\u{e9}: b"),
];

#[tokio::test]
async fn a_body_with_ambiguous_framing_never_reaches_a_provider() {
    let framed = BODIES.iter().copied();
    let chunked = CHUNKS
        .iter()
        .map(|(outcome, body)| (*outcome, "Transfer-Encoding: chunked", *body));
    let rows = framed.chain(chunked).map(|(outcome, framing, body)| {
        let head = format!("{POST}{COMMON}{framing}\r\n\r\n");
        (outcome, head + body)
    });
    assert_outcomes(rows).await;
}

#[tokio::test]
async fn chunks_need_http_1_1() {
    let line = POST.replace("HTTP/1.1", "HTTP/1.0");
    let rows = [
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: {L}",
    ];
    let rows = rows.map(|framing| (Refused, format!("{line}{COMMON}{framing}\r\n\r\n{{C}}")));
    assert_outcomes(rows).await;
}

#[tokio::test]
async fn a_request_line_with_an_ambiguous_target_is_refused() {
    let rows = LINES.iter().map(|(outcome, line)| {
        (
            *outcome,
            format!("{line}\r\nHost: gate.test\r\n{COMMON}\r\n"),
        )
    });
    assert_outcomes(rows).await;
}

#[tokio::test]
async fn header_lines_with_an_ambiguous_meaning_are_refused() {
    let rows = HEADERS.iter().map(|(outcome, lines)| {
        (
            *outcome,
            format!("GET /v1/models HTTP/1.1\r\n{lines}\r\n{COMMON}\r\n"),
        )
    });
    assert_outcomes(rows).await;
}

#[tokio::test]
async fn trailers_are_not_forwarded() {
    let world = TestSetup::start().await;
    let framing = "Transfer-Encoding: chunked\r\nTrailer: Authorization";
    let request = format!("{POST}{COMMON}{framing}\r\n\r\n{{C}}");
    let trailers = "0\r\nAuthorization: Bearer sk-trailer\r\nX-Trailer: 1\r\n\r\n";
    let payload = filled(&request).replace("0\r\n\r\n", trailers);
    let mut connection = world.gateway.connect().await;
    connection.send(payload.as_bytes()).await.unwrap();
    assert!(matches!(
        connection.answer().await.unwrap().status,
        200 | 400
    ));
    for record in world.simulator.records().await {
        assert!(!record.to_string().contains("trailer"), "{record}");
    }
}

async fn assert_outcomes(rows: impl IntoIterator<Item = (Outcome, String)>) {
    let world = TestSetup::start().await;
    let mut wrong = Vec::new();
    let mut received = 0;
    for (outcome, template) in rows {
        let mut connection = world.gateway.connect().await;
        let payload = filled(&template);
        connection.send(payload.as_bytes()).await.unwrap();
        let (status, is_over) = end_of(&mut connection, outcome).await;
        let records = world.simulator.records().await.len();
        let is_post = template.starts_with("POST");
        let served = usize::from(is_post && outcome == Served);
        let is_error = status.is_some_and(|status| (400..506).contains(&status));
        let right = match outcome {
            Served => status == Some(200),
            Refused => is_over && (is_error || status.is_none()),
            RefusedAlone => is_error,
        };
        if !right || records != received + served {
            wrong.push(format!(
                "{status:?}, over: {is_over}, not {outcome:?}: {template:?}"
            ));
        }
        received = records;
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(world.ask(&Request::ask(Protocol::Chat)).await.status, 200);
}

/// The status of the response, if there is one, and whether the connection ends after it if it should.
async fn end_of(connection: &mut Connection, outcome: Outcome) -> (Option<u16>, bool) {
    let Ok(answer) = timeout(HANGS, connection.answer()).await else {
        return (None, false);
    };
    let status = answer.map(|answer| answer.status);
    let is_over = match outcome {
        Refused => timeout(HANGS, connection.is_over()).await.unwrap_or(false),
        Served | RefusedAlone => false,
    };
    (status, is_over)
}

fn filled(template: &str) -> String {
    let body = body_of(Protocol::Chat).to_string();
    let (half, rest) = body.split_at(body.len() / 2);
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    template
        .replace("{K}", ANN)
        .replace("{C}", &format!("{}{}0\r\n\r\n", chunk(half), chunk(rest)))
        .replace("{1}", &chunk(&body))
        .replace("{B}", &body)
        .replace("{L}", &body.len().to_string())
}
