//! The `Filter` trait: one step of a route's chain, built once per snapshot and shared by all requests.
//!
//! Each built-in filter has its own file in this folder.

pub mod affinity_key;
pub mod batch_reservation;
pub mod body;
pub mod body_edit;
pub mod body_limit;
pub mod body_reading;
pub mod body_stream;
pub mod budget_charge;
pub mod chain;
pub mod condition;
pub mod conditional;
pub mod contract;
pub mod descriptor;
pub mod expression;
pub mod failed_attempt_usage;
pub mod fetch;
pub mod header_name;
pub mod output_check;
pub mod range;
pub mod response_inputs;
pub mod response_pieces;
pub mod run_name;
pub mod schema_fault;
pub mod settlement;
pub mod state;
pub mod stream_guard;
pub mod stream_info;
pub mod streamed_reply;
pub mod view;

mod endpoint_path;

use crate::callout::PlannedCallout;
use body_edit::EditedBody;
use bytes::Bytes;
use contract::RouteApiDescription;
use expression::RequiredValueNames;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::sse::SseEvent;
use http::{HeaderMap, HeaderName, StatusCode};
use output_check::OutputCheckMode;
use response_inputs::ResponseVaryInputs;
use settlement::ExchangeSettlement;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use streamed_reply::StreamedReply;
use view::{AttemptView, EventView, RequestView, ResponseView};

