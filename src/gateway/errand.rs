//! Errands of filters: one bounded request to a channel, sent and judged like an attempt, without an exchange.

use super::exchange::answer_kind::kind_of;
use super::exchange::attempt::{self, STALE_CONNECTIONS_MAX, Sent};
use super::exchange::attempts::{LOOK_AGAIN, no_channel, why};
use super::exchange::judge::ERROR_BYTES_MAX;
use super::exchange::prepare::prepare_errand;
use super::exchange::relay::{foreign, odd_status, refused_ourselves};
use super::upstream::{Connection, ConnectionSource};
use super::{Gateway, fault_from, hygiene};
use crate::catalog::channel::Channel;
use crate::channel::clock::Moment;
use crate::channel::lease::Lease;
use crate::channel::outcome::{Outcome, Why};
use crate::errand::{Errand, Errands, Returned, Returning};
use crate::filter::view::AnswerKind;
use crate::protocol::blame::{self, Blame};
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::mask::Masker;
use crate::protocol::redact::redact;
use crate::protocol::{retry_after, upstream_request_id};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, StatusCode};
use pingora_error::Error;
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;
use tokio::time::{Instant, timeout_at};

impl Errands for Gateway {
    fn run(self: Arc<Self>, errand: Errand) -> Returning {
        Box::pin(async move { self.run_errand(&errand).await })
    }
}

/// An answer as it came.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Gateway {
    async fn run_errand(&self, errand: &Errand) -> Result<Returned, Fault> {
        let mut lease = self.lease(errand).await?;
        let channel = lease.candidate.channel.clone();
        match self.carry(errand, &lease).await {
            Ok(answer) => {
                let id = upstream_request_id::of_headers(&answer.headers).cloned();
                let id = id.or_else(|| upstream_request_id::of_body(&answer.body));
                let id = id.filter(|id| !lease.shows(id.as_bytes()));
                let last = errand.upstream_request_id.lock();
                *last.unwrap_or_else(PoisonError::into_inner) = id;
                self.judge_errand(answer, &mut lease)
            }
            Err(fault) => {
                if let Some(why) = why(fault.kind) {
                    lease.tell(Outcome::failed(why));
                }
                self.metrics.attempt(&channel.name, fault.kind.code());
                tracing::info!(
                    channel = &*channel.name,
                    id = &*errand.id,
                    path = errand.path,
                    outcome = fault.kind.code(),
                    detail = fault.detail,
                    "errand failed"
                );
                Err(fault)
            }
        }
    }

    async fn lease(&self, errand: &Errand) -> Result<Lease, Fault> {
        let candidates = std::slice::from_ref(&errand.candidate);
        let until = Instant::now() + errand.patience;
        loop {
            let freed = self.channels.freed.notified();
            match self.channels.choose(candidates, &[], Moment::now()) {
                Ok(lease) => return Ok(lease),
                Err(none) if !none.is_full() || Instant::now() >= until => {
                    return Err(no_channel(&none));
                }
                Err(_) => drop(timeout_at(Instant::now() + LOOK_AGAIN, freed).await),
            }
        }
    }

    /// Sends the request, again where a pooled connection turns out to be closed and that does no harm.
    async fn carry(&self, errand: &Errand, lease: &Lease) -> Result<Answer, Fault> {
        let (channel, credential) = (&*lease.candidate.channel, lease.credential());
        let deadline = Instant::now() + channel.timeouts.total;
        let mut stale = 0;
        loop {
            let until = deadline.min(Instant::now() + channel.timeouts.connect);
            let source = match stale {
                0 => ConnectionSource::Pool,
                _ => ConnectionSource::Fresh,
            };
            let connecting = self.upstream.connect(channel, credential, source);
            let mut connection = timeout_at(until, connecting)
                .await
                .unwrap_or_else(|_| Err(too_late("no connection")))?;
            let carried = async {
                let prepared = prepare_errand(channel, credential, errand);
                let (head, body) = prepared.into_wire(&connection.session, channel)?;
                let session = &mut connection.session;
                let sending = attempt::send(session, head, &body, channel.timeouts.idle);
                let sent = in_time(deadline, sending).await?;
                connection.sent_in_part = matches!(sent, Sent::InPart(_));
                read(&mut connection, channel, deadline).await
            };
            match carried.await {
                Ok(answer) => {
                    self.upstream.give_back(connection).await;
                    return Ok(answer);
                }
                Err(fault) => {
                    let was_pooled = connection.reused;
                    self.upstream.discard(connection).await;
                    stale += 1;
                    let again = was_pooled
                        && fault.kind == FaultKind::Upstream
                        && errand.method == Method::GET
                        && stale < STALE_CONNECTIONS_MAX;
                    if !again {
                        return Err(fault);
                    }
                }
            }
        }
    }

    /// What the answer says of the channel, and whether it is one for whoever sent the errand.
    fn judge_errand(&self, answer: Answer, lease: &mut Lease) -> Result<Returned, Fault> {
        let Answer {
            status,
            headers,
            body,
        } = answer;
        let channel = lease.candidate.channel.clone();
        let is_error = status.is_client_error() || status.is_server_error();
        let kind = kind_of(&headers);
        if !is_error && (!status.is_success() || kind == AnswerKind::Foreign) {
            lease.tell(Outcome::failed(Why::ProviderError));
            let outcome = "no_answer_of_its_protocol";
            self.metrics.attempt(&channel.name, outcome);
            return Err(match status.is_success() {
                true => foreign(&body),
                false => odd_status(status),
            });
        }
        let mut outcome = "answered";
        if is_error {
            let blame = blame::of_answer(status.as_u16(), &body);
            let wait = retry_after::asked(&headers, SystemTime::now());
            lease.tell(Outcome::of(blame, wait));
            if blame != Blame::Caller {
                outcome = blame.name();
            }
            if matches!(blame, Blame::Credential | Blame::Account) {
                self.metrics.attempt(&channel.name, outcome);
                return Err(refused_ourselves(status));
            }
        } else {
            lease.tell(Outcome::Well);
        }
        self.metrics.attempt(&channel.name, outcome);
        if is_error && !kind.is_protocols_error(&body) {
            return Err(foreign(&body));
        }
        Ok(Returned {
            status,
            headers: hygiene::for_caller(&headers, &channel.secrets),
            body: match is_error {
                true => redact(&body, &[]).into_owned().into(),
                false => body,
            },
        })
    }
}

