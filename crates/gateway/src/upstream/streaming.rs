//! Sends a request whose body is still arriving, over HTTP/1.1 or HTTP/2.

use super::request_head::RequestHead;
use super::session::UpstreamSession;
use bytes::Bytes;
use headgate_core::filter::body_stream::{RequestBodyReceiver, TruncatedRequestBody};
use pingora_error::{Error, ErrorType};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use tokio::time::Instant;

const TRUNCATED: ErrorType = ErrorType::new("TruncatedRequestBody");

/// How much of a request was written, and whether the provider responded meanwhile.
pub enum RequestStreamOutcome {
    /// The whole request was written; the response is not read yet.
    Written,
    /// The head of the response was read.
    Responded { in_part: bool },
    /// The head and only part of the body were written; there may be a response.
    InPart(Box<Error>),
    /// Like [`Self::InPart`], and reading the response failed.
    Broken(Box<Error>),
    /// The deadline passed first.
    TimedOut,
}

/// The body of a request, and the time limits for writing it.
pub struct RequestBodyWithTimeouts<'b> {
    pub stream: &'b RequestBodyReceiver,
    /// Maximum time of each write.
    pub idle: Duration,
    /// Deadline of the whole write, extended by the time spent waiting for the caller.
    pub deadline: Instant,
}

enum PieceOrResponseHead {
    Piece(Result<Option<Bytes>, TruncatedRequestBody>),
    Head(Result<(), Box<Error>>),
}

/// Writes a request until its body ends, or until the provider responds with an error status; the rest of the body is
/// then not sent. An early success response is returned once the whole body is written.
///
/// # Errors
/// The head was not written.
pub async fn write_streamed(
    session: &mut UpstreamSession,
    head: &RequestHead<'_>,
    body: RequestBodyWithTimeouts<'_>,
    is_informed: &mut bool,
) -> Result<RequestStreamOutcome, Box<Error>> {
    session.write_head(head, body.idle).await?;
    let mut responded = false;
    loop {
        let event = match responded {
            true => PieceOrResponseHead::Piece(body.stream.next().await),
            false => next_event(session, body.stream, is_informed).await,
        };
        let written = match event {
            PieceOrResponseHead::Piece(Ok(Some(piece))) => session.write_piece(piece).await,
            PieceOrResponseHead::Piece(Ok(None)) => match session.finish_pieces().await {
                Ok(()) if responded => {
                    return Ok(RequestStreamOutcome::Responded { in_part: false });
                }
                Ok(()) => return Ok(RequestStreamOutcome::Written),
                Err(error) => Err(error),
            },
            PieceOrResponseHead::Piece(Err(truncated)) => {
                Error::e_because(TRUNCATED, "while reading the caller's body", truncated)
            }
            PieceOrResponseHead::Head(Ok(())) if is_success(session) => {
                responded = true;
                Ok(())
            }
            PieceOrResponseHead::Head(Ok(())) => {
                return Ok(RequestStreamOutcome::Responded { in_part: true });
            }
            PieceOrResponseHead::Head(Err(error)) => {
                return Ok(RequestStreamOutcome::Broken(error));
            }
        };
        match written {
            Ok(()) => {}
            Err(_) if responded => return Ok(RequestStreamOutcome::Responded { in_part: true }),
            Err(error) => return Ok(RequestStreamOutcome::InPart(error)),
        }
        if Instant::now() > body.deadline + body.stream.waited() {
            return Ok(RequestStreamOutcome::TimedOut);
        }
    }
}

/// The head of the response, or the next piece of the body, whichever comes first.
async fn next_event(
    session: &mut UpstreamSession,
    body: &RequestBodyReceiver,
    is_informed: &mut bool,
) -> PieceOrResponseHead {
    let mut reading = pin!(session.read_head(is_informed));
    poll_fn(|context| match reading.as_mut().poll(context) {
        Poll::Ready(head) => Poll::Ready(PieceOrResponseHead::Head(head)),
        Poll::Pending => body.poll_next(context).map(PieceOrResponseHead::Piece),
    })
    .await
}

fn is_success(session: &UpstreamSession) -> bool {
    let head = session.head();
    head.is_some_and(|(status, _)| status.is_success())
}
