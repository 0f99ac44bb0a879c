//! One request and its response on a connection to a provider, over HTTP/1.1 or HTTP/2.

use super::http1::Http1Session;
use super::request_head::RequestHead;
use bytes::Bytes;
use headgate_protocol::header_policy;
use headgate_protocol::json::edit::BodySegments;
use http::{HeaderMap, StatusCode};
use pingora_core::protocols::http::v2::client::Http2Session;
use pingora_error::{Error, ErrorType};
use std::time::Duration;

/// Bodies up to this many bytes are one piece over HTTP/2.
const ONE_PIECE_MAX: usize = 64 << 10;
/// Size of the pieces of larger bodies over HTTP/2, in bytes; the idle timeout applies to each.
const PIECE: usize = 256 << 10;

/// The maximum number of informational responses before a response: one in a second for hours.
const INFORMATIONAL_MAX: usize = 10_000;

const ENDLESS_INFORMATION: ErrorType = ErrorType::new("TooManyInformationalResponses");
const UNSOLICITED_UPGRADE: ErrorType = ErrorType::new("UnsolicitedUpgrade");
const CONTRADICTION: ErrorType = ErrorType::new("ContradictoryHead");

/// One request and its response.
pub enum UpstreamSession {
    Http1(Http1Session),
    Http2(Box<Http2Session>),
}

/// How much of a request was written.
pub enum RequestWriteOutcome {
    Whole,
    /// A part; there may be a response.
    InPart(Box<Error>),
}

impl UpstreamSession {
    /// Writes a request with a complete body, or none. `idle` is the maximum time in which the provider takes nothing.
    ///
    /// # Errors
    /// Nothing was written.
    pub async fn write_request(
        &mut self,
        head: &RequestHead<'_>,
        body: Option<&BodySegments>,
        idle: Duration,
    ) -> Result<RequestWriteOutcome, Box<Error>> {
        let session = match self {
            Self::Http1(session) => {
                let written = session.write_request(head, body, idle).await;
                // A provider that closes the connection may have responded before.
                return Ok(match written {
                    Ok(()) => RequestWriteOutcome::Whole,
                    Err(error) => RequestWriteOutcome::InPart(error),
                });
            }
            Self::Http2(session) => session,
        };
        session.write_timeout = Some(idle);
        session.write_request_header(head.to_http2()?, false)?;
        Ok(match write_http2_body(session, body).await {
            Ok(()) => RequestWriteOutcome::Whole,
            Err(error) => RequestWriteOutcome::InPart(error),
        })
    }

    /// Writes the head of a request whose body is still arriving; [`Self::write_piece`] writes the body.
    ///
    /// # Errors
    /// The head was not written.
    pub async fn write_head(
        &mut self,
        head: &RequestHead<'_>,
        idle: Duration,
    ) -> Result<(), Box<Error>> {
        match self {
            Self::Http1(session) => session.write_request(head, None, idle).await,
            Self::Http2(session) => {
                session.write_timeout = Some(idle);
                session.write_request_header(head.to_http2()?, false)
            }
        }
    }

    /// Writes a piece of a body.
    ///
    /// # Errors
    /// The connection broke, or the provider took nothing within the idle timeout.
    pub async fn write_piece(&mut self, piece: Bytes) -> Result<(), Box<Error>> {
        match self {
            Self::Http1(session) => session.write_piece(&piece).await,
            Self::Http2(session) => session.write_request_body(piece, false).await,
        }
    }

    /// Writes the end of a body that was written in pieces.
    ///
    /// # Errors
    /// Like [`Self::write_piece`].
    pub async fn finish_pieces(&mut self) -> Result<(), Box<Error>> {
        match self {
            Self::Http1(session) => session.finish_pieces().await,
            Self::Http2(session) => session.finish_request_body(),
        }
    }

    /// Reads the head of the response, and sets `is_informed` if informational responses came before it. If the future
    /// is dropped, no data is lost.
    ///
    /// # Errors
    /// The connection broke, there are too many informational responses, or the head has contradictory headers.
    pub async fn read_head(&mut self, is_informed: &mut bool) -> Result<(), Box<Error>> {
        self.read_head_or_switch(is_informed, false).await
    }

