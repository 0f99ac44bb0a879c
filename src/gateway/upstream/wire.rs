//! Writes a request to a connection and reads the head of the response, over HTTP/1.1 or HTTP/2.

use super::response_bytes::ResponseFramingTracker;
use crate::protocol::header_policy;
use crate::protocol::json::edit::BodySegments;
use bytes::Bytes;
use pingora_core::protocols::http::client::HttpSession;
use pingora_error::{Error, ErrorType};
use pingora_http::RequestHeader;
use std::time::Duration;

/// Bodies up to this many bytes leave in one system call with the head.
const ONE_WRITE_MAX: usize = 64 << 10;
/// A body of more segments is copied into one piece before it is written.
const SEGMENTS_MAX: usize = 6;
/// Size of the pieces of larger bodies, in bytes; the idle timeout applies to each.
const PIECE: usize = 256 << 10;

/// The maximum number of informational responses before a response: one in a second for hours.
const INFORMATIONAL_MAX: usize = 10_000;

const ENDLESS_INFORMATION: ErrorType = ErrorType::new("TooManyInformationalResponses");
const CONTRADICTION: ErrorType = ErrorType::new("ContradictoryHead");

/// How much of a request was written.
pub enum RequestWriteOutcome {
    Whole,
    /// The head, and only part of the body.
    InPart(Box<Error>),
}

/// Writes a request with a complete body, or none.
///
/// # Errors
/// The head was not written. Pingora would panic if the response were read.
pub async fn write_request(
    session: &mut HttpSession,
    head: Box<RequestHeader>,
    body: Option<&BodySegments>,
    idle: Duration,
) -> Result<RequestWriteOutcome, Box<Error>> {
    session.set_write_timeout(Some(idle));
    // The head leaves with the body, or with its first piece.
    set_corked(session, body.is_some_and(|body| !body.is_empty()));
    session.write_request_header(head).await?;
    match write_body(session, body).await {
        Ok(()) => Ok(RequestWriteOutcome::Whole),
        Err(error) => Ok(RequestWriteOutcome::InPart(error)),
    }
}

/// Corks or uncorks an HTTP/1.1 connection. HTTP/2 sends the frames of a request together as it is.
fn set_corked(session: &HttpSession, is_corked: bool) {
    if let HttpSession::H1(session) = session {
        ResponseFramingTracker::set_corked(session, is_corked);
    }
}

async fn write_body(
    session: &mut HttpSession,
    body: Option<&BodySegments>,
) -> Result<(), Box<Error>> {
    let body = body.filter(|body| !body.is_empty());
    let is_h2 = matches!(session, HttpSession::H2(_));
    let is_whole = body.is_some_and(|body| body.len() <= ONE_WRITE_MAX);
    let pieces = match body {
        None => Vec::new(),
        Some(body) if !is_whole => slices(body),
        Some(body) if is_h2 || body.iter().len() > SEGMENTS_MAX => vec![body.to_bytes()],
        Some(body) => body.iter().cloned().collect(),
    };
    let ends_with_last_piece = is_h2 && !pieces.is_empty();
    let last = pieces.len().wrapping_sub(1);
    for (index, piece) in pieces.into_iter().enumerate() {
        match session {
            HttpSession::H1(session) if is_whole && index != last => {
                ResponseFramingTracker::lend(session, piece.clone());
            }
            _ => set_corked(session, false),
        }
        session.write_request_body(piece, index == last).await?;
    }
    if !ends_with_last_piece {
        session.finish_request_body().await?;
    }
    Ok(())
}

/// The pieces to write of a large body.
fn slices(body: &BodySegments) -> Vec<Bytes> {
    body.iter()
        .flat_map(|segment| {
            (0..segment.len())
                .step_by(PIECE)
                .map(|start| segment.slice(start..segment.len().min(start + PIECE)))
        })
        .collect()
}

/// Reads the head of a response, and sets `is_informed` if informational responses came before it. If the future is
/// dropped, no data is lost.
///
/// # Errors
/// The connection broke, there are too many informational responses, or the head has contradictory headers.
pub async fn read_head(
    session: &mut HttpSession,
    is_informed: &mut bool,
) -> Result<(), Box<Error>> {
    for _ in 0..INFORMATIONAL_MAX {
        session.read_response_header().await?;
        let head = session.response_header();
        let head = head.expect("the response's head was read");
        if head.status.is_informational() {
            *is_informed = true;
            continue;
        }
        return match header_policy::contradiction(&head.headers) {
            None => Ok(()),
            Some(name) => Error::e_explain(
                CONTRADICTION,
                format!("two lines of `{name}` differ in the provider's response"),
            ),
        };
    }
    Error::e_explain(
        ENDLESS_INFORMATION,
        format!("more than {INFORMATIONAL_MAX} informational responses"),
    )
}
