//! What the host functions of one instance work on.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, Semaphore};
use tokio::task::AbortHandle;
use wasmtime::{Memory, ResourceLimiter, TypedFunc};

use super::background::BackgroundCallRunner;
use super::edits::ExchangeUndoLog;
use super::map::{HeaderMapEditor, HeaderMapView};
use super::map_kind::HeaderMapKind;
use crate::exchange::{LentExchange, PluginReply};
use crate::host_services::PluginHttpResponse;
use crate::memory_budget::MemoryShare;
use crate::plugin_resources::SharedInstanceResources;
use crate::settings::TABLE_ELEMENTS_MAX;

/// The id of the root context. Those of streams are larger.
pub(crate) const ROOT_CONTEXT: u32 = 1;

/// What the host functions of one instance work on.
pub(crate) struct GuestState {
    pub plugin: Arc<SharedInstanceResources>,
    pub instance: Weak<dyn BackgroundCallRunner>,
    /// `None` until the instance is made.
    pub memory: Option<Memory>,
    /// The allocator of the plugin; `None` until the instance is made, and while the allocator runs.
    pub allocator: Option<TypedFunc<u32, u32>>,
    /// Milliseconds that the callback may still run.
    pub ticks_left: u32,
    pub memory_limit: InstanceMemoryLimiter,
    /// The context that host functions act on.
    pub current: u32,
    pub streams: BTreeMap<u32, Box<StreamState>>,
    /// During `proxy_on_http_call_response`.
    pub call_response: Option<PluginHttpResponse>,
    /// During `proxy_on_http_call_response`, the context that made the call; else the root context.
    pub responding_to: u32,
    pub next_call: u32,
    pub root_calls: Vec<HttpCallTask>,
    pub tick: TickTimer,
    /// The queues that the plugin listens to.
    pub queues: Vec<QueueListener>,
    /// Streams for which the plugin called `proxy_done`.
    pub finished: Vec<u32>,
    /// What the plugin passed to `proc_exit`.
    pub exit_code: Option<i32>,
    /// Unfinished lines of the standard output and of the standard error.
    pub output: [Vec<u8>; 2],
}

/// One stream within an instance.
pub(crate) struct StreamState {
    /// Present during a callback of this stream, and while the stream is paused and waits.
    pub exchange: Option<LentExchange>,
    pub edits: ExchangeUndoLog,
    pub bodies: [HeldBody; 2],
    /// Whether the plugin continued the request's or the response's side since the last callback.
    pub continued: [bool; 2],
    pub reply: Option<PluginReply>,
    pub is_closed: bool,
    /// Whether `proxy_on_done` returned false, and the plugin has yet to call `proxy_done`.
    pub is_ending: bool,
    pub called_done: bool,
    pub calls: Vec<HttpCallTask>,
    /// Whether the stream waits for its calls only: when all have ended, it waits for its next callback.
    pub waits_for_calls: bool,
    /// Responses to calls that came between callbacks.
    pub responses: Vec<(u32, Option<PluginHttpResponse>)>,
    /// Notified when a paused stream may go on.
    pub wake: Arc<Notify>,
}

/// A side of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamSide {
    Request = 0,
    Response = 1,
}

/// A part of a body that the plugin was given and has not passed on.
#[derive(Default)]
pub(crate) struct HeldBody {
    /// As the plugin edited it.
    pub content: Bytes,
    /// As it was given.
    pub given: Vec<Bytes>,
}

/// A call that waits for its response. It is cancelled with its stream.
pub(crate) struct HttpCallTask {
    pub id: u32,
    pub task: AbortHandle,
}

/// The timer of the root context.
#[derive(Default)]
pub(crate) struct TickTimer {
    pub period: Option<Duration>,
    pub task: Option<AbortHandle>,
}

/// A queue that the plugin listens to.
pub(crate) struct QueueListener {
    pub id: u32,
    /// Has a permit for each new entry.
    pub ready: Arc<Semaphore>,
    pub task: Option<AbortHandle>,
}

/// Refuses growth beyond the limit of an instance, and beyond that of all instances together.
pub(crate) struct InstanceMemoryLimiter {
    pub bytes: usize,
    pub was_reached: bool,
    /// Whether the limit of all instances refused growth in the callback that runs.
    pub was_total_reached: bool,
    pub share: MemoryShare,
}

impl GuestState {
    pub fn new(
        plugin: Arc<SharedInstanceResources>,
        instance: Weak<dyn BackgroundCallRunner>,
        share: MemoryShare,
    ) -> Self {
        let memory_limit = InstanceMemoryLimiter {
            bytes: plugin.settings.limits.memory,
            was_reached: false,
            was_total_reached: false,
            share,
        };
        Self {
            plugin,
            instance,
            memory: None,
            allocator: None,
            ticks_left: 0,
            memory_limit,
            current: ROOT_CONTEXT,
            streams: BTreeMap::new(),
            call_response: None,
            responding_to: ROOT_CONTEXT,
            next_call: 1,
            root_calls: Vec::new(),
            tick: TickTimer::default(),
            queues: Vec::new(),
            finished: Vec::new(),
            exit_code: None,
            output: Default::default(),
        }
    }

