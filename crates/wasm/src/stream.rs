//! One HTTP exchange within a plugin.

use std::fmt;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::callback::PluginCallback;
use crate::error::PluginFailure;
use crate::exchange::{LentExchange, PluginBodyAction, PluginStreamAction};
use crate::guest::{StreamCallback, StreamCallbackDecision, StreamCallbackOutcome};
use crate::guest_state::StreamSide;
use crate::instance::{GuestGuard, StreamPlace, UninterruptedCall};
use crate::instance_pool::InstancePool;

/// One HTTP exchange within a plugin.
///
/// If the plugin pauses the stream and something else than its next callback can continue it (the response to an HTTP
/// call; or the side of the stream has ended, so that it has no next callback), the method returns when the plugin
/// continues, or fails after [`crate::PluginLimits::pause`]. Headers also wait for a timer or a queue of the plugin.
/// Otherwise a paused stream is [`PluginStreamAction::Hold`], and its next callback decides.
///
/// If a callback fails, the plugin's edits since the stream last went on are undone, so that a program that goes on
/// without the plugin has the exchange as it was; [`Self::take_held`] has the body that the plugin did not pass on.
pub struct PluginStream {
    /// Gone with the plugin, which does not wait for its streams.
    pool: Weak<InstancePool>,
    /// `None` when the stream has ended.
    place: Option<StreamPlace>,
    wake: Arc<Notify>,
    /// Whether the plugin may know the stream.
    has_begun: bool,
    has_failed: bool,
    held_side: StreamSide,
    held: [Bytes; 2],
}

impl PluginStream {
    pub(crate) fn new(pool: Weak<InstancePool>, place: StreamPlace) -> Self {
        Self {
            pool,
            place: Some(place),
            wake: Arc::default(),
            has_begun: false,
            has_failed: false,
            held_side: StreamSide::Request,
            held: Default::default(),
        }
    }

    /// `proxy_on_request_headers`. `end_of_stream` if there is no body.
    ///
    /// # Errors
    /// The plugin failed; the stream gets no more callbacks.
    pub async fn on_request_headers(
        &mut self,
        exchange: &mut LentExchange,
        end_of_stream: bool,
    ) -> Result<PluginStreamAction, PluginFailure> {
        self.head(exchange, PluginCallback::RequestHeaders, end_of_stream)
            .await
    }

    /// `proxy_on_request_body` with a piece of the body, or the whole.
    ///
    /// # Errors
    /// The plugin failed, or more than [`crate::PluginLimits::body`] is held.
    pub async fn on_request_body(
        &mut self,
        exchange: &mut LentExchange,
        piece: Bytes,
        end_of_stream: bool,
    ) -> Result<PluginBodyAction, PluginFailure> {
        let callback = PluginCallback::RequestBody;
        self.body(exchange, callback, piece, end_of_stream).await
    }

    /// `proxy_on_request_trailers`, of [`LentExchange::request_trailers`].
    ///
    /// # Errors
    /// As [`Self::on_request_headers`].
    pub async fn on_request_trailers(
        &mut self,
        exchange: &mut LentExchange,
    ) -> Result<PluginStreamAction, PluginFailure> {
        self.head(exchange, PluginCallback::RequestTrailers, true)
            .await
    }

    /// `proxy_on_response_headers`, of [`LentExchange::response`].
    ///
    /// # Errors
    /// As [`Self::on_request_headers`].
    pub async fn on_response_headers(
        &mut self,
        exchange: &mut LentExchange,
        end_of_stream: bool,
    ) -> Result<PluginStreamAction, PluginFailure> {
        self.head(exchange, PluginCallback::ResponseHeaders, end_of_stream)
            .await
    }

    /// `proxy_on_response_body` with a piece of the body, or the whole.
    ///
    /// # Errors
    /// As [`Self::on_request_body`].
    pub async fn on_response_body(
        &mut self,
        exchange: &mut LentExchange,
        piece: Bytes,
        end_of_stream: bool,
    ) -> Result<PluginBodyAction, PluginFailure> {
        let callback = PluginCallback::ResponseBody;
        self.body(exchange, callback, piece, end_of_stream).await
    }

