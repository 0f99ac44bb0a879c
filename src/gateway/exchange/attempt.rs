//! One attempt on one channel: head and body made afresh, sent, and the answer's head awaited.

use super::lawful::Replay;
use super::prepare::{Prepared, prepare};
use crate::catalog::channel::{Channel, Timeouts};
use crate::channel::lease::Lease;
use crate::filter::view::RequestView;
use crate::gateway::downstream::{Downstream, Interrupted};
use crate::gateway::upstream::{Connection, ConnectionSource, Upstream};
use crate::gateway::{fault_from, hygiene};
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::json::edit::Segments;
use crate::protocol::mask::Masker;
use crate::snapshot::router::Route;
use bytes::{Bytes, BytesMut};
use http::{StatusCode, header};
use pingora_core::protocols::http::client::HttpSession;
use pingora_error::{Error, ErrorType};
use pingora_http::{RequestHeader, ResponseHeader};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// Bodies up to this size are sent in one piece, which costs a copy and saves system calls.
const ONE_PIECE_MAX: usize = 64 << 10;
/// Larger bodies go out in pieces, each within the idle deadline.
const PIECE: usize = 256 << 10;
/// A pool may hold several connections that a provider has closed meanwhile.
pub(in crate::gateway) const STALE_CONNECTIONS_MAX: usize = 4;
/// A connection that was closed while it idled breaks as soon as it is written to.
const STALE_SHOWS_WITHIN: Duration = Duration::from_millis(50);

const CONTRADICTION: ErrorType = ErrorType::new("ContradictoryHead");

/// A provider's answer, as far as its head.
pub struct Answer {
    pub connection: Connection,
    pub status: StatusCode,
    pub timeouts: Timeouts,
    /// When the whole attempt must be over.
    pub deadline: Instant,
    /// Keeps the channel's credentials from the caller, should the provider repeat one.
    masker: Masker,
    /// What was read of the body before the answer was kept.
    held: VecDeque<Bytes>,
    /// Whether what is held is all there is.
    held_whole: bool,
}

/// An attempt that brought no answer.
pub struct Failed {
    pub fault: Fault,
    /// No byte of the request went out: the provider has nothing.
    pub untouched: bool,
}

/// Tries `candidate` once, on a fresh connection again where a pooled one turns out to be closed.
///
/// # Errors
/// Why there is no answer.
pub async fn attempt(
    upstream: &Upstream,
    downstream: &mut Downstream,
    route: &Route,
    request: &RequestView,
    lease: &Lease,
    replay: Replay,
) -> Result<Answer, Failed> {
    let (channel, credential) = (&*lease.candidate.channel, lease.credential());
    let timeouts = route.timeouts(channel.timeouts);
    let deadline = Instant::now() + timeouts.total;
    let mut source = ConnectionSource::Pool;
    for _ in 0..STALE_CONNECTIONS_MAX {
        let prepared = prepare(route, request, &lease.candidate, credential)
            .await
            .map_err(Failed::untouched)?;
        let connecting = upstream.connect(channel, credential, source);
        let mut connection = connect(downstream, connecting, timeouts, deadline).await?;
        let answered = exchange_heads(
            downstream,
            &mut connection,
            channel,
            prepared,
            timeouts,
            deadline,
        );
        match answered.await {
            Ok(status) => {
                return Ok(Answer {
                    connection,
                    status,
                    timeouts,
                    deadline,
                    masker: Masker::new(channel.secrets.clone()),
                    held: VecDeque::new(),
                    held_whole: false,
                });
            }
            Err(Unanswered { fault, taken }) => {
                let reused = connection.reused;
                upstream.discard(connection).await;
                let hardly = taken == Taken::Hardly && replay.may_repeat();
                if hardly {
                    // Once, and with a connection that is not reused never again.
                    source = ConnectionSource::Fresh;
                }
                // What a fresh connection refuses too is for other channels to answer.
                let again = taken == Taken::Not && reused || hardly;
                if !again {
                    return Err(Failed {
                        fault,
                        untouched: taken == Taken::Not,
                    });
                }
            }
        }
    }
    Err(Failed {
        fault: Fault::new(
            FaultKind::Upstream,
            "the provider's connection broke; try again",
        )
        .detail("every pooled connection was closed"),
        untouched: false,
    })
}

