//! Requests as they are read from a connection, and responses as they are written to it.

mod streams;

use super::*;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::timeout;

const HEAD_BYTES_MAX: usize = 1000;
const LONG: Duration = Duration::from_secs(3600);

/// Heads with their bodies on the wire, the framing of these, and their content.
const REQUESTS: &[(&str, &str, BodyFraming, &str)] = &[
    (
        "GET / HTTP/1.1\r\nA: b\r\n\r\n",
        "",
        BodyFraming::Length(0),
        "",
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\n\r\n",
        "0123456789",
        BodyFraming::Length(10),
        "0123456789",
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\n\r\n",
        "3\r\nabc\r\n0\r\nA: b\r\n\r\n",
        BodyFraming::Chunked,
        "abc",
    ),
    ("PUT / HTTP/1.1\n\n", "0\r\n\r\n", BodyFraming::Chunked, ""),
];

fn connection() -> (DuplexStream, Box<Http1ServerSession>) {
    let (client, server) = duplex(1 << 20);
    (
        client,
        Box::new(Http1ServerSession::new(Box::new(server), LONG)),
    )
}

async fn read_head(session: &mut Http1ServerSession) -> Result<bool, Http1ReadError> {
    session.begin_request(HEAD_BYTES_MAX);
    poll_fn(|context| session.poll_read_head(context)).await
}