    /// `proxy_on_response_body` with one whole event of a stream, under the time limit of events. At the end of the
    /// stream call [`Self::on_response_body`] without bytes.
    ///
    /// # Errors
    /// As [`Self::on_request_body`].
    pub async fn on_response_event(
        &mut self,
        exchange: &mut LentExchange,
        event: Bytes,
    ) -> Result<PluginBodyAction, PluginFailure> {
        let callback = PluginCallback::ResponseEvent;
        self.body(exchange, callback, event, false).await
    }

    /// `proxy_on_response_trailers`, of [`LentExchange::response_trailers`].
    ///
    /// # Errors
    /// As [`Self::on_request_headers`].
    pub async fn on_response_trailers(
        &mut self,
        exchange: &mut LentExchange,
    ) -> Result<PluginStreamAction, PluginFailure> {
        self.head(exchange, PluginCallback::ResponseTrailers, true)
            .await
    }

    /// Waits until the plugin continues a stream that is on [`PluginStreamAction::Hold`], if it gets no other callback. Bytes are
    /// those of the body that was held.
    ///
    /// # Errors
    /// The plugin failed, or did not continue within [`crate::PluginLimits::pause`].
    pub async fn resumed(
        &mut self,
        exchange: &mut LentExchange,
    ) -> Result<PluginBodyAction, PluginFailure> {
        let place = self.place()?;
        if let Some(guard) = place.instance.lock().await
            && guard.is_usable()
            && guard.knows(place.context)
        {
            let parking = guard.run_park(place.context, std::mem::take(exchange));
            UninterruptedCall::new(parking).await;
        }
        let side = self.held_side;
        let outcome = self.wait(side).await;
        self.settle(exchange, outcome, side).map(body_step)
    }

    /// The bytes of the request's and of the response's body that the plugin was given and had not passed on when it
    /// failed, unchanged.
    pub fn take_held(&mut self) -> (Bytes, Bytes) {
        let [request, response] = std::mem::take(&mut self.held);
        (request, response)
    }

    /// `proxy_on_done`, `proxy_on_log`, `proxy_on_delete`, also for a stream without a callback so far. A stream that is
    /// dropped without this gets them in the background, without the exchange, if it had a callback.
    ///
    /// # Errors
    /// The plugin failed.
    pub async fn finish(mut self, exchange: &mut LentExchange) -> Result<(), PluginFailure> {
        let Some(place) = &self.place else {
            return Ok(());
        };
        let Some(guard) = place.instance.lock().await else {
            return Ok(());
        };
        let (true, Some(place)) = (guard.is_usable(), self.place.take()) else {
            return Ok(());
        };
        let new = (!self.has_begun).then(|| Arc::clone(&self.wake));
        let end = guard.run_end(place, new, std::mem::take(exchange));
        let (returned, result) = UninterruptedCall::new(end).await;
        *exchange = returned;
        result
    }

    async fn head(
        &mut self,
        exchange: &mut LentExchange,
        callback: PluginCallback,
        end_of_stream: bool,
    ) -> Result<PluginStreamAction, PluginFailure> {
        let event = StreamCallback {
            callback,
            piece: Bytes::new(),
            end_of_stream,
        };
        Ok(match self.drive(exchange, event).await? {
            StreamCallbackDecision::Continue(_) => PluginStreamAction::Continue,
            StreamCallbackDecision::Hold | StreamCallbackDecision::Wait => PluginStreamAction::Hold,
            StreamCallbackDecision::Reply(reply) => PluginStreamAction::Reply(reply),
            StreamCallbackDecision::Close => PluginStreamAction::Close,
        })
    }

    async fn body(
        &mut self,
        exchange: &mut LentExchange,
        callback: PluginCallback,
        piece: Bytes,
        end_of_stream: bool,
    ) -> Result<PluginBodyAction, PluginFailure> {
        let event = StreamCallback {
            callback,
            piece,
            end_of_stream,
        };
        self.drive(exchange, event).await.map(body_step)
    }