async fn connect(
    downstream: &mut Downstream,
    connecting: impl Future<Output = Result<Connection, Fault>>,
    timeouts: Timeouts,
    deadline: Instant,
) -> Result<Connection, Failed> {
    let until = deadline.min(Instant::now() + timeouts.connect);
    downstream
        .unless_gone(until, connecting)
        .await
        .unwrap_or_else(|interrupted| Err(connect_interrupted(interrupted, timeouts.connect)))
        .map_err(Failed::untouched)
}

fn connect_interrupted(interrupted: Interrupted, after: Duration) -> Fault {
    match interrupted {
        Interrupted::ClientGone => fault_from::gone(),
        Interrupted::Ending => fault_from::ending(),
        Interrupted::TimedOut => Fault::new(
            FaultKind::UpstreamTimeout,
            "the provider could not be reached in time; try again",
        )
        .detail(format!("no connection after {after:?}")),
    }
}

/// Why a request that was sent, in part at least, has no answer.
struct Unanswered {
    fault: Fault,
    taken: Taken,
}

/// Whether the provider may be at work on a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Perhaps,
    /// Its pooled connection broke at once, as one does that was closed before our request came, or
    /// what came on it is no response: it may go out once more, on a fresh one.
    Hardly,
    /// HTTP/2 says so.
    Not,
}

/// Sends the request and reads the answer's head; gives its status.
async fn exchange_heads(
    downstream: &mut Downstream,
    connection: &mut Connection,
    channel: &Channel,
    prepared: Prepared,
    timeouts: Timeouts,
    deadline: Instant,
) -> Result<StatusCode, Unanswered> {
    let Connection {
        session,
        reused,
        sent_in_part,
        is_informed,
        ..
    } = connection;
    let is_h2 = matches!(session, HttpSession::H2(_));
    let began = Instant::now();
    let broken = |error| Unanswered::broken(error, *reused, is_h2, began);
    let (head, body) = prepared.into_wire(session, channel)?;
    let sent = downstream
        .unless_gone(deadline, send(session, head, &body, timeouts.idle))
        .await
        .map_err(|interrupted| answer_interrupted(interrupted, timeouts.total))?
        .map_err(broken)?;
    *sent_in_part = matches!(sent, Sent::InPart(_));
    let until = deadline.min(Instant::now() + timeouts.first_byte);
    let read = downstream
        .unless_gone(until, read_head(session))
        .await
        .map_err(|interrupted| answer_interrupted(interrupted, timeouts.first_byte))?;
    match (sent, read) {
        // A provider may refuse a request before it has taken all of it: its answer counts.
        (_, Ok(informed)) => *is_informed = informed,
        // What resets an HTTP/2 stream is told to its reader only.
        (Sent::InPart(error), Err(_)) if !is_h2 => return Err(broken(error)),
        (_, Err(error)) => return Err(broken(error)),
    }
    let head = session.response_header();
    Ok(head.expect("the answer's head was read").status)
}

impl Unanswered {
    fn broken(mut error: Box<Error>, reused: bool, is_h2: bool, began: Instant) -> Self {
        error.retry.decide_reuse(reused);
        let refused = is_h2 && error.retry();
        // Bytes that came behind an earlier response are what most often looks like this.
        let is_unreadable = *error.etype() == ErrorType::InvalidHTTPHeader;
        let fault = fault_from::upstream(error);
        let at_once = is_unreadable || began.elapsed() < STALE_SHOWS_WITHIN;
        let taken = match fault.kind {
            FaultKind::Upstream if refused => Taken::Not,
            FaultKind::Upstream if !is_h2 && reused && at_once => Taken::Hardly,
            _ => Taken::Perhaps,
        };
        Self { fault, taken }
    }
}

impl From<Fault> for Unanswered {
    fn from(fault: Fault) -> Self {
        Self {
            fault,
            taken: Taken::Perhaps,
        }
    }
}

fn answer_interrupted(interrupted: Interrupted, after: Duration) -> Fault {
    match interrupted {
        Interrupted::ClientGone => fault_from::gone(),
        Interrupted::Ending => fault_from::ending(),
        Interrupted::TimedOut => Fault::new(
            FaultKind::UpstreamTimeout,
            "the provider did not answer in time; try again",
        )
        .detail(format!("no answer after {after:?}")),
    }
}