/// One step of a chain. The default implementation of every hook does nothing.
///
/// Which hooks run, and in which order:
///
/// - Request hooks (`on_head`, `on_body`, `on_attempt`, `on_fallback`) run for the filters of the request chain, in the configured
///   order.
/// - Response hooks (`on_response_head`, `on_response_body`, `on_event`, `on_stream_end`,
///   `on_response_end`) run for the filters of the
///   response chain in the configured order, then for the filters of the request chain in reverse order: the first
///   filter that changed the request is the last to change the response. Only filters that declare access see bodies
///   and events.
/// - `on_attempt` and the response hooks of a filter that declares [`FilterDeclaration::runs_last`] run after those of all
///   others; those of one that declares [`FilterDeclaration::runs_after_edits`] run before them, after all the rest.
/// - `on_done` runs for all filters of both chains, in the configured order.
///
/// Each hook runs for the whole chain before the next hook starts. A filter stores data for its later hooks in
/// [`RequestView::state`], under a type that only this filter names.
pub trait Filter: Send + Sync {
    /// What the filter, with its settings, requires of its route. Called once, while the snapshot is built.
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration::default()
    }

    /// Adds what the filter reads of the caller's request in the hooks for attempts and responses. Recorded responses are
    /// for requests that are equal in that.
    fn add_response_inputs(&self, _inputs: &mut ResponseVaryInputs) {}

    /// Adds what the filter determines of the HTTP API of its route, for the description of the API. Not called for a
    /// filter with a condition.
    fn add_to_contract(&self, _contract: &mut RouteApiDescription) {}

    /// The copy of an accepted request that the filter would send, for a dry run.
    fn planned_copy(&self, _request: &RequestView) -> Option<PlannedMirrorRequest> {
        None
    }

    /// Runs before the body is read. May reply or fail, so that an unauthenticated request never fills memory.
    fn on_head<'a>(&'a self, _request: &'a mut RequestView) -> HookResult<'a> {
        HookResult::next()
    }

    /// Runs when the body is complete, and parsed if a filter of the route needs that. For a body that streams, it runs
    /// before the first byte is read. May propose edits, set the destination, reply or fail.
    fn on_body<'a>(&'a self, _request: &'a mut RequestView) -> HookResult<'a> {
        HookResult::next()
    }

    /// Runs when a later filter edits the body, before the edit counts: checks again what this filter checked, and what it
    /// decided by the body.
    ///
    /// # Errors
    /// The edited body is invalid; the message is for the operator.
    fn check_edited_body(
        &self,
        _request: &RequestView,
        _edited: EditedBody<'_>,
    ) -> Result<(), Fault> {
        Ok(())
    }

    /// Runs once for each channel that is tried, before the credential is set. May change this attempt's copy of head
    /// and edits, or fail.
    fn on_attempt<'a>(
        &'a self,
        _request: &'a RequestView,
        _attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        HookResult::done()
    }

    /// Runs when no channel of the model could serve the request, and another model is to stand in for it: `request` has the
    /// new destination. Drops what the filter holds for the first model, and checks what depends on the model; a later filter
    /// may still refuse it. `on_head` and `on_body` do not run again, `on_attempt` runs for each attempt on it.
    ///
    /// # Errors
    /// The request cannot be sent to this model, which is passed over; the reason is for the operator.
    fn on_fallback<'a>(&'a self, _request: &'a mut RequestView) -> HookResult<'a, ()> {
        HookResult::done()
    }

    /// Sees the status and the headers of the response to the caller, and may change the headers, or fail.
    fn on_response_head<'a>(&'a self, _response: &'a mut ResponseView<'_>) -> HookResult<'a, ()> {
        HookResult::done()
    }

    /// Sees a complete response body, not a stream. A filter with [`ResponseBodyAccess::Replace`] runs before the body is sent,
    /// also for errors, and may change it or fail. A filter with [`ResponseBodyAccess::Observe`] sees only JSON of successful
    /// responses and none of their headers, must return `Ready`, and must not change the body, of which all but the end may be sent.
    fn on_response_body<'a>(
        &'a self,
        _response: &'a mut ResponseView<'_>,
        _body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        HookResult::done()
    }

    /// Sees one event of a streamed response. A filter with [`ResponseBodyAccess::Replace`] may replace the event, also by
    /// several, or drop it, or fail, which ends the stream with an error. The request has no body any more, unless a filter
    /// declares that it needs it here.
    fn on_event<'a>(&'a self, _event: &'a mut EventView<'_>) -> HookResult<'a, ()> {
        HookResult::done()
    }

    /// Runs after the last event of a stream that ended as it should. A filter with [`ResponseBodyAccess::Replace`] may add
    /// events in `rest`, which later filters see.
    fn on_stream_end<'a>(
        &'a self,
        _request: &'a mut RequestView,
        _rest: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        HookResult::done()
    }

    /// Sees an event of a held stream as the caller would get it, after all event filters. Returns whether the event must
    /// wait for [`Self::on_window`]. Only for filters that declare [`OutputCheckMode::Streams`].
    fn on_held_event(&self, _request: &mut RequestView, _event: &SseEvent) -> bool {
        false
    }

    /// Decides about the events of a held stream that wait: they are sent, or the stream ends with the error.
    fn on_window<'a>(&'a self, _request: &'a mut RequestView) -> HookResult<'a, ()> {
        HookResult::done()
    }

    /// What tells the filter from others of its kind in reports: the name of a plugin, or the path of a schema.
    fn label(&self) -> Option<&str> {
        None
    }

    /// Headers of providers' responses that the filter gets although callers do not, see [`GrantedResponseHeaders`].
    fn granted_response_headers(&self) -> &[HeaderName] {
        &[]
    }

    /// The service that the filter calls, and when. Calls nothing.
    fn callout(&self) -> Option<PlannedCallout> {
        None
    }

    /// Runs when a provider's response has ended, complete or not. Puts what the filter learned into
    /// [`RequestView::info`].
    fn on_response_end(&self, _request: &mut RequestView) {}

    /// Runs once per exchange, however the exchange ends. Releases what the filter holds.
    fn on_done(&self, _request: &mut RequestView, _settlement: ExchangeSettlement) {}
}

/// What a filter requires of its routes, according to its settings.
#[derive(Clone, Copy, Default)]
pub struct FilterDeclaration {
    /// With these settings the filter does not read the body, although its kind has [`descriptor::FilterPrerequisite::Body`].
    pub ignores_body: bool,
    /// The filter reads the body of a request that has one, although its kind does not need a body.
    pub reads_body: bool,
    /// `on_event` or a hook after it reads the request's body, which is freed otherwise when a stream begins: no attempt
    /// can follow, and a stream may last for minutes.
    pub reads_body_during_stream: bool,
    /// Access to complete response bodies.
    pub response_body: ResponseBodyAccess,
    /// Access to the events of a streamed response.
    pub events: ResponseBodyAccess,
    /// `on_event` shows the provider's events, in the channel's protocol and as no other filter has changed them. Only for a
    /// filter with [`ResponseBodyAccess::Observe`] of events, which must return `Ready` then.
    pub reads_upstream_events: bool,
    /// `on_response_body` shows the body that the caller gets, after the filters that change it. Only for a filter with
    /// [`ResponseBodyAccess::Observe`] of bodies; others see that of the provider.
    pub observes_caller_body: bool,
    /// Largest request body that the filter admits, in bytes; any if `None`.
    pub body_limit: Option<u64>,
    /// How much of a request the filter can inspect; it refuses larger requests.
    pub inspection_limit: Option<InspectionLimit>,
    /// Whether nothing of a response may reach the caller before this filter has seen it.
    pub output_check: OutputCheckMode,
    /// How long the provider of a stream may be silent before the caller gets a keep-alive comment.
    pub heartbeat: Option<Duration>,
    /// `on_attempt` and the response hooks run after those of all other filters.
    pub runs_last: bool,
    /// `on_attempt` runs after the filters that edit attempts, and before those that run last.
    pub runs_after_edits: bool,
    /// The filter may change the `model` of the body, and so must run before the filter that selects channels by it.
    pub changes_model: bool,
    /// Names in its computed values that earlier filters must set.
    pub value_names: RequiredValueNames,
    /// The filter replies to every request: its route needs no channel, and later filters never run `on_body`.
    pub replies_always: bool,
}

