//! The upstream client: sends a prepared request on a connection from the pool or a new one, and reads the
//! head of its response.
//!
//! It knows nothing of callers. Whoever has nobody left to wait for the response drops the future, which closes the
//! connection, or of HTTP/2 the stream.

use super::connection::UpstreamConnection;
use super::request::{PreparedBody, PreparedRequest};
use super::response::UpstreamResponse;
use super::streaming::{RequestStream, RequestStreamOutcome, write_streamed};
use super::wire::{WriteOutcome, read_head, write_request};
use super::{ConnectionSource, UpstreamClient, UpstreamTarget};
use crate::catalog::channel::Timeouts;
use crate::channel::outcome::FailureReason;
use crate::gateway::deadline::in_time;
use crate::gateway::fault_from;
use crate::protocol::fault::{Fault, FaultKind};
use pingora_core::protocols::http::client::HttpSession;
use pingora_error::{Error, ErrorType};
use std::pin::pin;
use std::time::Duration;
use tokio::time::Instant;

/// A pool may hold several connections that a provider has closed meanwhile.
const STALE_CONNECTIONS_MAX: usize = 4;
/// A connection that was closed while it idled breaks as soon as it is written to.
const STALE_SHOWS_WITHIN: Duration = Duration::from_millis(50);

/// How much of a request the provider may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendProgress {
    /// Nothing: no byte was written, or HTTP/2 says that none was taken.
    #[default]
    Unsent,
    /// Some of it, or all.
    Sent,
}

/// A request without a response.
#[derive(Debug)]
pub struct SendError {
    pub fault: Fault,
    pub progress: SendProgress,
}

impl UpstreamClient {
    /// Sends `request` to `target` and waits for the head of the response, within the request's timeouts.
    ///
    /// Where a pooled connection turns out to be closed, the request goes out again on another one, unless
    /// the provider may have it and it must not be repeated. A streamed body, which cannot be sent again, goes
    /// out on a new connection. `progress` is up to date at any time, also when the future is dropped.
    ///
    /// # Errors
    /// Why there is no response.
    pub async fn send(
        &self,
        target: UpstreamTarget<'_>,
        request: &PreparedRequest,
        progress: &mut SendProgress,
    ) -> Result<UpstreamResponse, SendError> {
        let deadline = Instant::now() + request.timeouts.total;
        let mut source = match request.body {
            PreparedBody::Absent | PreparedBody::Whole(_) => ConnectionSource::Pool,
            PreparedBody::Streamed(_) => ConnectionSource::Fresh,
        };
        for _ in 0..STALE_CONNECTIONS_MAX {
            *progress = SendProgress::Unsent;
            let mut connection = self
                .connect_in_time(target, source, request.timeouts.connect, deadline)
                .await
                .map_err(SendError::unsent)?;
            let head = request.head(connection.session(), target.channel);
            let head = head.map_err(SendError::unsent)?;
            *progress = SendProgress::Sent;
            let responded = exchange_heads(&mut connection, head, request, deadline);
            let broken = match responded.await {
                Ok(()) => {
                    let timeouts = request.timeouts;
                    let deadline = deadline + request.body.waited();
                    let secrets = target.channel.secrets.clone();
                    let response = UpstreamResponse::new(connection, timeouts, deadline, secrets);
                    return Ok(response);
                }
                Err(broken) => broken,
            };
            let was_pooled = connection.reused;
            connection.close().await;
            if broken.processing == ProcessingLikelihood::Excluded && !request.body.is_begun() {
                *progress = SendProgress::Unsent;
            }
            let repeats = broken.processing == ProcessingLikelihood::Unlikely && request.may_repeat;
            if repeats {
                // Once, and with a connection that is not reused never again.
                source = ConnectionSource::Fresh;
            }
            // What a fresh connection refuses too is for other channels to serve.
            if !(repeats || broken.processing == ProcessingLikelihood::Excluded && was_pooled) {
                return Err(SendError {
                    fault: broken.fault,
                    progress: *progress,
                });
            }
        }
        Err(SendError {
            fault: Fault::new(
                FaultKind::Upstream,
                "the connection to the provider was closed; try again",
            )
            .detail("all pooled connections were closed by the provider"),
            progress: SendProgress::Sent,
        })
    }

    async fn connect_in_time(
        &self,
        target: UpstreamTarget<'_>,
        source: ConnectionSource,
        timeout: Duration,
        deadline: Instant,
    ) -> Result<UpstreamConnection, Fault> {
        let max_wait = timeout.min(remaining(deadline));
        let connecting = self.connect(target.channel, target.credential, source);
        in_time(max_wait, pin!(connecting))
            .await
            .unwrap_or_else(|_| {
                Err(Fault::new(
                    FaultKind::UpstreamTimeout,
                    "could not connect to the provider in time; try again",
                )
                .detail(format!("no connection after {timeout:?}")))
            })
    }
}

impl SendError {
    /// Nothing of the request was written.
    pub fn unsent(fault: Fault) -> Self {
        Self {
            fault,
            progress: SendProgress::Unsent,
        }
    }

    /// Why the channel's health suffers; none if the channel had no part in it.
    pub fn failure_reason(&self) -> Option<FailureReason> {
        match (self.fault.kind, self.progress) {
            // Nobody was there to be silent.
            (FaultKind::UpstreamTimeout, SendProgress::Unsent) => Some(FailureReason::ConnectError),
            (kind, _) => failure_reason(kind),
        }
    }
}

