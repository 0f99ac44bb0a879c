//! What a session makes of a byte stream that arrives in pieces.

use super::super::*;
use crate::downstream::session::CallerSession;
use crate::head;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use std::cell::Cell;
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio::task::yield_now;

/// Maximum size of a head, in bytes.
pub const HEAD_BYTES_MAX: usize = 2000;
/// Maximum number of bytes that a session may keep: a piece of a body, and a read behind it, in a buffer that doubles.
const KEPT_BYTES_MAX: usize = 2 * (PIECE_BYTES_MAX + SCRATCH_BYTES);

/// How a stream arrives, and how the gateway reads it; by default whole, and without interruption.
#[derive(Clone, Debug, Default)]
pub struct StreamCutting {
    /// One less than the sizes of its pieces, over and over; empty for one piece.
    sizes: Vec<u8>,
    /// How often the reader may run before the next piece.
    pauses: usize,
    /// Room for each piece of a body of declared length, which is then read into the buffer of the exchange.
    room: Option<usize>,
    /// Reads that wait are dropped.
    is_interrupted: bool,
    /// The client's departure is watched after each body.
    looks_ahead: bool,
}

/// What was read of a stream.
#[derive(Debug, PartialEq, Eq)]
pub struct StreamReading {
    pub requests: Vec<AcceptedRequest>,
    pub end: StreamReadingEnd,
    /// How many responses and interim responses the client received.
    pub replies: (usize, usize),
}

/// A request whose head was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedRequest {
    pub method: String,
    pub target: Bytes,
    pub path: String,
    pub query: Option<String>,
    /// With names in lower case, sorted by these.
    pub fields: Vec<(String, Bytes)>,
    /// `None` if it did not arrive as a whole.
    pub body: Option<Bytes>,
}

/// Why no further request was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamReadingEnd {
    /// The stream ended between requests.
    Silent,
    UnfinishedHead,
    RefusedHead,
    UnfinishedBody,
    RefusedBody,
    /// The last request closes the connection, with this much behind it.
    Closed(Bytes),
}

impl StreamCutting {
    /// Every input is a way to cut.
    pub fn decode([pauses, room, habits, sizes @ ..]: [u8; 6]) -> Self {
        Self {
            sizes: match habits & 12 {
                0 => vec![0],
                4 => vec![0, sizes[0] % 8],
                _ => sizes.to_vec(),
            },
            pauses: usize::from(pauses % 3),
            room: (room % 2 == 1).then_some(usize::from(room)),
            is_interrupted: habits & 1 != 0,
            looks_ahead: habits & 2 != 0,
        }
    }
}

/// Reads `bytes`, cut that way, to their end or to the first refusal.
pub async fn read_stream(bytes: &[u8], cutting: &StreamCutting) -> StreamReading {
    let (client, server) = duplex(1 << 18);
    let session = Box::new(Http1ServerSession::new(
        Box::new(server),
        Duration::from_secs(3600),
    ));
    let is_closing = Cell::new(false);
    let reading = read_requests(session, cutting, &is_closing);
    let (mut client, (requests, end)) =
        tokio::join!(write_pieces(client, bytes, cutting, &is_closing), reading);
    let mut received = Vec::new();
    client.read_to_end(&mut received).await.unwrap();
    let count = |text: &[u8]| memchr::memmem::find_iter(&received, text).count();
    StreamReading {
        requests,
        end,
        replies: (count(b"HTTP/1.1 200 OK\r\n"), count(b"HTTP/1.1 100 ")),
    }
}

/// Fields in the order of their names; those of one name keep theirs.
pub fn sort_by_name(fields: impl Iterator<Item = (String, Bytes)>) -> Vec<(String, Bytes)> {
    let mut fields: Vec<_> = fields.collect();
    fields.sort_by(|(one, _), (other, _)| one.cmp(other));
    fields
}

async fn write_pieces(
    mut client: DuplexStream,
    bytes: &[u8],
    cutting: &StreamCutting,
    is_closing: &Cell<bool>,
) -> DuplexStream {
    let mut sizes = cutting.sizes.iter().cycle();
    let mut rest = bytes;
    while !rest.is_empty() {
        let size = sizes
            .next()
            .map_or(rest.len(), |size| 1 + usize::from(*size));
        let (piece, after) = rest.split_at(size.min(rest.len()));
        if client.write_all(piece).await.is_err() {
            break;
        }
        rest = after;
        for _ in 0..cutting.pauses {
            yield_now().await;
        }
    }
    yield_now().await;
    is_closing.set(true);
    client.shutdown().await.unwrap();
    client
}

