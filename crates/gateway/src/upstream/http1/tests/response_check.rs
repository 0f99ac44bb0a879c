//! Compares the reading of a response in pieces with that of the whole, and with a second parser; tests and a fuzz target
//! call it.

use super::Http1Session;
use crate::downstream::http1::stream_check::{block_on, grammar};
use bytes::Bytes;
use http::StatusCode;
use pingora_error::{Error, ErrorType};
use tokio::io::{AsyncWriteExt, duplex};

/// Maximum number of informational responses that are read.
const HEADS_MAX: usize = 8;

/// What a session reads of a connection.
#[derive(Debug, PartialEq, Eq)]
struct ResponseReading {
    /// Status and fields of each head.
    heads: Vec<(StatusCode, Vec<(String, Bytes)>)>,
    body: Vec<u8>,
    /// `None` if the body has ended.
    error: Option<ErrorType>,
    /// Whether the connection may carry another request.
    is_reusable: bool,
}

/// Reads `stream` whole and in pieces of the sizes that `sizes` has in turn, each at least 1.
///
/// # Errors
/// What differs.
pub fn check(stream: &[u8], sizes: &[usize]) -> Result<(), String> {
    let whole = block_on(read(&[stream]));
    let mut pieces = Vec::new();
    let mut rest = stream;
    for size in sizes.iter().cycle() {
        let (piece, after) = rest.split_at((*size).min(rest.len()));
        pieces.push(piece);
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    let mut cut = block_on(read(&pieces));
    // What follows the end of a response is seen only if it came with it.
    cut.is_reusable &= whole.is_reusable;
    if cut != whole {
        return Err(format!("in pieces {cut:?} instead of {whole:?}"));
    }
    match whole.is_reusable {
        true => check_end(stream, &whole),
        false => Ok(()),
    }
}

/// A connection is reused only if a stricter parser sees the same body with the same end.
fn check_end(stream: &[u8], whole: &ResponseReading) -> Result<(), String> {
    let mut rest = stream;
    for _ in &whole.heads {
        let end = memchr::memmem::find(rest, b"\r\n\r\n").ok_or("a head has no plain end")?;
        rest = &rest[end + 4..];
    }
    let (_, fields) = whole.heads.last().ok_or("no head was read")?;
    let is_chunked = fields.iter().any(|(name, _)| name == "transfer-encoding");
    let expected = match is_chunked && !rest.is_empty() {
        true => grammar::chunked_body(rest).ok_or("another parser sees no chunked body")?,
        false => (rest.to_vec(), rest.len()),
    };
    match expected == (whole.body.clone(), rest.len()) {
        true => Ok(()),
        false => Err(format!("{expected:?} instead of {:?}", whole.body)),
    }
}

async fn read(pieces: &[&[u8]]) -> ResponseReading {
    let (mut provider, near) = duplex(1 << 20);
    let write = async move {
        for piece in pieces {
            if provider.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    let mut session = Http1Session::new(Box::new(near));
    let mut reading = ResponseReading {
        heads: Vec::new(),
        body: Vec::new(),
        error: None,
        is_reusable: false,
    };
    let read = async {
        if let Err(error) = read_response(&mut session, &mut reading).await {
            reading.error = Some(error.etype().clone());
        }
    };
    tokio::join!(write, read);
    reading.is_reusable = session.is_reusable();
    reading
}

async fn read_response(
    session: &mut Http1Session,
    reading: &mut ResponseReading,
) -> Result<(), Box<Error>> {
    for _ in 0..HEADS_MAX {
        session.read_head().await?;
        let Some(head) = session.head() else {
            unreachable!("a head was read");
        };
        let fields = head.headers.iter().map(|(name, value)| {
            let value = Bytes::copy_from_slice(value.as_bytes());
            (name.to_string(), value)
        });
        let status = head.status;
        reading.heads.push((status, fields.collect()));
        if !status.is_informational() || status == StatusCode::SWITCHING_PROTOCOLS {
            break;
        }
    }
    while let Some(chunk) = session.read_body().await? {
        assert!(!chunk.is_empty(), "a chunk has bytes");
        reading.body.extend_from_slice(&chunk);
    }
    Ok(())
}