/// How much of a request went out.
pub(in crate::gateway) enum Sent {
    Whole,
    /// Its head, and not all of its body.
    InPart(Box<Error>),
}

/// Sends a request.
///
/// # Errors
/// Not even the head went out: Pingora would panic if its answer were asked for.
pub(in crate::gateway) async fn send(
    session: &mut HttpSession,
    head: Box<RequestHeader>,
    body: &Segments,
    idle: Duration,
) -> Result<Sent, Box<Error>> {
    session.set_write_timeout(Some(idle));
    session.write_request_header(head).await?;
    match send_body(session, body).await {
        Ok(()) => Ok(Sent::Whole),
        Err(error) => Ok(Sent::InPart(error)),
    }
}

async fn send_body(session: &mut HttpSession, body: &Segments) -> Result<(), Box<Error>> {
    let pieces = pieces(body);
    let ends_with_last_piece = matches!(session, HttpSession::H2(_)) && !pieces.is_empty();
    let last = pieces.len().wrapping_sub(1);
    for (index, piece) in pieces.into_iter().enumerate() {
        session.write_request_body(piece, index == last).await?;
    }
    if !ends_with_last_piece {
        session.finish_request_body().await?;
    }
    Ok(())
}

/// What is written at a time: everything at once where it is small, slices of the body where not.
fn pieces(body: &Segments) -> Vec<Bytes> {
    if body.is_empty() {
        return Vec::new();
    }
    if body.len() <= ONE_PIECE_MAX {
        let mut whole = BytesMut::with_capacity(body.len());
        for segment in body.iter() {
            whole.extend_from_slice(segment);
        }
        return vec![whole.freeze()];
    }
    body.iter()
        .flat_map(|segment| {
            (0..segment.len())
                .step_by(PIECE)
                .map(|start| segment.slice(start..segment.len().min(start + PIECE)))
        })
        .collect()
}

/// Reads the head of an answer; tells whether informational ones came before it.
///
/// # Errors
/// The connection broke, or the head says in two ways how the body is read.
pub(in crate::gateway) async fn read_head(session: &mut HttpSession) -> Result<bool, Box<Error>> {
    let mut is_informed = false;
    loop {
        session.read_response_header().await?;
        let head = session.response_header();
        let head = head.expect("the answer's head was read");
        if head.status.is_informational() {
            is_informed = true;
            continue;
        }
        return match hygiene::contradiction(&head.headers) {
            None => Ok(is_informed),
            Some(name) => Error::e_explain(
                CONTRADICTION,
                format!("two lines of `{name}` differ in the provider's response"),
            ),
        };
    }
}

impl Answer {
    pub fn head(&self) -> &ResponseHeader {
        let head = self.connection.session.response_header();
        head.expect("an answer has a head")
    }

    /// How long the body is, as the provider declares it; 0 where it does not.
    pub fn declared_bytes(&self) -> usize {
        let length = self.head().headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        length.unwrap_or(0)
    }

    /// Keeps a piece of the body for later.
    pub fn hold(&mut self, piece: Bytes) {
        self.held.push_back(piece);
    }

    /// What is held is the whole body.
    pub fn hold_end(&mut self) {
        self.held_whole = true;
    }

    pub fn held_len(&self) -> usize {
        self.held.iter().map(Bytes::len).sum()
    }

    /// What is held, in one piece.
    pub fn held_bytes(&self) -> Bytes {
        match self.held.len() {
            1 => self.held[0].clone(),
            _ => self
                .held
                .iter()
                .fold(BytesMut::new(), |mut whole, piece| {
                    whole.extend_from_slice(piece);
                    whole
                })
                .freeze(),
        }
    }

    /// The next piece that was held; nothing where the provider has to be asked for more.
    pub fn take_held(&mut self) -> Option<Option<Bytes>> {
        match self.held.pop_front() {
            Some(piece) => Some(Some(piece)),
            None => self.held_whole.then_some(None),
        }
    }

    /// The next piece of the body without the channel's credentials; `None` at its end.
    pub fn mask(&mut self, piece: Option<Bytes>) -> Option<Bytes> {
        match piece {
            Some(piece) => Some(self.masker.push(piece)),
            None => Some(self.masker.finish()).filter(|rest| !rest.is_empty()),
        }
    }
}

impl Failed {
    fn untouched(fault: Fault) -> Self {
        Self {
            fault,
            untouched: true,
        }
    }
}
