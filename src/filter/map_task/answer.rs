//! What callers are told: the sealed id of a new task, how a task stands, and errors in their protocol's shape.

use super::{MapTask, no_family};
use crate::filter::view::AnswerView;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::json::{Document, Limits};
use crate::state::calendar::unix_ms;
use crate::task::family::Family;
use crate::task::generic::GenericRequest;
use crate::task::id::{TaskId, credential_fingerprint};
use crate::task::status::{TaskStatus, created};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::json;
use std::sync::Arc;

/// The provider's own word for a status, where the family does not know it.
const UPSTREAM_STATUS: HeaderName = HeaderName::from_static("x-headgate-upstream-status");
/// When a caller should ask again how a task stands that is under way, in seconds.
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("5");

impl MapTask {
    /// Seals the provider's id of a new task.
    ///
    /// # Errors
    /// The answer holds none: the task may exist all the same, and nobody can ask for it.
    pub(super) fn tell_created(
        &self,
        answer: &mut AnswerView<'_>,
        body: &Bytes,
    ) -> Result<Bytes, Fault> {
        let family = family_of(answer)?;
        let (document, upstream) = Document::parse(body.clone(), &Limits::default())
            .ok()
            .and_then(|document| {
                let upstream = family.created(&document).ok()?;
                Some((document, upstream))
            })
            .ok_or_else(|| {
                unreadable("the provider took the request, but names no task; tell the operator of this gateway")
                    .detail(format!("it answered: {}", String::from_utf8_lossy(body)))
            })?;
        let task = self.new_task(answer, &family, upstream)?;
        let keys = self
            .tasks
            .keys()
            .map_err(|error| no_family().source(error))?;
        let id = keys.seal(&task);
        if let Some(candidate) = answer.candidate
            && let Some(names) = self.ignored(answer.request, candidate)
        {
            answer.headers.insert(Self::ignored_header(), names);
        }
        answer.request.facts.response_id = Some(id.clone());
        Ok(match self.is_generic {
            true => created(&id),
            false => self.native(&family, &document, &id, &task, None),
        })
    }

    /// Tells how a task stands.
    ///
    /// # Errors
    /// The answer says nothing of this task, which stands as it did.
    pub(super) fn tell_status(
        &self,
        answer: &mut AnswerView<'_>,
        body: &Bytes,
    ) -> Result<Bytes, Fault> {
        let family = family_of(answer)?;
        let task = answer.request.facts.task.clone().ok_or_else(no_family)?;
        let document = Document::parse(body.clone(), &Limits::default())
            .map_err(|malformed| not_told().source(malformed))?;
        let status = family
            .status(&document, &task, unix_ms())
            .map_err(|unreadable| not_told().source(unreadable))?;
        let id = self.id_of(answer);
        tell_head(answer, &status);
        Ok(match self.is_generic {
            true => status.render(&id, &task),
            false => self.native(&family, &document, &id, &task, Some(&status)),
        })
    }

    /// A provider's error in the shape of the generic protocol. A task that the provider does not know
    /// is still one of the caller's: providers forget, and some are slow to know.
    pub(super) fn reword(&self, answer: &mut AnswerView<'_>, body: &mut Bytes) {
        let Ok(family) = family_of(answer) else {
            return;
        };
        if answer.status == StatusCode::NOT_FOUND
            && let Some(task) = answer.request.facts.task.clone()
        {
            let status = family.missing(&task, unix_ms());
            let id = self.id_of(answer);
            tell_head(answer, &status);
            answer.status = StatusCode::OK;
            *body = status.render(&id, &task);
            return;
        }
        let Ok(document) = Document::parse(body.clone(), &Limits::default()) else {
            return;
        };
        if let Some(error) = family.error(&document) {
            let class = match answer.status.is_client_error() {
                true => "invalid_request_error",
                false => "server_error",
            };
            let error = json!({"error": {
                "message": error.message, "type": class, "param": null, "code": error.code,
            }});
            *body = error.to_string().into();
        }
    }

    /// The caller's id of the task that is asked for, as it was sent.
    fn id_of(&self, answer: &AnswerView<'_>) -> String {
        let params = answer.request.params.first();
        params.map_or_else(String::new, |(_, id)| id.clone())
    }

    fn native(
        &self,
        family: &Family,
        document: &Document,
        id: &str,
        task: &TaskId,
        status: Option<&TaskStatus>,
    ) -> Bytes {
        let seal = |upstream: &str| {
            let other = TaskId {
                upstream: upstream.into(),
                ..task.clone()
            };
            self.tasks
                .keys()
                .map_or_else(|_| String::new(), |keys| keys.seal(&other))
        };
        let edits = family.native(document, id, task, status, &seal);
        edits.apply(document.body()).to_bytes()
    }

    fn new_task(
        &self,
        answer: &AnswerView<'_>,
        family: &Arc<Family>,
        upstream: String,
    ) -> Result<TaskId, Fault> {
        let request = &*answer.request;
        let candidate = answer.candidate.ok_or_else(no_family)?;
        let key = request.facts.key;
        let credential = key.and_then(|key| candidate.channel.credentials.get(key));
        let generic = match (&request.body, self.is_generic) {
            (Some(body), true) => GenericRequest::read(body).ok(),
            _ => None,
        };
        Ok(TaskId {
            caller: request
                .caller
                .as_ref()
                .ok_or_else(no_family)?
                .name
                .to_string(),
            channel: candidate.channel.name.to_string(),
            credential: credential.map_or(0, |credential| {
                credential_fingerprint(credential.secret.expose())
            }),
            model: request
                .model()
                .map_or_else(String::new, |model| model.name.to_string()),
            created: unix_ms() / 1000,
            ratio: generic.and_then(|generic| generic.ratio()),
            upstream,
            family: family.name.to_string(),
        })
    }
}

fn tell_head(answer: &mut AnswerView<'_>, status: &TaskStatus) {
    let word = status.upstream_word.as_deref();
    if let Some(word) = word.and_then(|word| HeaderValue::from_str(word).ok()) {
        answer.headers.insert(UPSTREAM_STATUS, word);
    }
    if !status.state.is_terminal() {
        answer.headers.insert(header::RETRY_AFTER, ASK_AGAIN);
    }
}

fn family_of(answer: &AnswerView<'_>) -> Result<Arc<Family>, Fault> {
    let candidate = answer.candidate.ok_or_else(no_family)?;
    candidate.channel.family.clone().ok_or_else(no_family)
}

fn not_told() -> Fault {
    unreadable("the provider's answer says nothing of this task; ask again")
}

fn unreadable(message: &str) -> Fault {
    Fault::new(FaultKind::UnreadableAnswer, message)
}