async fn read_all(session: &mut Http1ServerSession) -> Result<Vec<u8>, Http1ReadError> {
    let mut body = Vec::new();
    while let Some(piece) = session.read_body().await? {
        assert!(!piece.is_empty());
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// Writes `all` in pieces of `size` bytes, each of which the session may read by itself.
async fn write_by(mut client: DuplexStream, all: Vec<u8>, size: usize) -> DuplexStream {
    for piece in all.chunks(size) {
        client.write_all(piece).await.unwrap();
        tokio::task::yield_now().await;
    }
    client
}

#[tokio::test]
async fn requests_of_a_pipeline_are_read_one_by_one_however_they_come() {
    let all: String = REQUESTS
        .iter()
        .map(|(head, body, ..)| format!("\r\n{head}{body}"))
        .collect();
    for size in [1, 2, 3, 7, 20, 1000] {
        let (client, mut session) = connection();
        let writer = tokio::spawn(write_by(client, all.clone().into_bytes(), size));
        for (head, _, framing, content) in REQUESTS {
            assert!(read_head(&mut session).await.unwrap(), "{head:?} by {size}");
            let method = session.request().parts.method.as_str().to_owned();
            assert!(head.starts_with(&method), "{head:?} by {size}");
            session.begin_body(*framing);
            let body = read_all(&mut session).await.unwrap();
            assert_eq!(body, content.as_bytes(), "{head:?} by {size}");
            session = session.finish().await.unwrap();
        }
        drop(writer.await.unwrap());
        assert!(!read_head(&mut session).await.unwrap());
    }
}

#[tokio::test]
async fn a_body_is_read_into_the_buffer_of_the_exchange() {
    let (head, body, framing, _) = REQUESTS[1];
    let (next, ..) = REQUESTS[0];
    for size in [1, 7, 1000] {
        for room in [3, 4, 10, 100] {
            let (client, mut session) = connection();
            let all = format!("{head}{body}{next}").into_bytes();
            let writer = tokio::spawn(write_by(client, all, size));
            assert!(read_head(&mut session).await.unwrap());
            session.begin_body(framing);
            let mut received = BytesMut::from("before ");
            while session.body_bytes_left().is_some() {
                received = session.read_body_into(received, room).await.unwrap();
            }
            assert_eq!(received, format!("before {body}"));
            session = session.finish().await.unwrap();
            assert!(read_head(&mut session).await.unwrap());
            drop(writer.await.unwrap());
        }
    }
}

#[tokio::test]
async fn a_client_that_leaves_before_the_end_is_an_error_and_before_the_begin_none() {
    for (sent, is_silent) in [
        ("", true),
        ("\r\n", true),
        ("G", false),
        ("GET / HTTP/1.1\r\n", false),
    ] {
        let (mut client, mut session) = connection();
        client.write_all(sent.as_bytes()).await.unwrap();
        drop(client);
        match read_head(&mut session).await {
            Ok(read) => assert!(is_silent && !read, "{sent:?}"),
            Err(error) => assert!(!is_silent && matches!(error, Http1ReadError::Closed)),
        }
    }
    for (framing, sent) in [
        (BodyFraming::Length(10), "01234"),
        (BodyFraming::Chunked, "5\r\n01234"),
        (BodyFraming::Chunked, "5\r\n01234\r\n0\r\n"),
    ] {
        let (mut client, mut session) = connection();
        let head = "POST / HTTP/1.1\r\n\r\n";
        client.write_all(head.as_bytes()).await.unwrap();
        client.write_all(sent.as_bytes()).await.unwrap();
        drop(client);
        assert!(read_head(&mut session).await.unwrap());
        session.begin_body(framing);
        let error = read_all(&mut session).await.unwrap_err();
        assert!(matches!(error, Http1ReadError::Closed), "{sent:?}: {error}");
    }
}

#[tokio::test]
async fn what_no_head_can_begin_with_is_refused_before_its_end() {
    for sent in [
        "\u{16}\u{3}\u{1}",
        "GET / HTTP/3",
        "GET / HTTP/1.1\r\nA b\r\n",
    ] {
        let (mut client, mut session) = connection();
        client.write_all(sent.as_bytes()).await.unwrap();
        let read = timeout(Duration::from_secs(5), read_head(&mut session)).await;
        assert!(read.unwrap().is_err(), "{sent:?}");
    }
}

#[tokio::test]
async fn a_head_may_be_as_large_as_its_limit() {
    for (excess, is_accepted) in [(0, true), (1, false)] {
        let (mut client, mut session) = connection();
        let begin = "GET / HTTP/1.1\r\nA: ";
        let filler = "b".repeat(HEAD_BYTES_MAX - begin.len() - 4 + excess);
        let head = format!("{begin}{filler}\r\n\r\n");
        client.write_all(head.as_bytes()).await.unwrap();
        match read_head(&mut session).await {
            Ok(read) => assert!(read && is_accepted),
            Err(error) => assert!(matches!(error, Http1ReadError::HeadTooLarge) && !is_accepted),
        }
    }
}

#[tokio::test]
async fn malformed_chunks_end_the_reading_and_the_rest_is_discarded() {
    let (mut client, mut session) = connection();
    let sent = b"POST / HTTP/1.1\r\n\r\n2\r\n{}\r\nx";
    client.write_all(sent).await.unwrap();
    assert!(read_head(&mut session).await.unwrap());
    session.begin_body(BodyFraming::Chunked);
    let error = read_all(&mut session).await.unwrap_err();
    assert!(matches!(error, Http1ReadError::Chunks));
    assert!(session.has_unread_body());
    client.write_all(&[b'x'; 10_000]).await.unwrap();
    drop(client);
    session.discard(1 << 20).await;
}

#[tokio::test]
async fn nothing_after_a_head_is_a_body_before_the_head_was_checked() {
    let (mut client, mut session) = connection();
    let (head, body, ..) = REQUESTS[1];
    client.write_all(head.as_bytes()).await.unwrap();
    client.write_all(body.as_bytes()).await.unwrap();
    assert!(read_head(&mut session).await.unwrap());
    let error = session.read_body().await.unwrap_err();
    assert!(matches!(error, Http1ReadError::HeadEnd));
    assert!(session.finish().await.is_none());
}

#[tokio::test]
async fn a_client_that_waits_is_not_one_that_has_left_whatever_it_sends_early() {
    for early in [0, 1, 100_000] {
        let (mut client, mut session) = connection();
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        assert!(read_head(&mut session).await.unwrap());
        session.begin_body(BodyFraming::Length(0));
        client.write_all(&vec![b'x'; early]).await.unwrap();
        let waiting = timeout(Duration::from_millis(5), session.until_client_leaves()).await;
        assert!(waiting.is_err(), "{early}");
        assert!(session.received.len() <= early.min(100 << 10));
    }
    let (mut client, mut session) = connection();
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    assert!(read_head(&mut session).await.unwrap());
    session.begin_body(BodyFraming::Length(0));
    drop(client);
    session.until_client_leaves().await;
    assert!(session.finish().await.is_none());
}

#[tokio::test]
async fn a_connection_that_waits_has_no_read_buffer() {
    let (mut client, mut session) = connection();
    for _ in 0..2 {
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        assert!(read_head(&mut session).await.unwrap());
        session.begin_body(BodyFraming::Length(0));
        let waiting = timeout(Duration::from_millis(1), session.until_client_leaves()).await;
        assert!(waiting.is_err());
        assert_eq!(session.received.capacity(), 0);
        session = session.finish().await.unwrap();
    }
    client.write_all(b"GET / HTTP").await.unwrap();
    let reading = timeout(Duration::from_millis(1), read_head(&mut session)).await;
    assert!(reading.is_err());
    assert!(session.received.capacity() <= 100);
}

/// The response to a request with this begin, as the client receives it; `None` stands for the date.
async fn response(
    request: &str,
    status: StatusCode,
    headers: &HeaderMap,
    pieces: &[&'static str],
) -> (String, bool) {
    let (mut client, mut session) = connection();
    let head = format!("{request}\r\n\r\n");
    client.write_all(head.as_bytes()).await.unwrap();
    assert!(read_head(&mut session).await.unwrap());
    session.begin_body(BodyFraming::Length(0));
    session.write_head(status, headers).await.unwrap();
    for piece in pieces {
        let piece = Bytes::from_static(piece.as_bytes());
        session.write_body(piece, false).await.unwrap();
    }
    let is_kept = session.finish().await.is_some();
    let mut received = String::new();
    client.read_to_string(&mut received).await.unwrap();
    let (before, rest) = received.split_once("Date: ").unwrap();
    let (_, after) = rest.split_once("\r\n").unwrap();
    (format!("{before}{after}"), is_kept)
}

#[tokio::test]
async fn a_response_has_the_framing_that_its_head_declares() {
    let headers = |name, value| HeaderMap::from_iter([(name, HeaderValue::from_static(value))]);
    let length = headers(header::CONTENT_LENGTH, "4");
    let chunked = headers(header::TRANSFER_ENCODING, "chunked");
    for (request, status, headers, pieces, expected, is_kept) in [
        (
            "GET / HTTP/1.1",
            StatusCode::OK,
            &length,
            &["{}", "\r\n"][..],
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: keep-alive\r\n\r\n{}\r\n",
            true,
        ),
        (
            "GET / HTTP/1.1",
            StatusCode::OK,
            &length,
            &["{}", "\r\nHTTP/1.1 200 OK"],
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: keep-alive\r\n\r\n{}\r\n",
            true,
        ),
        (
            "GET / HTTP/1.1",
            StatusCode::OK,
            &length,
            &["{}"],
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: keep-alive\r\n\r\n{}",
            false,
        ),
        (
            "GET / HTTP/1.1",
            StatusCode::OK,
            &chunked,
            &["{}", "0123456789"],
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n2\r\n{}\r\nA\r\n0123456789\r\n0\r\n\r\n",
            true,
        ),
        (
            "HEAD / HTTP/1.1",
            StatusCode::OK,
            &length,
            &["{}\r\n"],
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: keep-alive\r\n\r\n",
            true,
        ),
        (
            "GET / HTTP/1.1",
            StatusCode::NO_CONTENT,
            &HeaderMap::new(),
            &[],
            "HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n",
            true,
        ),
        (
            "GET / HTTP/1.0",
            StatusCode::OK,
            &HeaderMap::new(),
            &["{}"],
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}",
            false,
        ),
        (
            "GET / HTTP/1.1\r\nConnection: x, Close",
            StatusCode::OK,
            &length,
            &["{}\r\n"],
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n{}\r\n",
            false,
        ),
    ] {
        let received = response(request, status, headers, pieces).await;
        assert_eq!(received, (expected.to_owned(), is_kept), "{request}");
    }
}

#[tokio::test]
async fn a_write_that_is_dropped_is_continued_by_the_next_one() {
    let (mut client, server) = duplex(16);
    let mut session = Box::new(Http1ServerSession::new(Box::new(server), LONG));
    let chunked = HeaderValue::from_static("chunked");
    let headers = HeaderMap::from_iter([(header::TRANSFER_ENCODING, chunked)]);
    let continuing = timeout(Duration::from_millis(1), session.write_continue());
    assert!(continuing.await.is_err());
    let writing = async {
        session.write_head(StatusCode::OK, &headers).await.unwrap();
        let piece = Bytes::from_static(&[b'x'; 100]);
        for _ in 0..3 {
            let written = session.write_body(piece.clone(), false);
            let _ = timeout(Duration::from_micros(1), written).await;
        }
        drop(session.finish().await);
    };
    let mut received = String::new();
    let (read, ()) = tokio::join!(client.read_to_string(&mut received), writing);
    read.unwrap();
    let (head, body) = received.split_once("keep-alive\r\n\r\n").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"),
        "{head}"
    );
    let chunk = format!("64\r\n{}\r\n", "x".repeat(100));
    assert_eq!(body, format!("{}0\r\n\r\n", chunk.repeat(3)));
}

#[tokio::test]
async fn a_client_that_reads_nothing_ends_the_writing() {
    let (_client, server) = duplex(100);
    let mut session = Http1ServerSession::new(Box::new(server), Duration::from_millis(20));
    let headers = HeaderMap::from_iter([(header::CONTENT_LENGTH, HeaderValue::from(1000))]);
    let writing = async {
        session.write_head(StatusCode::OK, &headers).await?;
        let body = Bytes::from_static(&[b'x'; 1000]);
        session.write_body(body, true).await
    };
    let error = writing.await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

#[test]
fn received_bytes_are_not_printed() {
    let error = Http1RequestHead::check_begin(b"GET / HTTP/1.1\r\nX-Api-Key\0: sk-secret\r\n");
    let error = error.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("secret"));
}