    /// Like [`Self::read_head`]; if `awaits_switch`, a switch of protocols is a response, too.
    ///
    /// # Errors
    /// The connection broke, there are too many informational responses, or the head has contradictory headers.
    pub async fn read_head_or_switch(
        &mut self,
        is_informed: &mut bool,
        awaits_switch: bool,
    ) -> Result<(), Box<Error>> {
        for _ in 0..INFORMATIONAL_MAX {
            match self {
                Self::Http1(session) => session.read_head().await?,
                Self::Http2(session) => session.read_response_header().await?,
            }
            let (status, headers) = self.head().expect("the response's head was read");
            // What follows would be of another protocol, which nobody requested.
            if status == StatusCode::SWITCHING_PROTOCOLS {
                if awaits_switch {
                    return Ok(());
                }
                let reason = "the provider switches protocols although nobody requested it";
                return Error::e_explain(UNSOLICITED_UPGRADE, reason);
            }
            if status.is_informational() {
                *is_informed = true;
                continue;
            }
            return match header_policy::contradiction(headers) {
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

    /// Status and headers of the response; `None` until [`Self::read_head`] has read them.
    pub fn head(&self) -> Option<(StatusCode, &HeaderMap)> {
        match self {
            Self::Http1(session) => session.head().map(|head| (head.status, &head.headers)),
            Self::Http2(session) => session
                .response_header()
                .map(|head| (head.status, &head.headers)),
        }
    }

    /// The next chunk of the response's body; `None` at its end. If the future is dropped, no data is lost.
    ///
    /// # Errors
    /// The connection broke before the end, or the body is malformed.
    pub async fn read_body(&mut self) -> Result<Option<Bytes>, Box<Error>> {
        match self {
            Self::Http1(session) => session.read_body().await,
            Self::Http2(session) => session.read_response_body().await,
        }
    }

    /// Whether the body is known to end after the chunks that were read. Over HTTP/2 this is not known before the next
    /// read.
    pub fn is_at_end(&self) -> bool {
        match self {
            Self::Http1(session) => session.is_body_done(),
            Self::Http2(_) => false,
        }
    }

    /// Whether the connection may carry another request: the response was read to its end, and its framing is
    /// unambiguous. HTTP/2 frames always are.
    pub fn is_reusable(&self) -> bool {
        match self {
            Self::Http1(session) => session.is_reusable(),
            Self::Http2(session) => session.response_finished(),
        }
    }

    /// How long the provider keeps an idle connection open, if it says so.
    pub fn keep_alive(&self) -> Option<Duration> {
        match self {
            Self::Http1(session) => session.head()?.keep_alive(),
            Self::Http2(_) => None,
        }
    }

    /// Closes the connection, or only the stream on HTTP/2.
    pub async fn shutdown(&mut self) {
        match self {
            Self::Http1(session) => session.shutdown().await,
            Self::Http2(session) => session.shutdown(),
        }
    }
}

async fn write_http2_body(
    session: &mut Http2Session,
    body: Option<&BodySegments>,
) -> Result<(), Box<Error>> {
    let Some(body) = body.filter(|body| !body.is_empty()) else {
        return session.finish_request_body();
    };
    let pieces = match body.len() <= ONE_PIECE_MAX {
        true => vec![body.to_bytes()],
        false => pieces(body),
    };
    let last = pieces.len() - 1;
    for (index, piece) in pieces.into_iter().enumerate() {
        session.write_request_body(piece, index == last).await?;
    }
    Ok(())
}

/// The pieces to write of a large body.
fn pieces(body: &BodySegments) -> Vec<Bytes> {
    body.iter()
        .flat_map(|segment| {
            (0..segment.len())
                .step_by(PIECE)
                .map(|start| segment.slice(start..segment.len().min(start + PIECE)))
        })
        .collect()
}
