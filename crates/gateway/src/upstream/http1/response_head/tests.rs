//! Heads of responses against tables: what they declare, and whether they keep the connection.

use super::{ResponseFraming, ResponseHead};
use bytes::BytesMut;

fn take(head: &str) -> ResponseHead {
    let mut received = BytesMut::from(format!("{head}body").as_bytes());
    let taken = ResponseHead::take(&mut received).unwrap().unwrap();
    assert_eq!(&received[..], b"body");
    taken
}

#[test]
fn a_head_is_taken_once_it_is_complete() {
    let head = "HTTP/1.1 404 Not Found\r\nA: b\r\nC:\r\nA:  d \r\nContent-Length: 4\r\n\r\n";
    for end in 1..head.len() {
        let mut received = BytesMut::from(&head.as_bytes()[..end]);
        assert!(ResponseHead::take(&mut received).unwrap().is_none());
        assert_eq!(received.len(), end);
    }
    let taken = take(head);
    assert_eq!(taken.status, 404);
    assert_eq!(taken.framing, ResponseFraming::Length(4));
    let fields: Vec<_> = taken
        .headers
        .iter()
        .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
        .collect();
    assert_eq!(fields, ["a=b", "a=d", "c=", "content-length=4"]);
}

#[test]
fn folded_lines_become_one() {
    let taken = take("HTTP/1.1 200 OK\r\nA: b\r\n c: d\r\n\te\r\n\r\n");
    assert_eq!(taken.headers["a"], "b   c: d  \te");
}

#[test]
fn the_connection_is_kept_if_the_end_of_the_body_is_unambiguous() {
    for (head, framing, is_kept) in [
        ("HTTP/1.1 200 OK\r\n\r\n", ResponseFraming::Connection, true),
        (
            "HTTP/1.1 200 \r\nA: b\r\nContent-Length: 2\r\n\r\n",
            ResponseFraming::Length(2),
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding:  Chunked \r\nA:\r\n\r\n",
            ResponseFraming::Chunked,
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\nConnection: a, Close\r\nContent-Length: 2\r\n\r\n",
            ResponseFraming::Length(2),
            false,
        ),
        (
            "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n",
            ResponseFraming::Length(2),
            false,
        ),
        (
            "\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n",
            ResponseFraming::Length(2),
            false,
        ),
        (
            "HTTP/1.1 200 OK\nContent-Length: 2\n\n",
            ResponseFraming::Length(2),
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nA: b\nContent-Length: 2\r\n\r\n",
            ResponseFraming::Length(2),
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\n",
            ResponseFraming::Length(2),
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: b\r\n c: d\r\n\r\n",
            ResponseFraming::Length(2),
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\n",
            ResponseFraming::Length(2),
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n",
            ResponseFraming::Length(2),
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
            ResponseFraming::Chunked,
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: x, chunked\r\n\r\n",
            ResponseFraming::Chunked,
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, x\r\n\r\n",
            ResponseFraming::Connection,
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            ResponseFraming::Chunked,
            false,
        ),
        ("HTTP/1.1 204 OK\r\n\r\n", ResponseFraming::Connection, true),
        (
            "HTTP/1.1 204 OK\r\nContent-Length: 0\r\n\r\n",
            ResponseFraming::Length(0),
            false,
        ),
        (
            "HTTP/1.1 304 OK\r\nContent-Length: 9\r\n\r\n",
            ResponseFraming::Length(9),
            true,
        ),
        (
            "HTTP/1.1 304 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            ResponseFraming::Chunked,
            false,
        ),
    ] {
        let taken = take(head);
        assert_eq!(taken.framing, framing, "{head:?}");
        assert_eq!(taken.keeps_connection(), is_kept, "{head:?}");
    }
}

#[test]
fn the_time_that_a_provider_keeps_a_connection_is_read() {
    for (value, seconds) in [
        ("timeout=5", Some(5)),
        ("max=100, Timeout = 75", Some(75)),
        ("timeout=0", Some(0)),
        ("timeout=", None),
        ("timeout=-1", None),
        ("max=5", None),
    ] {
        let taken = take(&format!("HTTP/1.1 200 OK\r\nKeep-Alive: {value}\r\n\r\n"));
        let keep_alive = taken.keep_alive().map(|time| time.as_secs());
        assert_eq!(keep_alive, seconds, "{value}");
    }
}

#[test]
fn what_is_no_head_is_refused() {
    for head in [
        "{}",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: \0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
    ] {
        let mut received = BytesMut::from(head.as_bytes());
        assert!(ResponseHead::take(&mut received).is_err(), "{head:?}");
    }
    let fields = "A: b\r\n".repeat(super::FIELDS_MAX + 1);
    let head = format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
    let mut received = BytesMut::from(head.as_bytes());
    assert!(ResponseHead::take(&mut received).is_err());
}