    async fn drive(
        &mut self,
        exchange: &mut LentExchange,
        event: StreamCallback,
    ) -> Result<StreamCallbackDecision, PluginFailure> {
        let side = event.side();
        let guard = match self.lock().await {
            Ok(guard) => guard,
            Err(failure) => {
                if !self.has_failed {
                    self.has_failed = true;
                    self.held[side as usize] = event.piece;
                }
                return Err(failure);
            }
        };
        let context = self.place()?.context;
        let outcome = match guard {
            None => StreamCallbackOutcome::unknown(
                PluginFailure::InstanceLost,
                std::mem::take(exchange),
            ),
            Some(mut guard) if !guard.is_usable() => {
                guard.surrender_event(context, std::mem::take(exchange), event)
            }
            Some(guard) => {
                self.has_begun = true;
                let wake = Arc::clone(&self.wake);
                let lent = std::mem::take(exchange);
                UninterruptedCall::new(guard.run_event(context, wake, lent, event)).await
            }
        };
        let outcome = match outcome.result {
            Ok(StreamCallbackDecision::Wait) => self.wait(side).await,
            _ => outcome,
        };
        self.settle(exchange, outcome, side)
    }

    /// Waits for the instance. A stream without a callback so far moves to another one if its instance has failed.
    async fn lock(&mut self) -> Result<Option<GuestGuard>, PluginFailure> {
        loop {
            let guard = self.place()?.instance.lock().await;
            if self.has_begun || guard.as_ref().is_some_and(GuestGuard::is_usable) {
                return Ok(guard);
            }
            drop(guard);
            let pool = self.pool.upgrade().ok_or(PluginFailure::InstanceLost)?;
            self.place = Some(pool.place().await?);
        }
    }

    /// Waits until the plugin continues the stream, which the instance keeps the exchange of.
    async fn wait(&self, side: StreamSide) -> StreamCallbackOutcome {
        let lost = PluginFailure::InstanceLost;
        let Ok(place) = self.place() else {
            return StreamCallbackOutcome::unknown(lost, LentExchange::default());
        };
        let limit = place.instance.resources().settings.limits.pause;
        let deadline = Instant::now() + limit;
        let mut is_over = false;
        loop {
            let Some(mut guard) = place.instance.lock().await else {
                return StreamCallbackOutcome::unknown(lost, LentExchange::default());
            };
            if !guard.is_usable() {
                return guard.surrender(place.context, lost);
            }
            if let Some(outcome) = guard.resumption(place.context, side) {
                return outcome;
            }
            if is_over {
                let failure = PluginFailure::Pause { limit };
                return guard.surrender(place.context, failure);
            }
            drop(guard);
            // Whatever wakes it again and again, such as responses that lead to other calls, the limit holds.
            let woken = timeout_at(deadline, self.wake.notified()).await;
            is_over = woken.is_err() || Instant::now() >= deadline;
        }
    }

    fn settle(
        &mut self,
        exchange: &mut LentExchange,
        outcome: StreamCallbackOutcome,
        side: StreamSide,
    ) -> Result<StreamCallbackDecision, PluginFailure> {
        if let Some(returned) = outcome.exchange {
            *exchange = returned;
        }
        if outcome.result.is_err() {
            self.has_failed = true;
            self.held = outcome.held;
        }
        self.held_side = side;
        outcome.result
    }

    fn place(&self) -> Result<&StreamPlace, PluginFailure> {
        match &self.place {
            Some(place) if !self.has_failed => Ok(place),
            _ => Err(PluginFailure::InstanceLost),
        }
    }
}

impl Drop for PluginStream {
    fn drop(&mut self) {
        let Some(place) = self.place.take().filter(|_| self.has_begun) else {
            return;
        };
        if place.instance.is_poisoned() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else {
            place.instance.retire();
            return;
        };
        runtime.spawn(async move {
            if let Some(guard) = place.instance.lock().await
                && guard.is_usable()
            {
                let instance = Arc::clone(&place.instance);
                let (_, result) = guard.run_end(place, None, LentExchange::default()).await;
                instance.report(&result);
            }
        });
    }
}

impl fmt::Debug for PluginStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let context = self.place.as_ref().map(|place| place.context);
        f.debug_struct("PluginStream")
            .field("context", &context)
            .field("has_failed", &self.has_failed)
            .finish_non_exhaustive()
    }
}

fn body_step(reaction: StreamCallbackDecision) -> PluginBodyAction {
    match reaction {
        StreamCallbackDecision::Continue(bytes) => PluginBodyAction::Continue(bytes),
        StreamCallbackDecision::Hold | StreamCallbackDecision::Wait => PluginBodyAction::Hold,
        StreamCallbackDecision::Reply(reply) => PluginBodyAction::Reply(reply),
        StreamCallbackDecision::Close => PluginBodyAction::Close,
    }
}