async fn read_requests(
    mut session: Box<Http1ServerSession>,
    cutting: &StreamCutting,
    is_closing: &Cell<bool>,
) -> (Vec<AcceptedRequest>, StreamReadingEnd) {
    let mut requests = Vec::new();
    loop {
        session.begin_request(HEAD_BYTES_MAX);
        let read = poll_fn(|context| session.poll_read_head(context)).await;
        assert!(session.received.capacity() <= KEPT_BYTES_MAX);
        match read {
            Ok(true) => {}
            Ok(false) => return (requests, StreamReadingEnd::Silent),
            Err(Http1ReadError::Closed) => return (requests, StreamReadingEnd::UnfinishedHead),
            Err(_) => return (requests, StreamReadingEnd::RefusedHead),
        }
        let mut caller = CallerSession::Http1(session);
        let checked = head::check(&mut caller);
        let CallerSession::Http1(accepted) = caller else {
            unreachable!("the check exchanges no sessions");
        };
        session = accepted;
        let Ok(target) = checked else {
            assert!(matches!(
                session.read_body().await,
                Err(Http1ReadError::HeadEnd)
            ));
            return (requests, StreamReadingEnd::RefusedHead);
        };
        requests.push(accepted_request(&session, target));
        if session.has_unread_body() && session.request().parts.headers.contains_key("expect") {
            session.write_continue().await.unwrap();
        }
        match read_body(&mut session, cutting).await {
            Ok(body) => requests.last_mut().unwrap().body = Some(body),
            Err(Http1ReadError::Closed) => return (requests, StreamReadingEnd::UnfinishedBody),
            Err(_) => return (requests, StreamReadingEnd::RefusedBody),
        }
        if cutting.looks_ahead && !is_closing.get() {
            let _ = poll_once(session.until_client_leaves()).await;
        }
        respond(&mut session).await;
        let mut rest = None;
        if !session.keeps_connection {
            let mut bytes = std::mem::take(&mut session.received).to_vec();
            session.stream.read_to_end(&mut bytes).await.unwrap();
            rest = Some(bytes.into());
        }
        match (session.finish().await, rest) {
            (Some(next), None) => session = next,
            (None, Some(rest)) => return (requests, StreamReadingEnd::Closed(rest)),
            (next, _) => panic!("the connection is kept: {}", next.is_some()),
        }
    }
}

fn accepted_request(
    session: &Http1ServerSession,
    target: head::NormalizedRequestTarget,
) -> AcceptedRequest {
    let Http1RequestHead {
        parts, target: raw, ..
    } = session.request();
    let fields = parts.headers.iter().map(|(name, value)| {
        let value = Bytes::copy_from_slice(value.as_bytes());
        (name.to_string(), value)
    });
    AcceptedRequest {
        method: parts.method.to_string(),
        target: raw.clone(),
        path: target.path,
        query: target.query,
        fields: sort_by_name(fields),
        body: None,
    }
}

async fn read_body(
    session: &mut Http1ServerSession,
    cutting: &StreamCutting,
) -> Result<Bytes, Http1ReadError> {
    let mut body = Vec::new();
    loop {
        let piece = match (session.body_bytes_left(), cutting.room) {
            (Some(_), Some(room)) => Some(
                session
                    .read_body_into(BytesMut::new(), room)
                    .await?
                    .freeze(),
            ),
            _ if cutting.is_interrupted => loop {
                if let Poll::Ready(read) = poll_once(session.read_body()).await {
                    break read?;
                }
                yield_now().await;
            },
            _ => session.read_body().await?,
        };
        let Some(piece) = piece else {
            return Ok(body.into());
        };
        assert!(!piece.is_empty() && piece.len() <= PIECE_BYTES_MAX + SCRATCH_BYTES);
        assert!(session.received.capacity() <= KEPT_BYTES_MAX);
        body.extend_from_slice(&piece);
    }
}

async fn respond(session: &mut Http1ServerSession) {
    let headers = HeaderMap::from_iter([(header::CONTENT_LENGTH, HeaderValue::from_static("2"))]);
    session.write_head(StatusCode::OK, &headers).await.unwrap();
    let body = Bytes::from_static(b"{}");
    session.write_body(body, true).await.unwrap();
}

/// Polls a future once, and drops it.
async fn poll_once<T>(future: impl Future<Output = T>) -> Poll<T> {
    let mut future = pin!(future);
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}