/// How much of a request body a filter can inspect.
#[derive(Clone, Copy, Debug)]
pub struct InspectionLimit {
    pub bytes: u64,
    /// The setting that raises it.
    pub setting: &'static str,
}

/// How much of the request body the filters of a route need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestBodyNeed {
    /// None: a large body streams to the provider, unless the request is a paid create.
    #[default]
    Untouched,
    /// The whole body, scanned as strict JSON unless it is a form. A form passes unread.
    Whole,
    /// The whole body, scanned as strict JSON.
    Scanned,
}

/// Access of a filter to the body or the events of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResponseBodyAccess {
    #[default]
    None,
    /// Reads them, without delay or change.
    Observe,
    /// May change them.
    Replace,
}

/// What the exchange does after a hook.
pub enum FilterAction {
    /// Continues with the next filter.
    Continue,
    /// Ends the exchange with a local reply.
    LocalReply(Box<LocalReply>),
    /// Ends the exchange with a local reply whose body is produced piece by piece.
    StreamedReply(Box<StreamedReply>),
}

/// A copy of a request for another channel.
pub struct PlannedMirrorRequest {
    pub channel: Arc<str>,
    /// The share of requests that are copied, in percent.
    pub percent: f64,
    /// Why requests such as this one are not copied.
    pub obstacle: Option<String>,
}

/// A response that the gateway makes itself.
#[derive(Clone, Debug)]
pub struct LocalReply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The result of a hook: ready, or a future.
///
/// Most filters decide at once, which costs no allocation. Hooks that cannot reply have `()` in place of
/// [`FilterAction`].
pub enum HookResult<'a, T = FilterAction> {
    Ready(Result<T, Fault>),
    Later(Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>),
}

impl HookResult<'_> {
    /// Continues with the next filter.
    pub fn next() -> Self {
        Self::Ready(Ok(FilterAction::Continue))
    }

    /// Ends the exchange with a local reply.
    pub fn reply(reply: LocalReply) -> Self {
        Self::Ready(Ok(reply.into()))
    }
}

impl HookResult<'_, ()> {
    /// Continues with the next filter.
    pub fn done() -> Self {
        Self::Ready(Ok(()))
    }
}

impl<'a, T> HookResult<'a, T> {
    /// Ends the exchange with an error.
    pub fn fail(fault: Fault) -> Self {
        Self::Ready(Err(fault))
    }

    /// Decides when `future` completes.
    pub fn later(future: impl Future<Output = Result<T, Fault>> + Send + 'a) -> Self {
        Self::Later(Box::pin(future))
    }

    /// Waits for the result.
    pub async fn decided(self) -> Result<T, Fault> {
        match self {
            Self::Ready(outcome) => outcome,
            Self::Later(future) => future.await,
        }
    }
}

impl From<LocalReply> for FilterAction {
    fn from(reply: LocalReply) -> Self {
        Self::LocalReply(Box::new(reply))
    }
}

impl From<StreamedReply> for FilterAction {
    fn from(reply: StreamedReply) -> Self {
        Self::StreamedReply(Box::new(reply))
    }
}

/// The refusal of a filter that prepared the request for the channels of the model that it names.
pub fn no_other_model() -> Fault {
    Fault::new(
        FaultKind::Internal,
        "the request is prepared for the channels of the model that it names",
    )
}

impl From<()> for FilterAction {
    fn from((): ()) -> Self {
        Self::Continue
    }
}

impl<T: From<()>> From<Result<(), Fault>> for HookResult<'_, T> {
    fn from(outcome: Result<(), Fault>) -> Self {
        Self::Ready(outcome.map(T::from))
    }
}
