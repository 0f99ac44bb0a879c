//! How tasks stand, and their end before time: asked beside the exchange's attempts, and told in the caller's words.

use super::answer::{native, reworded};
use super::ask::unknown;
use super::{MapTask, no_family};
use crate::catalog::model::Candidate;
use crate::filter::view::RequestView;
use crate::filter::{Flow, Reply};
use crate::polls::{Known, Question, Report, Trouble};
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::json::{Document, Limits};
use crate::state::calendar::unix_ms;
use crate::subrequest::{Subrequest, SubrequestResponse};
use crate::task::family::{Call, Cancel, Family};
use crate::task::id::TaskId;
use crate::task::state::State;
use crate::task::status::TaskStatus;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use memchr::memmem;
use std::sync::Arc;
use std::time::Duration;

/// The provider's own word for a status, where the family does not know it.
const UPSTREAM_STATUS: HeaderName = HeaderName::from_static("x-headgate-upstream-status");
/// A caller is not asked back earlier: tasks take minutes.
const ASK_AGAIN_MIN: Duration = Duration::from_secs(5);
/// How long a question waits for room on a channel that is at its limits. A cancel does not: meanwhile the task
/// might be over, and its record deleted by it.
const ROOM_PATIENCE: Duration = Duration::from_secs(2);
/// A shorter id is not looked for in a provider's texts: it would be found in ordinary words.
const ID_BYTES_MIN: usize = 8;

/// A task of the caller's, and whom to ask about it.
struct Asked {
    candidate: Candidate,
    question: Question,
    /// The caller's id, as it was sent.
    id: String,
}

impl MapTask {
    /// Tells how the task stands that [`MapTask::find_task`] has found.
    pub(super) async fn query(&self, request: &mut RequestView) -> Result<Flow, Fault> {
        let Some(subrequests) = request.subrequests.clone() else {
            return Ok(Flow::Next);
        };
        let asked = self.asked(request)?;
        let ask = subrequests.send(asked.subrequest(request, &asked.family().query.call));
        match self.polls.report(asked.question.clone(), ask).await {
            Ok(Known { report, again }) => self.tell(&asked, &report, again),
            Err(trouble) => self.refuse(&asked, &trouble),
        }
    }

    /// Cancels the task, if it stands so that this does nothing else: the request that cancels a task
    /// may delete the record of one that is over.
    pub(super) async fn cancel(&self, request: &mut RequestView) -> Result<Flow, Fault> {
        let Some(subrequests) = request.subrequests.clone() else {
            return Ok(Flow::Next);
        };
        let asked = self.asked(request)?;
        let Some(cancel) = &asked.family().cancel else {
            return Err(not_cancellable("tasks of this model cannot be cancelled"));
        };
        let ask = subrequests.send(asked.subrequest(request, &asked.family().query.call));
        // Nothing is sent before this is awaited.
        let cancelling = subrequests.send(Subrequest {
            patience: Duration::ZERO,
            ..asked.subrequest(request, &cancel.call)
        });
        let report = match self.polls.report_now(&asked.question, ask).await {
            Ok(report) => report,
            Err(trouble) => return self.refuse_cancel(&asked, &trouble),
        };
        if !cancel.only.contains(&report.state) {
            return Err(too_late(cancel, report.state));
        }
        // Whatever comes of it, and whether the caller waits for that or not, the task may stand otherwise.
        self.polls.doubt(asked.task());
        let cancelled = cancelling.await;
        self.polls.doubt(asked.task());
        let returned = cancelled?;
        match returned.status.is_success() {
            true => self.tell_cancelled(&asked, &report, &returned),
            false => self.refuse_cancel(&asked, &Trouble::Refused(returned)),
        }
    }

    fn asked(&self, request: &RequestView) -> Result<Asked, Fault> {
        let destination = request.destination.as_ref().ok_or_else(no_family)?;
        let candidate = destination.candidates.first().ok_or_else(no_family)?;
        Ok(Asked {
            question: Question {
                family: candidate.channel.family.clone().ok_or_else(no_family)?,
                task: request.state.get::<TaskId>().cloned().ok_or_else(unknown)?,
                state: self.state.clone(),
            },
            candidate: candidate.clone(),
            id: Self::id_in(request).ok_or_else(unknown)?.to_owned(),
        })
    }

    fn tell(&self, asked: &Asked, report: &Report, again: Duration) -> Result<Flow, Fault> {
        let (family, task) = (asked.family(), asked.task());
        let status = family
            .status(&report.answer, task, report.said_ms)
            .map_err(|unreadable| no_family().source(unreadable))?;
        let body = match self.is_generic {
            true => status.render(&asked.id, task),
            false => self.native(asked, &report.answer, Some(&status)),
        };
        Ok(reply(StatusCode::OK, head(&status, again), body))
    }

