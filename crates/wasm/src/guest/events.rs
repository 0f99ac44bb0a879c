//! What happens to a stream within an instance: callbacks in their order, and what follows from their results.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Notify;

use super::callbacks::CONTINUE;
use super::event_outcome::{StreamCallbackDecision, StreamCallbackOutcome};
use super::{Guest, length};
use crate::callback::PluginCallback;
use crate::error::PluginFailure;
use crate::exchange::LentExchange;
use crate::guest_state::{HeaderMapKind, HeldBody, ROOT_CONTEXT, StreamSide, StreamState};
use crate::host_services::PluginHttpResponse;

/// The actions of the ABI's relatives that hold back everything until the plugin continues.
const STOP_ALL: [u32; 2] = [3, 4];
/// As [`CONTINUE`], of headers.
const CONTINUE_AND_END: u32 = 2;

/// A callback of a stream.
#[derive(Clone, Debug)]
pub(crate) struct StreamCallback {
    pub callback: PluginCallback,
    /// A piece of a body, or an event.
    pub piece: Bytes,
    pub end_of_stream: bool,
}

impl Guest {
    /// Runs a callback of a stream, which is created if this is its first.
    pub async fn on_event(
        &mut self,
        context: u32,
        wake: &Arc<Notify>,
        exchange: LentExchange,
        event: StreamCallback,
    ) -> StreamCallbackOutcome {
        let result = self.run_event(context, wake, exchange, event).await;
        match result {
            Err(failure) => self.surrender(context, failure),
            Ok(StreamCallbackDecision::Wait) => {
                StreamCallbackOutcome::from_reaction(StreamCallbackDecision::Wait)
            }
            Ok(reaction) => {
                let stream = self.state_mut().streams.get_mut(&context);
                StreamCallbackOutcome {
                    exchange: stream.map(|stream| stream.take_exchange(&reaction)),
                    ..StreamCallbackOutcome::from_reaction(reaction)
                }
            }
        }
    }

    /// What a stream gets back that has no more callbacks.
    pub fn surrender(&mut self, context: u32, failure: PluginFailure) -> StreamCallbackOutcome {
        let mut outcome = StreamCallbackOutcome {
            exchange: None,
            result: Err(failure),
            held: Default::default(),
        };
        if let Some(stream) = self.state_mut().streams.get_mut(&context) {
            outcome.exchange = stream.exchange.is_some().then(|| stream.take_unedited());
            outcome.held = stream.bodies.each_mut().map(HeldBody::take_given);
        }
        outcome
    }

    /// As [`Self::surrender`], of a stream whose next callback cannot run.
    pub fn surrender_event(
        &mut self,
        context: u32,
        exchange: LentExchange,
        event: StreamCallback,
        failure: PluginFailure,
    ) -> StreamCallbackOutcome {
        let side = event.side();
        let Some(stream) = self.state_mut().streams.get_mut(&context) else {
            let mut held: [Bytes; 2] = Default::default();
            held[side as usize] = event.piece;
            return StreamCallbackOutcome {
                exchange: Some(exchange),
                result: Err(failure),
                held,
            };
        };
        stream.exchange = Some(exchange);
        stream.body(side).push(event.piece);
        self.surrender(context, failure)
    }

    /// Keeps the exchange of a paused stream, so that whatever runs in the instance can change and continue it.
    pub async fn park(
        &mut self,
        context: u32,
        exchange: LentExchange,
    ) -> Result<(), PluginFailure> {
        if let Some(stream) = self.state_mut().streams.get_mut(&context) {
            stream.exchange = Some(exchange);
            stream.waits_for_calls = false;
        }
        self.deliver_responses(context).await
    }

    /// What a paused stream does now; `None` if it still waits.
    pub fn resumption(&mut self, context: u32, side: StreamSide) -> Option<StreamCallbackOutcome> {
        let stream = self.state_mut().streams.get_mut(&context)?;
        let reaction = match stream.decision(side) {
            Some(reaction) => reaction,
            None if stream.waits_for_calls && stream.calls.is_empty() => {
                StreamCallbackDecision::Hold
            }
            None => return None,
        };
        Some(StreamCallbackOutcome {
            exchange: Some(stream.take_exchange(&reaction)),
            ..StreamCallbackOutcome::from_reaction(reaction)
        })
    }

