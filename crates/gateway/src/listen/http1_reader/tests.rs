//! What sessions read from a connection with several messages.

use super::*;
use crate::listen::http1_inspection::{BodyFraming, InspectionError};
use std::future::poll_fn;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::timeout;

const MESSAGES: &[(&str, &str, BodyFraming)] = &[
    ("GET / HTTP/1.1\r\nA: b\r\n\r\n", "", BodyFraming::Length(0)),
    (
        "POST / HTTP/1.1\r\n\r\n",
        "0123456789",
        BodyFraming::Length(10),
    ),
    (
        "POST / HTTP/1.1\r\n\r\n",
        "3\r\nabc\r\n0\r\nA: b\r\n\r\n",
        BodyFraming::Chunked,
    ),
    ("PUT / HTTP/1.1\n\n", "0\r\n\r\n", BodyFraming::Chunked),
];

fn inspected() -> (DuplexStream, Stream, SharedHttp1Inspector) {
    let (client, server) = duplex(1 << 20);
    let reader = Http1Reader::default();
    let inspection = reader.inspection.clone();
    let stream = InterceptedConnection::boxed(Box::new(server), reader);
    (client, stream, inspection)
}

/// Reads until `bytes` bytes have arrived.
async fn read(stream: &mut Stream, bytes: usize, piece: usize) -> String {
    let mut all = Vec::new();
    while all.len() < bytes {
        let mut buffer = vec![0; piece];
        let count = stream.read(&mut buffer).await.unwrap();
        assert!(count > 0, "the end behind {}", all.escape_ascii());
        all.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(all).unwrap()
}

fn refused(error: io::Error) -> InspectionError {
    *error.get_ref().unwrap().downcast_ref().unwrap()
}

async fn is_silent(stream: &mut Stream) -> bool {
    let mut probe = [0];
    let read = timeout(Duration::from_millis(5), stream.read(&mut probe)).await;
    read.is_err()
}

#[tokio::test]
async fn each_session_reads_its_message_and_no_more() {
    for (written, piece) in [(1, 64), (7, 5), (1000, 1), (1000, 1000)] {
        let (mut client, mut stream, inspection) = inspected();
        let all: String = MESSAGES
            .iter()
            .map(|(head, body, _)| format!("\r\n{head}{body}"))
            .collect();
        let writer = tokio::spawn(async move {
            for bytes in all.as_bytes().chunks(written) {
                client.write_all(bytes).await.unwrap();
                tokio::task::yield_now().await;
            }
            client
        });
        for (head, body, framing) in MESSAGES {
            inspection.begin_message(1000);
            assert_eq!(read(&mut stream, head.len(), piece).await, *head);
            assert_eq!(inspection.head().bytes, head.len());
            inspection.begin_body(*framing);
            assert_eq!(read(&mut stream, body.len(), piece).await, *body);
            inspection.end_body().unwrap();
            assert!(is_silent(&mut stream).await);
        }
        drop(writer.await.unwrap());
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn a_body_that_the_exchange_receives_does_not_pass_through_the_session() {
    let (head, body, framing) = MESSAGES[1];
    let (next, _, _) = MESSAGES[0];
    for (written, room) in [(1, 10), (7, 4), (1000, 10), (1000, 3), (1000, 100)] {
        let (mut client, mut stream, inspection) = inspected();
        let all = format!("{head}{body}{next}");
        let writer = tokio::spawn(async move {
            for bytes in all.as_bytes().chunks(written) {
                client.write_all(bytes).await.unwrap();
                tokio::task::yield_now().await;
            }
            client
        });
        inspection.begin_message(1000);
        assert_eq!(read(&mut stream, head.len(), 1000).await, head);
        inspection.begin_body(framing);
        let mut received = Vec::new();
        while inspection.body_bytes_left().is_some() {
            inspection.receive_into(BytesMut::with_capacity(room), room);
            received.extend_from_slice(&received_body(&mut stream, &inspection).await);
        }
        assert_eq!(received, body.as_bytes());
        inspection.end_body().unwrap();
        assert!(is_silent(&mut stream).await);
        inspection.begin_message(1000);
        assert_eq!(read(&mut stream, next.len(), 1000).await, next);
        drop(writer.await.unwrap());
    }
}

async fn received_body(stream: &mut Stream, inspection: &SharedHttp1Inspector) -> BytesMut {
    let mut probe = [0];
    let mut reading = pin!(stream.read(&mut probe));
    poll_fn(|context| match reading.as_mut().poll(context) {
        Poll::Ready(read) => panic!("the session got {read:?}"),
        Poll::Pending => match inspection.take_received() {
            Some(body) => Poll::Ready(body),
            None => Poll::Pending,
        },
    })
    .await
}

#[tokio::test]
async fn a_session_that_sees_another_end_gets_an_error() {
    let (head, body, framing) = MESSAGES[2];
    let (mut client, mut stream, inspection) = inspected();
    client.write_all(head.as_bytes()).await.unwrap();
    client.write_all(body.as_bytes()).await.unwrap();
    inspection.begin_message(1000);
    read(&mut stream, head.len(), 100).await;
    let error = stream.read(&mut [0]).await.unwrap_err();
    assert_eq!(refused(error), InspectionError::HeadEnd);
    inspection.begin_body(framing);
    read(&mut stream, body.len() - 1, 1).await;
    assert_eq!(inspection.end_body(), Err(InspectionError::BodyEnd));
    read(&mut stream, 1, 1).await;
    let error = stream.read(&mut [0]).await.unwrap_err();
    assert_eq!(refused(error), InspectionError::BodyEnd);
}

#[tokio::test]
async fn oversized_heads_and_malformed_chunks_end_the_reading() {
    let (mut client, mut stream, inspection) = inspected();
    client.write_all(&[b'a'; 100]).await.unwrap();
    inspection.begin_message(10);
    assert!(!inspection.has_begun());
    assert_eq!(read(&mut stream, 10, 100).await, "a".repeat(10));
    assert!(inspection.has_begun());
    let error = stream.read(&mut [0]).await.unwrap_err();
    assert_eq!(refused(error), InspectionError::HeadTooLarge);
    inspection.discard(1000);
    assert!(is_silent(&mut stream).await);
    inspection.begin_body(BodyFraming::Chunked);
    client.write_all(b"2\r\n{}\r\nx").await.unwrap();
    let mut buffer = [0; 100];
    let error = stream.read(&mut buffer).await.unwrap_err();
    assert_eq!(refused(error), InspectionError::Chunks);
    // The error persists.
    let error = stream.read(&mut buffer).await.unwrap_err();
    assert_eq!(refused(error), InspectionError::Chunks);
    drop(client);
    inspection.discard(1000);
    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
}

#[test]
fn received_bytes_are_not_printed() {
    let (_client, server) = duplex(1);
    let mut reader = Http1Reader::default();
    reader.early.extend_from_slice(b"sk-secret");
    let stream = InterceptedConnection::boxed(Box::new(server), reader);
    assert!(!format!("{stream:?}").contains("secret"));
}

#[tokio::test]
async fn a_head_that_comes_by_the_byte_reaches_the_session_in_few_pieces() {
    let head = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "b".repeat(4_000));
    let (mut client, mut stream, inspection) = inspected();
    inspection.begin_message(head.len());
    let (sent, mut received, mut pieces) = (head.clone(), String::new(), 0);
    let writer = tokio::spawn(async move {
        for byte in sent.as_bytes() {
            client.write_all(&[*byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        client
    });
    while received.len() < head.len() {
        received += &read(&mut stream, 1, 9_000).await;
        pieces += 1;
    }
    assert_eq!(received, head);
    // The session parses as many bytes as twice the head at most.
    assert!(pieces <= 14, "{pieces}");
    drop(writer.await.unwrap());
}
