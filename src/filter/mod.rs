//! What a filter is: one step of a chain, built once per snapshot and shared by every request.
//!
//! Each built-in filter has a file of its own here; [`registry`] is the only place that names them all.

#[macro_use]
pub mod registry;

pub mod body;
pub mod body_reading;
pub mod body_stream;
mod captures;
pub mod chain;
mod client_networks;
pub mod fetch;
pub mod kind;
mod schema_fault;
pub mod settlement;
pub mod state;
pub mod stream_info;
pub mod view;

macro_rules! declare_modules {
    ($($filter:ident)*) => { $(pub mod $filter;)* };
}

filters!(declare_modules);

use crate::protocol::fault::Fault;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use settlement::Settlement;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use view::{AttemptView, EventView, RequestView, ResponseView};

/// One step of a chain. Every hook does nothing by default.
///
/// One rule says which hooks run, and in which order:
///
/// - Hooks of the request (`on_head`, `on_body`, `on_attempt`) run for the filters of the request chain, in the
///   order written.
/// - Hooks of the response (`on_response_head`, `on_response_body`, `on_event`, `on_response_end`) run for the
///   filters of the response chain in the order written, then for those of the request chain in the reverse
///   order: the first that changed the request is the last to change its response. Bodies and events are shown
///   to filters that declare it.
/// - `on_done` runs for all filters of both chains, in the order written.
///
/// Each hook runs through its whole chain before the next hook begins. What a filter must know again in a later hook
/// it keeps in [`RequestView::state`], in a type of its own.
pub trait Filter: Send + Sync {
    /// What the filter, with these settings, asks of its route. Asked once, when the snapshot is built.
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration::default()
    }

    /// Before a byte of the body is read: may reply or fail, so that a stranger never fills memory.
    fn on_head<'a>(&'a self, _request: &'a mut RequestView) -> HookResult<'a> {
        HookResult::next()
    }

    /// The body is complete, and read where a filter of the route needs it; one that streams has not begun. May
    /// propose edits, name the destination, reply or fail.
    fn on_body<'a>(&'a self, _request: &'a mut RequestView) -> HookResult<'a> {
        HookResult::next()
    }

    /// Once per channel tried, on a fresh copy of head and edits, which it may change, or fail. The credential
    /// comes after this.
    fn on_attempt<'a>(
        &'a self,
        _request: &'a RequestView,
        _attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        HookResult::done()
    }

    /// Status and headers of the response that the caller gets: may change headers.
    fn on_response_head(&self, _response: &mut ResponseView<'_>) {}

    /// A complete response body: JSON, or an error whatever its status. A filter that declares
    /// [`BodyAccess::Replace`] gets it before it is sent, and may change it or fail. One that declares
    /// [`BodyAccess::Observe`] gets successful ones only, decides at once, and changes nothing: it may have been sent.
    fn on_response_body<'a>(
        &'a self,
        _response: &'a mut ResponseView<'_>,
        _body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        HookResult::done()
    }

    /// An event of a streamed response: may replace or drop it where the filter declares [`BodyAccess::Replace`].
    /// Pure, and never waits.
    fn on_event(&self, _event: &mut EventView<'_>) {}

    /// A provider's response ended, whole or not: what was learned of it goes into [`RequestView::info`].
    fn on_response_end(&self, _request: &mut RequestView) {}

    /// Once per exchange, whatever its end was: gives back what the filter holds.
    fn on_done(&self, _request: &mut RequestView, _settlement: Settlement) {}
}

/// What a filter asks of the routes it stands in, by its settings.
#[derive(Clone, Copy, Default)]
pub struct FilterDeclaration {
    /// Its settings leave the body alone, though its kind needs one.
    pub ignores_body: bool,
    /// It looks at the body where there is one, though its kind needs none.
    pub reads_body: bool,
    /// What it does with complete response bodies.
    pub response_body: BodyAccess,
    /// What it does with the events of a streamed response.
    pub events: BodyAccess,
    /// How long a stream's provider may be silent until the caller is sent a comment.
    pub heartbeat: Option<Duration>,
    /// It replies to every request, so that its route needs no channel, and no `on_body` behind it runs.
    pub replies_always: bool,
}

/// How much of the request's body the filters of a route need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum BodyNeed {
    /// None of it: a large one streams to the provider, unless the request is a paid create.
    #[default]
    Untouched,
    /// All of it: scanned as strict JSON unless it is a form, which nobody reads.
    Whole,
    /// All of it, scanned as strict JSON.
    Scanned,
}

/// What a filter does with a response's body or events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum BodyAccess {
    #[default]
    None,
    /// Looks at it, never delays or changes it.
    Observe,
    /// May change it.
    Replace,
}

/// What a hook decided.
pub enum FilterAction {
    /// Goes on to the next filter.
    Continue,
    /// Ends the exchange with an answer of ours.
    LocalReply(LocalReply),
}

/// An answer made by us.
#[derive(Debug)]
pub struct LocalReply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A hook's result: there already, or still to come.
///
/// Most filters decide at once; they then cost no allocation. A hook that cannot reply has no [`FilterAction`] to give.
pub enum HookResult<'a, T = FilterAction> {
    Ready(Result<T, Fault>),
    Later(Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>),
}

impl HookResult<'_> {
    /// Goes on to the next filter.
    pub fn next() -> Self {
        Self::Ready(Ok(FilterAction::Continue))
    }

    /// Ends the exchange with an answer of ours.
    pub fn reply(reply: LocalReply) -> Self {
        Self::Ready(Ok(FilterAction::LocalReply(reply)))
    }
}

impl HookResult<'_, ()> {
    /// Goes on to the next filter.
    pub fn done() -> Self {
        Self::Ready(Ok(()))
    }
}

impl<'a, T> HookResult<'a, T> {
    /// Ends the exchange with an error.
    pub fn fail(fault: Fault) -> Self {
        Self::Ready(Err(fault))
    }

    /// Decides once `future` is done.
    pub fn later(future: impl Future<Output = Result<T, Fault>> + Send + 'a) -> Self {
        Self::Later(Box::pin(future))
    }

    /// Waits for the decision.
    pub async fn decided(self) -> Result<T, Fault> {
        match self {
            Self::Ready(outcome) => outcome,
            Self::Later(future) => future.await,
        }
    }
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