    /// The response to a call, or that there is none. A stream that runs no callback and does not wait gets it before
    /// its next callback.
    pub async fn on_call_response(
        &mut self,
        context: u32,
        id: u32,
        response: Option<PluginHttpResponse>,
    ) -> Result<(), PluginFailure> {
        let state = self.state_mut();
        if context == ROOT_CONTEXT {
            state.root_calls.retain(|call| call.id != id);
        } else {
            let Some(stream) = state.streams.get_mut(&context) else {
                return Ok(());
            };
            if stream.exchange.is_none() && !stream.is_ending {
                stream.responses.push((id, response));
                return Ok(());
            }
            stream.calls.retain(|call| call.id != id);
        }
        self.respond(context, id, response).await?;
        if let Some(stream) = self.state().streams.get(&context) {
            stream.wake.notify_one();
        }
        Ok(())
    }

    /// Ends a stream. One without a callback so far is created first; `new` wakes it.
    pub async fn on_end(
        &mut self,
        context: u32,
        new: Option<Arc<Notify>>,
        exchange: LentExchange,
    ) -> (LentExchange, Result<(), PluginFailure>) {
        if let Some(wake) = new {
            let stream = Box::new(StreamState::new(wake));
            self.state_mut().streams.insert(context, stream);
            if let Err(failure) = self.on_context_create(context, ROOT_CONTEXT).await {
                self.state_mut().streams.remove(&context);
                return (exchange, Err(failure));
            }
        }
        let Some(stream) = self.state_mut().streams.get_mut(&context) else {
            return (exchange, Ok(()));
        };
        stream.exchange = Some(exchange);
        stream.is_ending = true;
        let result = self.end(context).await;
        let stream = self.state_mut().streams.get_mut(&context);
        let exchange = stream.and_then(|stream| stream.exchange.take());
        if !matches!(result, Ok(false)) {
            self.state_mut().streams.remove(&context);
        }
        (exchange.unwrap_or_default(), result.map(|_| ()))
    }

    /// Deletes a stream although the plugin has not called `proxy_done`.
    pub async fn forget(&mut self, context: u32) -> Result<(), PluginFailure> {
        if self.state_mut().streams.remove(&context).is_none() {
            return Ok(());
        }
        self.on_delete(context).await
    }

    /// Deletes the streams for which the plugin called `proxy_done`.
    pub async fn sweep(&mut self) -> Result<(), PluginFailure> {
        while let Some(context) = self.state_mut().finished.pop() {
            if self.state().streams.contains_key(&context) {
                self.on_log(context).await?;
                self.forget(context).await?;
            }
        }
        Ok(())
    }

    async fn run_event(
        &mut self,
        context: u32,
        wake: &Arc<Notify>,
        exchange: LentExchange,
        event: StreamCallback,
    ) -> Result<StreamCallbackDecision, PluginFailure> {
        let side = event.side();
        let limit = self.state().plugin.settings.limits.body;
        let is_new = !self.state().streams.contains_key(&context);
        let streams = &mut self.state_mut().streams;
        let stream = streams
            .entry(context)
            .or_insert_with(|| Box::new(StreamState::new(Arc::clone(wake))));
        stream.exchange = Some(exchange);
        let body = stream.body(side);
        body.push(event.piece.clone());
        if body.content.len() > limit {
            return Err(PluginFailure::Body { limit });
        }
        if is_new {
            self.on_context_create(context, ROOT_CONTEXT).await?;
        }
        self.deliver_responses(context).await?;
        if let Some(stream) = self.state_mut().streams.get_mut(&context) {
            stream.continued = [false; 2];
        }
        let action = self.callback(context, &event).await?;
        Ok(self.reaction(context, &event, action))
    }

    /// The responses that came between callbacks.
    async fn deliver_responses(&mut self, context: u32) -> Result<(), PluginFailure> {
        let stream = self.state_mut().streams.get_mut(&context);
        let responses = stream.map(|stream| std::mem::take(&mut stream.responses));
        for (id, response) in responses.unwrap_or_default() {
            if let Some(stream) = self.state_mut().streams.get_mut(&context) {
                stream.calls.retain(|call| call.id != id);
            }
            self.respond(context, id, response).await?;
        }
        Ok(())
    }

