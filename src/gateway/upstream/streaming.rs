//! A request whose body is sent while it comes in, on either version of HTTP.

use super::wire::read_head;
use crate::filter::body_stream::{BodyStream, TruncatedBody};
use bytes::Bytes;
use pingora_core::protocols::http::client::HttpSession;
use pingora_error::{Error, ErrorType};
use pingora_http::RequestHeader;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use tokio::time::Instant;

const TRUNCATED: ErrorType = ErrorType::new("TruncatedRequestBody");

/// What was written of a request, and whether the provider responded meanwhile.
pub enum RequestStreamOutcome {
    /// All of it was written; the response is still to be read.
    Written,
    /// The head of the response was read.
    Responded { in_part: bool },
    /// The head was written and not all of the body; a response may still be there.
    InPart(Box<Error>),
    /// As [`Self::InPart`], without a response.
    Broken(Box<Error>),
    /// The time was over first.
    TimedOut,
}

/// The body of a request, and the bounds within which it is written.
pub struct RequestStream<'b> {
    pub stream: &'b BodyStream,
    /// For each write.
    pub idle: Duration,
    /// For the whole of it, without the time that the caller takes.
    pub deadline: Instant,
}

enum StreamingEvent {
    Piece(Result<Option<Bytes>, TruncatedBody>),
    Head(Result<(), Box<Error>>),
}

/// Writes a request until its body ends or the provider refuses it: behind an error status the rest of the body
/// is not sent. A success that comes early is taken once the body is written.
///
/// # Errors
/// Not even the head was written: Pingora would panic if its response were asked for.
pub async fn write_streamed(
    session: &mut HttpSession,
    head: Box<RequestHeader>,
    body: RequestStream<'_>,
    is_informed: &mut bool,
) -> Result<RequestStreamOutcome, Box<Error>> {
    session.set_write_timeout(Some(body.idle));
    session.write_request_header(head).await?;
    let mut responded = false;
    loop {
        let event = match responded {
            true => StreamingEvent::Piece(body.stream.next().await),
            false => next_event(session, body.stream, is_informed).await,
        };
        let written = match event {
            StreamingEvent::Piece(Ok(Some(piece))) => {
                session.write_request_body(piece, false).await
            }
            StreamingEvent::Piece(Ok(None)) => match session.finish_request_body().await {
                Ok(()) if responded => {
                    return Ok(RequestStreamOutcome::Responded { in_part: false });
                }
                Ok(()) => return Ok(RequestStreamOutcome::Written),
                Err(error) => Err(error),
            },
            StreamingEvent::Piece(Err(truncated)) => {
                Error::e_because(TRUNCATED, "while reading the caller's body", truncated)
            }
            StreamingEvent::Head(Ok(())) if is_success(session) => {
                responded = true;
                Ok(())
            }
            StreamingEvent::Head(Ok(())) => {
                return Ok(RequestStreamOutcome::Responded { in_part: true });
            }
            StreamingEvent::Head(Err(error)) => return Ok(RequestStreamOutcome::Broken(error)),
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

/// The head of the response, or else the next piece of the body.
async fn next_event(
    session: &mut HttpSession,
    body: &BodyStream,
    is_informed: &mut bool,
) -> StreamingEvent {
    let mut reading = pin!(read_head(session, is_informed));
    poll_fn(|context| match reading.as_mut().poll(context) {
        Poll::Ready(head) => Poll::Ready(StreamingEvent::Head(head)),
        Poll::Pending => body.poll_next(context).map(StreamingEvent::Piece),
    })
    .await
}

fn is_success(session: &HttpSession) -> bool {
    let head = session.response_header();
    head.is_some_and(|head| head.status.is_success())
}
