//! The upstream client: sends a prepared request on a pooled or new connection, and reads the head of the response.
//!
//! The client does not know about callers. Dropping the future cancels the request: it closes the HTTP/1.1 connection
//! or resets the HTTP/2 stream.

use super::connection::UpstreamConnection;
use super::request::{ConnectionReusePolicy, PreparedBody, PreparedRequest};
use super::request_head::RequestHead;
use super::response::UpstreamResponse;
use super::session::{RequestWriteOutcome, UpstreamSession};
use super::streaming::{RequestBodyWithTimeouts, RequestStreamOutcome, write_streamed};
use super::{ChannelWithCredential, UpstreamClient};
use crate::deadline::in_time;
use crate::fault_from;
use headgate_channel::outcome::{AttemptFailure, FailureReason};
use headgate_channel::retry_policy::SendProgress;
use headgate_core::catalog::channel::Timeouts;
use headgate_protocol::fault::{Fault, FaultKind};
use pingora_error::{Error, ErrorType};
use std::pin::pin;
use std::time::Duration;
use tokio::time::Instant;

/// Maximum number of connections that are tried for one request: several pooled ones may be stale.
const STALE_CONNECTIONS_MAX: u8 = 4;
/// A connection that the provider closed while it was idle fails within this time after the write.
const STALE_SHOWS_WITHIN: Duration = Duration::from_millis(50);

/// Why a request got no response.
#[derive(Debug)]
pub struct SendError {
    pub fault: Fault,
    pub progress: SendProgress,
}

