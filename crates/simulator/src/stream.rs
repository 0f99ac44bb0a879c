//! Sends a stream of events at a given pace, until it ends, a directive interrupts it, or the client leaves.

use super::api_error::ApiError;
use super::clock::monotonic_nanos;
use super::dialect::ApiDialect;
use super::directive::{Directives, StreamInterruption, StreamInterruptionKind};
use super::request_log::OpenExchangeGuard;
use super::request_record::ResponseEnd;
use crate::http_response::BodyChunk;
use bytes::Bytes;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// The number of events that may wait for a slow client before the stream waits.
const CAPACITY: usize = 8;

/// The sending side of a stream.
pub struct EventSender {
    sender: mpsc::Sender<BodyChunk>,
    open_request: OpenExchangeGuard,
    plan: StreamPlan,
    events: u64,
    bytes: u64,
    contents: u64,
    due: Option<Instant>,
}

/// How a stream runs.
pub struct StreamPlan {
    pub dialect: ApiDialect,
    pub request_id: String,
    pub pace: Duration,
    pub interruption: Option<StreamInterruption>,
    pub end_after_bytes: Option<u64>,
    pub end_after_events: Option<u64>,
    pub stamp: bool,
    /// The content of an error event.
    pub error: ApiError,
}

/// A piece of content.
pub struct ContentDelta<'t> {
    pub text: &'t str,
    /// The index of its event in the stream, from 0.
    pub sequence: u64,
}

impl EventSender {
    pub fn new(
        open_request: OpenExchangeGuard,
        plan: StreamPlan,
    ) -> (Self, mpsc::Receiver<BodyChunk>) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let stream = Self {
            sender,
            open_request,
            plan,
            events: 0,
            bytes: 0,
            contents: 0,
            due: None,
        };
        (stream, receiver)
    }

    /// The index of the next event in the stream, from 0.
    pub fn sequence(&self) -> u64 {
        self.events
    }

    /// Sends an event without content.
    pub async fn event(&mut self, mut event: Bytes) -> Result<(), ResponseEnd> {
        if self.plan.end_after_events == Some(self.events) {
            return Err(ResponseEnd::Complete);
        }
        if self.events == 0 {
            self.open_request.first_byte();
        }
        self.events += 1;
        let room = self.plan.end_after_bytes.map(|most| most - self.bytes);
        let is_cut = room.is_some_and(|room| room <= event.len() as u64);
        if let Some(room) = room {
            event.truncate(usize::try_from(room).unwrap_or(usize::MAX));
        }
        self.bytes += event.len() as u64;
        if !event.is_empty() {
            let sent = self.sender.send(BodyChunk::Data(event)).await;
            sent.map_err(|_| ResponseEnd::ClientLeft)?;
        }
        match is_cut {
            true => Err(ResponseEnd::Complete),
            false => Ok(()),
        }
    }

    /// Sends a piece of content, encoded by `event`, when it is due.
    pub async fn content(
        &mut self,
        text: &str,
        event: impl FnOnce(ContentDelta<'_>) -> Bytes,
    ) -> Result<(), ResponseEnd> {
        if let Some(interruption) = self.plan.interruption
            && interruption.after == self.contents
        {
            return Err(self.interrupt(interruption.by).await);
        }
        self.wait_until_due().await?;
        self.contents += 1;
        let sequence = self.events;
        let event = if self.plan.stamp {
            let text = &format!("t={};{text}", monotonic_nanos());
            event(ContentDelta { text, sequence })
        } else {
            event(ContentDelta { text, sequence })
        };
        self.event(event).await
    }

    /// Must be called after all content: a later interruption happens now.
    pub async fn end_of_content(&mut self) -> Result<(), ResponseEnd> {
        match self.plan.interruption {
            Some(interruption) => Err(self.interrupt(interruption.by).await),
            None => Ok(()),
        }
    }

    /// Sends the error event, which ends the stream.
    pub async fn error_event(&mut self) -> ResponseEnd {
        let StreamPlan {
            dialect,
            request_id,
            ..
        } = &self.plan;
        let event = self.plan.error.event(*dialect, request_id, self.events);
        match self.event(event).await {
            Ok(()) => ResponseEnd::Complete,
            Err(ending) => ending,
        }
    }

    /// Closes the connection without a clean end.
    pub async fn cut(&mut self) -> ResponseEnd {
        match self.sender.send(BodyChunk::Cut).await {
            Ok(()) => ResponseEnd::Cut,
            Err(_) => ResponseEnd::ClientLeft,
        }
    }

    /// Sends nothing more, and waits until the client leaves.
    pub async fn stall(&mut self) -> ResponseEnd {
        self.sender.closed().await;
        ResponseEnd::ClientLeft
    }

    /// Waits until the client has received everything, and records how the stream ended.
    pub async fn finish(self, ending: ResponseEnd) {
        let taken = self.sender.reserve_many(CAPACITY);
        let ending = match ending {
            ResponseEnd::Complete if taken.await.is_err() => ResponseEnd::ClientLeft,
            other => other,
        };
        self.open_request.end(ending);
    }

    async fn interrupt(&mut self, by: StreamInterruptionKind) -> ResponseEnd {
        match by {
            StreamInterruptionKind::Cut => self.cut().await,
            StreamInterruptionKind::ErrorEvent => self.error_event().await,
            StreamInterruptionKind::Stall => self.stall().await,
        }
    }

    /// Waits until the event is due. Due times are absolute, so that late wake-ups do not add up.
    async fn wait_until_due(&mut self) -> Result<(), ResponseEnd> {
        if self.plan.pace.is_zero() {
            return Ok(());
        }
        let now = Instant::now();
        let due = self
            .due
            .map_or(now, |last| (last + self.plan.pace).max(now));
        self.due = Some(due);
        tokio::select! {
            () = sleep_until(due) => Ok(()),
            () = self.sender.closed() => Err(ResponseEnd::ClientLeft),
        }
    }
}

impl StreamPlan {
    /// The plan that `directives` ask for.
    pub fn new(
        dialect: ApiDialect,
        request_id: &str,
        pace: Duration,
        directives: &Directives,
        error: ApiError,
    ) -> Self {
        Self {
            dialect,
            request_id: request_id.to_owned(),
            pace: directives.pace.unwrap_or(pace),
            interruption: directives.interruption,
            end_after_bytes: directives.end_after_bytes,
            end_after_events: directives.end_after_events,
            stamp: directives.stamp,
            error,
        }
    }
}