    /// The stream that host functions act on; `None` for the root context.
    pub fn stream(&self) -> Option<&StreamState> {
        self.streams.get(&self.current).map(|stream| &**stream)
    }

    /// As [`Self::stream`].
    pub fn stream_mut(&mut self) -> Option<&mut StreamState> {
        self.streams
            .get_mut(&self.current)
            .map(|stream| &mut **stream)
    }

    /// The data of the exchange, if the current context has it now.
    pub fn exchange(&self) -> Option<&LentExchange> {
        self.stream()?.exchange.as_ref()
    }

    pub fn map(&self, kind: HeaderMapKind) -> Option<HeaderMapView<'_>> {
        let hidden = &self.plugin.settings.grants.hidden_headers;
        match kind {
            HeaderMapKind::CallHeaders => {
                let response = self.call_response.as_ref()?;
                Some(HeaderMapView::response(
                    response.status,
                    &response.headers,
                    &[],
                ))
            }
            HeaderMapKind::CallTrailers => Some(HeaderMapView::plain(
                &self.call_response.as_ref()?.trailers,
                &[],
            )),
            kind => HeaderMapView::new(self.exchange()?, kind, hidden),
        }
    }

    pub fn map_edit(&mut self, kind: HeaderMapKind) -> Option<HeaderMapEditor<'_>> {
        let stream = self.streams.get_mut(&self.current)?;
        let exchange = stream.exchange.as_mut()?;
        HeaderMapEditor::new(exchange, &mut stream.edits, kind, &self.plugin.settings)
    }

    /// The context that owns an HTTP call which is made now: it waits for the response, and its end cancels the call. The
    /// calls that a stream makes at its end are the root context's, since nothing else of the stream is left.
    pub fn call_owner(&self) -> u32 {
        let context = match self.current {
            ROOT_CONTEXT => self.responding_to,
            stream => stream,
        };
        match self.streams.get(&context) {
            Some(stream) if !stream.is_ending => context,
            _ => ROOT_CONTEXT,
        }
    }

    /// Whether something other than a stream's own callbacks may continue a paused stream.
    pub fn has_background_work(&self) -> bool {
        let mut calls = self.root_calls.iter();
        calls.any(|call| !call.task.is_finished())
            || self.tick.period.is_some()
            || !self.queues.is_empty()
    }
}

impl Drop for GuestState {
    fn drop(&mut self) {
        if let Some(task) = &self.tick.task {
            task.abort();
        }
        let queues = self.queues.iter().flat_map(|queue| &queue.task);
        queues.for_each(AbortHandle::abort);
        self.root_calls.iter().for_each(|call| call.task.abort());
    }
}

impl StreamState {
    pub fn new(wake: Arc<Notify>) -> Self {
        Self {
            exchange: None,
            edits: ExchangeUndoLog::default(),
            bodies: Default::default(),
            continued: [false; 2],
            reply: None,
            is_closed: false,
            is_ending: false,
            called_done: false,
            calls: Vec::new(),
            waits_for_calls: false,
            responses: Vec::new(),
            wake,
        }
    }

    pub fn body(&mut self, side: StreamSide) -> &mut HeldBody {
        &mut self.bodies[side as usize]
    }

    /// Takes back the exchange as it was before the edits since the stream last went on.
    pub fn take_unedited(&mut self) -> LentExchange {
        let mut exchange = self.exchange.take().unwrap_or_default();
        self.edits.undo(&mut exchange);
        exchange
    }
}

impl HeldBody {
    pub fn push(&mut self, piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        if self.content.is_empty() {
            self.content = piece.clone();
        } else {
            // Appends in place unless `given` has the same bytes.
            let held = std::mem::take(&mut self.content);
            let mut joined = bytes::BytesMut::from(held);
            joined.extend_from_slice(&piece);
            self.content = joined.freeze();
        }
        self.given.push(piece);
    }

    /// What goes on, as the plugin left it.
    pub fn pass(&mut self) -> Bytes {
        self.given.clear();
        std::mem::take(&mut self.content)
    }

    /// What the plugin was given.
    pub fn take_given(&mut self) -> Bytes {
        self.content = Bytes::new();
        let mut given = std::mem::take(&mut self.given);
        match given.len() {
            0 => Bytes::new(),
            1 => given.swap_remove(0),
            _ => given.concat().into(),
        }
    }
}

impl Drop for StreamState {
    fn drop(&mut self) {
        self.calls.iter().for_each(|call| call.task.abort());
    }
}

impl ResourceLimiter for InstanceMemoryLimiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired > self.bytes {
            self.was_reached = true;
            return Ok(false);
        }
        let fits = self.share.grow(desired.saturating_sub(current));
        self.was_total_reached |= !fits;
        Ok(fits)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.share.undo_growth();
        Ok(())
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS_MAX)
    }
}