    async fn callback(
        &mut self,
        context: u32,
        event: &StreamCallback,
    ) -> Result<u32, PluginFailure> {
        let callback = event.callback;
        match callback {
            PluginCallback::RequestHeaders | PluginCallback::ResponseHeaders => {
                let headers = self.map_length(context, event.map());
                self.on_headers(callback, context, headers, event.end_of_stream)
                    .await
            }
            PluginCallback::RequestTrailers | PluginCallback::ResponseTrailers => {
                let trailers = self.map_length(context, event.map());
                self.on_trailers(callback, context, trailers).await
            }
            _ => {
                let side = event.side() as usize;
                let stream = self.state().streams.get(&context);
                let body = stream.map_or(0, |stream| stream.bodies[side].content.len());
                self.on_body(callback, context, length(body), event.end_of_stream)
                    .await
            }
        }
    }

    fn map_length(&mut self, context: u32, kind: HeaderMapKind) -> u32 {
        let state = self.state_mut();
        state.current = context;
        state.map(kind).map_or(0, |map| length(map.len()))
    }

    fn reaction(
        &mut self,
        context: u32,
        event: &StreamCallback,
        action: u32,
    ) -> StreamCallbackDecision {
        let side = event.side();
        let has_background_work = self.state().has_background_work();
        let Some(stream) = self.state_mut().streams.get_mut(&context) else {
            return StreamCallbackDecision::Close;
        };
        let is_head = event.is_headers();
        if action == CONTINUE || (is_head && action == CONTINUE_AND_END) {
            stream.continued[side as usize] = true;
        }
        if let Some(reaction) = stream.decision(side) {
            return reaction;
        }
        // What else than its next callback can continue the stream?
        let waits =
            event.ends_side() || is_head && (STOP_ALL.contains(&action) || has_background_work);
        stream.waits_for_calls = !waits;
        if waits || !stream.calls.is_empty() {
            StreamCallbackDecision::Wait
        } else {
            StreamCallbackDecision::Hold
        }
    }

    async fn respond(
        &mut self,
        context: u32,
        id: u32,
        response: Option<PluginHttpResponse>,
    ) -> Result<(), PluginFailure> {
        let sizes = response.as_ref().map_or([0; 3], |response| {
            let trailers = response.trailers.len();
            // The status is one of the headers.
            [response.headers.len() + 1, response.body.len(), trailers].map(length)
        });
        self.state_mut().call_response = response;
        self.state_mut().responding_to = context;
        let result = self.on_http_call_response(id, sizes).await;
        self.state_mut().call_response = None;
        self.state_mut().responding_to = ROOT_CONTEXT;
        result
    }

    /// Whether the stream can be forgotten: false if the plugin will call `proxy_done` later.
    async fn end(&mut self, context: u32) -> Result<bool, PluginFailure> {
        if !self.on_done(context).await? {
            let stream = self.state().streams.get(&context);
            if !stream.is_some_and(|stream| stream.called_done) {
                return Ok(false);
            }
        }
        self.on_log(context).await?;
        self.on_delete(context).await?;
        Ok(true)
    }
}

impl StreamCallback {
    pub fn side(&self) -> StreamSide {
        match self.callback {
            PluginCallback::RequestHeaders
            | PluginCallback::RequestBody
            | PluginCallback::RequestTrailers => StreamSide::Request,
            _ => StreamSide::Response,
        }
    }

    fn map(&self) -> HeaderMapKind {
        match self.callback {
            PluginCallback::RequestHeaders => HeaderMapKind::RequestHeaders,
            PluginCallback::RequestTrailers => HeaderMapKind::RequestTrailers,
            PluginCallback::ResponseTrailers => HeaderMapKind::ResponseTrailers,
            _ => HeaderMapKind::ResponseHeaders,
        }
    }

    fn is_headers(&self) -> bool {
        matches!(
            self.callback,
            PluginCallback::RequestHeaders | PluginCallback::ResponseHeaders
        )
    }

    /// Whether nothing of this side of the stream follows.
    fn ends_side(&self) -> bool {
        let are_trailers = matches!(
            self.callback,
            PluginCallback::RequestTrailers | PluginCallback::ResponseTrailers
        );
        self.end_of_stream || are_trailers
    }
}