/// Reads an answer to its end.
async fn read(
    connection: &mut Connection,
    channel: &Channel,
    deadline: Instant,
) -> Result<Answer, Fault> {
    let timeouts = channel.timeouts;
    let session = &mut connection.session;
    let until = deadline.min(Instant::now() + timeouts.first_byte);
    connection.is_informed = in_time(until, attempt::read_head(session)).await?;
    let head = session
        .response_header()
        .expect("the answer's head was read");
    let (status, headers) = (head.status, head.headers.clone());
    let mut masker = Masker::new(channel.secrets.clone());
    let mut body = BytesMut::new();
    loop {
        let until = deadline.min(Instant::now() + timeouts.idle);
        let Some(piece) = in_time(until, session.read_response_body()).await? else {
            break;
        };
        body.extend_from_slice(&masker.push(piece));
        if body.len() > ERROR_BYTES_MAX {
            return Err(Fault::new(
                FaultKind::UnreadableAnswer,
                "the provider's answer is too long; tell the operator of this gateway",
            )
            .detail(format!("more than {ERROR_BYTES_MAX} bytes")));
        }
    }
    body.extend_from_slice(&masker.finish());
    Ok(Answer {
        status,
        headers,
        body: body.freeze(),
    })
}

async fn in_time<T>(
    until: Instant,
    work: impl Future<Output = Result<T, Box<Error>>>,
) -> Result<T, Fault> {
    match timeout_at(until, work).await {
        Ok(done) => done.map_err(fault_from::upstream),
        Err(_) => Err(too_late("it fell silent")),
    }
}

fn too_late(what: &str) -> Fault {
    Fault::new(
        FaultKind::UpstreamTimeout,
        "the provider did not answer in time; try again",
    )
    .detail(what)
}