/// Why the health of the channel suffers that a fault came from; none if the channel had no part in it.
pub fn failure_reason(kind: FaultKind) -> Option<FailureReason> {
    match kind {
        FaultKind::Connect => Some(FailureReason::ConnectError),
        FaultKind::Upstream | FaultKind::OutcomeUnknown => Some(FailureReason::ConnectionReset),
        FaultKind::UpstreamTimeout => Some(FailureReason::Timeout),
        FaultKind::UnreadableResponse => Some(FailureReason::ServerError),
        _ => None,
    }
}

/// Why there is no response to a request of which something was written.
struct ResponseHeadError {
    fault: Fault,
    processing: ProcessingLikelihood,
}

/// Whether the provider may be at work on a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProcessingLikelihood {
    Possible,
    /// Its pooled connection broke at once, as one does that was closed before our request came, or
    /// what came on it is no response: it may be sent once more, on a fresh one.
    Unlikely,
    /// HTTP/2 says that the provider has not begun.
    Excluded,
}

/// Writes the request and reads the head of its response.
async fn exchange_heads(
    connection: &mut UpstreamConnection,
    head: Box<pingora_http::RequestHeader>,
    request: &PreparedRequest,
    deadline: Instant,
) -> Result<(), ResponseHeadError> {
    let timeouts = request.timeouts;
    let body = match &request.body {
        PreparedBody::Absent => None,
        PreparedBody::Whole(body) => Some(body),
        // Rare, and large: it takes no room in every exchange.
        PreparedBody::Streamed(stream) => {
            let body = RequestStream {
                stream,
                idle: timeouts.idle,
                deadline,
            };
            return Box::pin(exchange_heads_streamed(connection, head, body, timeouts)).await;
        }
    };
    let was_pooled = connection.reused;
    let session = connection.session_mut();
    let is_h2 = matches!(session, HttpSession::H2(_));
    let began = Instant::now();
    let broken = |error| ResponseHeadError::broken(error, was_pooled, is_h2, began);
    let writing = write_request(session, head, body, timeouts.idle);
    let written = in_time(deadline.saturating_duration_since(began), pin!(writing))
        .await
        .map_err(|_| ResponseHeadError::silent(timeouts.total))?
        .map_err(broken)?;
    let max_wait = timeouts.first_byte.min(remaining(deadline));
    let mut is_informed = false;
    let read = in_time(max_wait, pin!(read_head(session, &mut is_informed)))
        .await
        .map_err(|_| ResponseHeadError::silent(timeouts.first_byte));
    connection.is_informed = is_informed;
    connection.sent_in_part = matches!(written, WriteOutcome::InPart(_));
    match (written, read?) {
        // A provider may refuse a request before it has taken all of it: its response counts.
        (_, Ok(())) => Ok(()),
        // What resets an HTTP/2 stream is told to its reader only.
        (WriteOutcome::InPart(error), Err(_)) if !is_h2 => Err(broken(error)),
        (_, Err(error)) => Err(broken(error)),
    }
}

/// As [`exchange_heads`], of a request whose body comes in meanwhile. The connection is new.
async fn exchange_heads_streamed(
    connection: &mut UpstreamConnection,
    head: Box<pingora_http::RequestHeader>,
    body: RequestStream<'_>,
    timeouts: Timeouts,
) -> Result<(), ResponseHeadError> {
    let stream = body.stream;
    let deadline = body.deadline;
    let mut is_informed = false;
    let session = connection.session_mut();
    let is_h2 = matches!(session, HttpSession::H2(_));
    let began = Instant::now();
    let broken = |error| ResponseHeadError::broken(error, false, is_h2, began);
    let written = write_streamed(session, head, body, &mut is_informed)
        .await
        .map_err(broken)?;
    let (in_part, write_error) = match written {
        RequestStreamOutcome::Written => (false, None),
        RequestStreamOutcome::InPart(error) => (true, Some(error)),
        RequestStreamOutcome::Responded { in_part } => {
            connection.sent_in_part = in_part;
            connection.is_informed = is_informed;
            return Ok(());
        }
        RequestStreamOutcome::Broken(error) => return Err(broken(error)),
        RequestStreamOutcome::TimedOut => return Err(ResponseHeadError::silent(timeouts.total)),
    };
    let max_wait = remaining(deadline + stream.waited()).min(timeouts.first_byte);
    let read = in_time(max_wait, pin!(read_head(session, &mut is_informed)))
        .await
        .map_err(|_| ResponseHeadError::silent(timeouts.first_byte))?;
    connection.is_informed = is_informed;
    connection.sent_in_part = in_part;
    // The reader of an HTTP/2 stream alone learns what reset it.
    read.map_err(|error| broken(write_error.filter(|_| !is_h2).unwrap_or(error)))
}

impl ResponseHeadError {
    fn broken(mut error: Box<Error>, was_pooled: bool, is_h2: bool, began: Instant) -> Self {
        error.retry.decide_reuse(was_pooled);
        let refused = is_h2 && error.retry();
        // Bytes that came behind an earlier response are what most often looks like this.
        let is_unreadable = *error.etype() == ErrorType::InvalidHTTPHeader;
        let fault = fault_from::upstream(error);
        let at_once = is_unreadable || began.elapsed() < STALE_SHOWS_WITHIN;
        let processing = match fault.kind {
            FaultKind::Upstream if refused => ProcessingLikelihood::Excluded,
            FaultKind::Upstream if !is_h2 && was_pooled && at_once => {
                ProcessingLikelihood::Unlikely
            }
            _ => ProcessingLikelihood::Possible,
        };
        Self { fault, processing }
    }

    fn silent(after: Duration) -> Self {
        Self {
            fault: Fault::new(
                FaultKind::UpstreamTimeout,
                "the provider did not respond in time; try again",
            )
            .detail(format!("no response after {after:?}")),
            processing: ProcessingLikelihood::Possible,
        }
    }
}

fn remaining(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