    /// A provider's error in the caller's protocol. A task that the provider does not know is still one of
    /// the caller's: providers forget, and some are slow to know.
    fn refuse(&self, asked: &Asked, trouble: &Trouble) -> Result<Flow, Fault> {
        let refused = match trouble {
            Trouble::Failed(fault) => return Err(fault.again()),
            Trouble::Refused(refused) => refused,
        };
        if self.is_generic && refused.status == StatusCode::NOT_FOUND {
            let status = asked.family().missing(asked.task(), unix_ms());
            let body = status.render(&asked.id, asked.task());
            let head = head(&status, Duration::ZERO);
            return Ok(reply(StatusCode::OK, head, body));
        }
        let reworded = match self.is_generic {
            true => reworded(asked.family(), refused.status, &refused.body),
            false => None,
        };
        let body = reworded.unwrap_or_else(|| refused.body.clone());
        let mut headers = refused.headers.clone();
        headers.remove(header::CONTENT_LENGTH);
        Ok(reply(refused.status, headers, asked.masked(body)))
    }

    /// What keeps a provider from cancelling is how the task stands, unless it is too busy or fails.
    fn refuse_cancel(&self, asked: &Asked, trouble: &Trouble) -> Result<Flow, Fault> {
        match trouble {
            Trouble::Refused(refused)
                if refused.status.is_client_error()
                    && refused.status != StatusCode::TOO_MANY_REQUESTS =>
            {
                let why = "the provider does not cancel this task; ask how it stands";
                let said = String::from_utf8_lossy(&refused.body);
                Err(not_cancellable(why).detail(format!("{}: {said}", refused.status)))
            }
            trouble => self.refuse(asked, trouble),
        }
    }

    fn tell_cancelled(
        &self,
        asked: &Asked,
        before: &Report,
        returned: &SubrequestResponse,
    ) -> Result<Flow, Fault> {
        let (family, task) = (asked.family(), asked.task());
        if let Some(edits) = family.said_as(&before.answer, State::Cancelled) {
            let now = edits.apply(before.answer.body()).to_bytes();
            self.polls.tell(&asked.question, now);
        }
        let body = if self.is_generic {
            let mut status = family
                .status(&before.answer, task, unix_ms())
                .map_err(|unreadable| no_family().source(unreadable))?;
            status.state = State::Cancelled;
            status.render(&asked.id, task)
        } else {
            match Document::parse(returned.body.clone(), &Limits::default()) {
                Ok(answer) => self.native(asked, &answer, None),
                Err(_) => Bytes::from_static(b"{}"),
            }
        };
        Ok(reply(StatusCode::OK, HeaderMap::new(), body))
    }

    fn native(&self, asked: &Asked, answer: &Document, status: Option<&TaskStatus>) -> Bytes {
        let (family, task) = (asked.family(), asked.task());
        native(&self.tasks, family, answer, &asked.id, task, status)
    }
}

impl Asked {
    fn family(&self) -> &Arc<Family> {
        &self.question.family
    }

    fn task(&self) -> &TaskId {
        &self.question.task
    }

    fn subrequest(&self, request: &RequestView, call: &Call) -> Subrequest {
        let mut headers = HeaderMap::new();
        request.header_edits.apply(&mut headers);
        for (name, value) in &call.headers {
            headers.insert(name, value.clone());
        }
        Subrequest {
            id: request.id.clone(),
            candidate: self.candidate.clone(),
            method: call.method.clone(),
            path: call.path(&self.task().upstream),
            headers,
            body: Bytes::new(),
            upstream_request_id: request.info.subrequest_id.get_or_init(Arc::default).clone(),
            patience: ROOM_PATIENCE,
        }
    }

    /// A provider's text with the caller's id of the task in the place of the provider's.
    fn masked(&self, text: Bytes) -> Bytes {
        let upstream = self.task().upstream.as_bytes();
        if upstream.len() < ID_BYTES_MIN {
            return text;
        }
        let mut masked = BytesMut::with_capacity(text.len());
        let mut done = 0;
        for at in memmem::find_iter(&text, upstream) {
            masked.extend_from_slice(&text[done..at]);
            masked.extend_from_slice(self.id.as_bytes());
            done = at + upstream.len();
        }
        masked.extend_from_slice(&text[done..]);
        masked.freeze()
    }
}

fn head(status: &TaskStatus, again: Duration) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let word = status.upstream_word.as_deref();
    if let Some(word) = word.and_then(|word| HeaderValue::from_str(word).ok()) {
        headers.insert(UPSTREAM_STATUS, word);
    }
    if !status.state.is_terminal() {
        let seconds = again.max(ASK_AGAIN_MIN).as_millis().div_ceil(1_000);
        let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    headers
}

fn reply(status: StatusCode, mut headers: HeaderMap, body: Bytes) -> Flow {
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    Flow::Reply(Reply {
        status,
        headers,
        body,
    })
}

fn too_late(cancel: &Cancel, state: State) -> Fault {
    let states: Vec<&str> = cancel.only.iter().map(|state| state.name()).collect();
    let (state, when) = (state.name(), states.join(" or "));
    not_cancellable(format!(
        "the task is {state}; tasks of this model can be cancelled while they are {when}"
    ))
}

fn not_cancellable(message: impl Into<String>) -> Fault {
    Fault::new(FaultKind::NotCancellable, message)
}