impl UpstreamClient {
    /// Sends `request` to `target` and waits for the head of the response, within the request's timeouts.
    ///
    /// If a pooled connection turns out to be closed, the request is sent again on another one, unless the provider may
    /// have received it and it must not be repeated. `progress` is up to date at any time, even when the future is dropped.
    ///
    /// # Errors
    /// The request got no response.
    pub async fn send(
        &self,
        target: ChannelWithCredential<'_>,
        request: &PreparedRequest,
        progress: &mut SendProgress,
    ) -> Result<UpstreamResponse, SendError> {
        let mut began = Instant::now();
        let deadline = began + request.timeouts.total;
        let mut source = request.connection;
        for resends in 0..STALE_CONNECTIONS_MAX {
            *progress = SendProgress::Unsent;
            let left = deadline.saturating_duration_since(began);
            let mut connection = self
                .connect_in_time(target, source, request.timeouts.connect, left)
                .await
                .map_err(SendError::unsent)?;
            *progress = SendProgress::Sent;
            let head = request.head(target.channel);
            let responded = exchange_heads(&mut connection, &head, request, deadline);
            let broken = match responded.await {
                Ok(()) => {
                    let timeouts = request.timeouts;
                    let deadline = deadline + request.body.waited();
                    let secrets = target.channel.mask.current().into_owned();
                    let mut response =
                        UpstreamResponse::new(connection, timeouts, deadline, secrets);
                    response.resends = resends;
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
                // Repeats once: the next connection is fresh, and only pooled ones allow a repetition.
                source = ConnectionReusePolicy::Fresh;
            }
            // If a fresh connection refuses the request too, another channel may serve it.
            if !(repeats || broken.processing == ProcessingLikelihood::Excluded && was_pooled) {
                return Err(SendError {
                    fault: broken.fault,
                    progress: *progress,
                });
            }
            began = Instant::now();
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
        target: ChannelWithCredential<'_>,
        source: ConnectionReusePolicy,
        timeout: Duration,
        left: Duration,
    ) -> Result<Box<UpstreamConnection>, Fault> {
        let max_wait = timeout.min(left);
        let deadline = Instant::now() + max_wait;
        let connecting = self.connect(target.channel, target.credential, source, deadline);
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

impl UpstreamClient {
    /// Opens a new connection to `target`, with TLS if it has it, and closes it.
    ///
    /// # Errors
    /// There is no connection within `timeout`.
    pub async fn open(
        &self,
        target: ChannelWithCredential<'_>,
        timeout: Duration,
    ) -> Result<(), Fault> {
        let fresh = ConnectionReusePolicy::Fresh;
        let opened = self.connect_in_time(target, fresh, timeout, timeout).await;
        opened.map(drop)
    }
}

impl SendError {
    /// An error before any byte of the request was written.
    pub fn unsent(fault: Fault) -> Self {
        Self {
            fault,
            progress: SendProgress::Unsent,
        }
    }

    /// Why the error counts against the channel's health; `None` if the channel did not cause it.
    pub fn failure_reason(&self) -> Option<FailureReason> {
        match (self.fault.kind, self.progress) {
            // No connection was established, so that the provider cannot have timed out.
            (FaultKind::UpstreamTimeout, SendProgress::Unsent) => Some(FailureReason::ConnectError),
            (kind, _) => failure_reason(kind),
        }
    }

    /// How the error counts against the channel's health; `None` if the channel did not cause it.
    pub fn failure(&self) -> Option<AttemptFailure> {
        let reason = self.failure_reason()?;
        let connect = match reason {
            FailureReason::ConnectError => fault_from::connect_failure(&self.fault),
            _ => None,
        };
        Some(AttemptFailure {
            connect,
            ..AttemptFailure::new(reason)
        })
    }
}

/// Why an error of this kind counts against the channel's health; `None` if the channel did not cause it.
pub fn failure_reason(kind: FaultKind) -> Option<FailureReason> {
    match kind {
        FaultKind::Connect => Some(FailureReason::ConnectError),
        FaultKind::NoCredential => Some(FailureReason::CredentialUnavailable),
        FaultKind::Upstream | FaultKind::OutcomeUnknown => Some(FailureReason::ConnectionClosed),
        FaultKind::UpstreamTimeout => Some(FailureReason::Timeout),
        FaultKind::UnreadableResponse => Some(FailureReason::InvalidResponse),
        _ => None,
    }
}

/// Why a request got no response, after a part of it or all of it was written.
struct ResponseHeadError {
    fault: Fault,
    processing: ProcessingLikelihood,
}

/// Whether the provider may be processing a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProcessingLikelihood {
    Possible,
    /// The pooled connection failed at once, because the provider had closed it before the request arrived or because
    /// it held bytes that are not a response. The request may be repeated on a fresh connection.
    Unlikely,
    /// HTTP/2 reports that the provider has not processed the request.
    Excluded,
}

/// Writes the request and reads the head of the response.
async fn exchange_heads(
    connection: &mut UpstreamConnection,
    head: &RequestHead<'_>,
    request: &PreparedRequest,
    deadline: Instant,
) -> Result<(), ResponseHeadError> {
    let timeouts = request.timeouts;
    let body = match &request.body {
        PreparedBody::Absent => None,
        PreparedBody::Whole(body) => Some(body),
        // Boxed, so that this rare case does not enlarge the future of every request.
        PreparedBody::Streamed(stream) => {
            let body = RequestBodyWithTimeouts {
                stream,
                idle: timeouts.idle,
                deadline,
            };
            return Box::pin(exchange_heads_streamed(connection, head, body, timeouts)).await;
        }
    };
    let was_pooled = connection.reused;
    let session = connection.session_mut();
    let is_h2 = matches!(session, UpstreamSession::Http2(_));
    let began = Instant::now();
    let broken = |error| ResponseHeadError::broken(error, was_pooled, is_h2, began);
    let writing = session.write_request(head, body, timeouts.idle);
    let written = in_time(deadline.saturating_duration_since(began), pin!(writing))
        .await
        .map_err(|_| ResponseHeadError::silent(timeouts.total))?
        .map_err(broken)?;
    let max_wait = timeouts.first_byte.min(remaining(deadline));
    let mut is_informed = false;
    let awaits_switch = request.connection == ConnectionReusePolicy::FreshHttp1;
    let reading = session.read_head_or_switch(&mut is_informed, awaits_switch);
    let read = in_time(max_wait, pin!(reading))
        .await
        .map_err(|_| ResponseHeadError::silent(timeouts.first_byte));
    connection.is_informed = is_informed;
    connection.sent_in_part = matches!(written, RequestWriteOutcome::InPart(_));
    match (written, read?) {
        // A provider may respond before it has read the whole request; the response counts.
        (_, Ok(())) => Ok(()),
        // On HTTP/2 only the reader learns why a stream was reset.
        (RequestWriteOutcome::InPart(error), Err(_)) if !is_h2 => Err(broken(error)),
        (_, Err(error)) => Err(broken(error)),
    }
}

/// Like [`exchange_heads`], for a request whose body is still arriving. The connection is new.
async fn exchange_heads_streamed(
    connection: &mut UpstreamConnection,
    head: &RequestHead<'_>,
    body: RequestBodyWithTimeouts<'_>,
    timeouts: Timeouts,
) -> Result<(), ResponseHeadError> {
    let stream = body.stream;
    let deadline = body.deadline;
    let mut is_informed = false;
    let session = connection.session_mut();
    let is_h2 = matches!(session, UpstreamSession::Http2(_));
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
    let read = in_time(max_wait, pin!(session.read_head(&mut is_informed)))
        .await
        .map_err(|_| ResponseHeadError::silent(timeouts.first_byte))?;
    connection.is_informed = is_informed;
    connection.sent_in_part = in_part;
    // On HTTP/2 only the reader learns why a stream was reset.
    read.map_err(|error| broken(write_error.filter(|_| !is_h2).unwrap_or(error)))
}

impl ResponseHeadError {
    fn broken(mut error: Box<Error>, was_pooled: bool, is_h2: bool, began: Instant) -> Self {
        error.retry.decide_reuse(was_pooled);
        // Pingora's flag alone also marks pooled connections that broke, and bytes that are no HTTP/2: the provider may
        // have processed the request. An HTTP/2 error with the flag is REFUSED_STREAM, or a GOAWAY without an error for
        // streams that were not processed (RFC 9113, sections 6.8 and 8.7).
        let refused = is_h2 && error.retry() && *error.etype() == ErrorType::H2Error;
        let is_stale = !is_h2 || error.retry() && *error.etype() == ErrorType::ReadError;
        // The usual cause is stray bytes after an earlier response on the same connection.
        let is_unreadable = *error.etype() == ErrorType::InvalidHTTPHeader;
        let fault = fault_from::upstream(error);
        let at_once = is_unreadable || began.elapsed() < STALE_SHOWS_WITHIN;
        let processing = match fault.kind {
            FaultKind::Upstream if refused => ProcessingLikelihood::Excluded,
            FaultKind::Upstream if is_stale && was_pooled && at_once => {
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
