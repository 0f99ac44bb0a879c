//! What a filter is: one step of a chain, built once per snapshot and shared by every request.
//!
//! Each built-in filter has a file of its own here; [`registry`] is the only place that names them.

pub mod authenticate;
pub mod body;
mod captures;
pub mod chain;
pub mod facts;
pub mod fetch;
pub mod first_channel;
pub mod follow_ids;
pub mod force_usage;
pub mod heartbeat;
pub mod held;
pub mod keep_own;
pub mod kind;
pub mod limit_body;
pub mod list_models;
pub mod map_images;
pub mod map_task;
pub mod meter_usage;
pub mod normalise;
pub mod pass_sse;
pub mod pin;
pub mod rate_limit;
mod refusal;
pub mod registry;
pub mod remember_ids;
pub mod remove_headers;
pub mod require_json;
pub mod require_version;
pub mod restore_model;
pub mod rewrite_path;
pub mod route_model;
pub mod set_headers;
pub mod validate;
pub mod view;

use crate::protocol::fault::Fault;
use bytes::Bytes;
use facts::{Facts, Settlement};
use http::{HeaderMap, StatusCode};
use kind::InvalidSettings;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use view::{AnswerView, AttemptView, FrameView, RequestView};

/// One step of a chain. Every hook does nothing by default.
///
/// Hooks of the request chain run in the order written, those of the answer chain likewise.
pub trait Filter: Send + Sync {
    /// How much of the request's body this filter needs.
    fn body_need(&self) -> BodyNeed {
        BodyNeed::Untouched
    }

    /// What this filter does with a JSON answer.
    fn answer_need(&self) -> AnswerNeed {
        AnswerNeed::Nothing
    }

    /// What this filter does with the events of a streamed answer.
    fn frame_need(&self) -> AnswerNeed {
        AnswerNeed::Nothing
    }

    /// How long a stream's provider may be silent until the caller is sent a comment.
    fn heartbeat(&self) -> Option<Duration> {
        None
    }

    /// Whether it ends every request by itself, so that its route needs no channel.
    fn ends_requests(&self) -> bool {
        false
    }

    /// What the settings allow but cannot work, for whoever checks the configuration.
    fn settings_warning(&self) -> Option<InvalidSettings> {
        None
    }

    /// Before a byte of the body is read: may reply, so that a stranger never fills memory.
    fn on_head<'a>(&'a self, _request: &'a mut RequestView) -> Step<'a> {
        Step::next()
    }

    /// The body is complete and was scanned: may read it, propose edits, name the destination, reply.
    fn on_body<'a>(&'a self, _request: &'a mut RequestView) -> Step<'a> {
        Step::next()
    }

    /// Once per channel tried, on a fresh copy of head and edits; the credential comes after this.
    fn on_attempt<'a>(
        &'a self,
        _request: &'a RequestView,
        _attempt: &'a mut AttemptView,
    ) -> Step<'a> {
        Step::next()
    }

    /// Status and headers of the answer that is kept: may change headers.
    fn on_response_head(&self, _answer: &mut AnswerView<'_>) {}

    /// A complete JSON answer. Before it is sent where [`AnswerNeed::Replace`] was asked for, else after.
    fn on_response_body(&self, _answer: &mut AnswerView<'_>, _body: &mut Bytes) {}

    /// A complete JSON answer that was to be replaced, for filters that have to ask somebody first. Runs
    /// behind [`Filter::on_response_body`] of all filters; it may fail, but not reply.
    fn on_held_answer<'a>(
        &'a self,
        _answer: &'a mut AnswerView<'_>,
        _body: &'a mut Bytes,
    ) -> Step<'a> {
        Step::next()
    }

    /// A provider's error that is passed on, known whole: may put it into other words.
    fn on_error_body(&self, _answer: &mut AnswerView<'_>, _body: &mut Bytes) {}

    /// An event of a streamed answer: pure, and never waits.
    fn on_frame(&self, _frame: &mut FrameView<'_>) {}

    /// Once per exchange, whatever its end was.
    fn on_done(&self, _request: &RequestView, _facts: &mut Facts, _settlement: Settlement) {}
}

/// How much of the request's body a filter needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BodyNeed {
    /// None of it: it may stream to the provider.
    Untouched,
    /// All of it, scanned as strict JSON.
    Scanned,
}

/// What a filter does with an answer's body or events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerNeed {
    Nothing,
    /// Looks at it, never delays or changes it.
    Observe,
    /// May change it.
    Replace,
}

/// What a hook decided.
pub enum Flow {
    /// Goes on to the next filter.
    Next,
    /// Ends the exchange with an answer of ours.
    Reply(Reply),
}

/// An answer made by us.
#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A hook's result: there already, or still to come.
///
/// Most filters decide at once; they then cost no allocation.
pub enum Step<'a> {
    Ready(Result<Flow, Fault>),
    Later(Pin<Box<dyn Future<Output = Result<Flow, Fault>> + Send + 'a>>),
}

impl<'a> Step<'a> {
    /// Goes on to the next filter.
    pub fn next() -> Self {
        Self::Ready(Ok(Flow::Next))
    }

    /// Ends the exchange with an answer of ours.
    pub fn reply(reply: Reply) -> Self {
        Self::Ready(Ok(Flow::Reply(reply)))
    }

    /// Ends the exchange with an error.
    pub fn fail(fault: Fault) -> Self {
        Self::Ready(Err(fault))
    }

    /// Decides once `future` is done.
    pub fn later(future: impl Future<Output = Result<Flow, Fault>> + Send + 'a) -> Self {
        Self::Later(Box::pin(future))
    }

    /// Waits for the decision.
    pub async fn decided(self) -> Result<Flow, Fault> {
        match self {
            Self::Ready(outcome) => outcome,
            Self::Later(future) => future.await,
        }
    }
}

impl From<Result<(), Fault>> for Step<'_> {
    fn from(outcome: Result<(), Fault>) -> Self {
        Self::Ready(outcome.map(|()| Flow::Next))
    }
}
