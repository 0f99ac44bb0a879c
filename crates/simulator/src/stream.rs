//! A stream of events sent at its pace, until it ends, is interrupted as directed, or the client leaves.

use super::clock::monotonic_nanos;
use super::dialect::Dialect;
use super::directive::{Directives, InterruptedBy, Interruption};
use super::ledger::Visit;
use super::record::Ending;
use super::refusal::Refusal;
use crate::answer::Chunk;
use bytes::Bytes;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// Events that may wait for a slow client before the stream waits too.
const CAPACITY: usize = 8;

/// The sending end of one stream.
pub struct EventStream {
    sender: mpsc::Sender<Chunk>,
    visit: Visit,
    course: Course,
    events: u64,
    bytes: u64,
    contents: u64,
    due: Option<Instant>,
}

/// How a stream is to run.
pub struct Course {
    pub dialect: Dialect,
    pub request_id: String,
    pub pace: Duration,
    pub interruption: Option<Interruption>,
    pub end_after_bytes: Option<u64>,
    pub end_after_events: Option<u64>,
    pub stamp: bool,
    /// What an error event tells.
    pub error: Refusal,
}

/// A piece of content as it goes out.
pub struct Delta<'t> {
    pub text: &'t str,
    /// The place of its event in the stream, from 0.
    pub sequence: u64,
}

impl EventStream {
    pub fn new(visit: Visit, course: Course) -> (Self, mpsc::Receiver<Chunk>) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let stream = Self {
            sender,
            visit,
            course,
            events: 0,
            bytes: 0,
            contents: 0,
            due: None,
        };
        (stream, receiver)
    }

    /// The place of the next event in the stream, from 0.
    pub fn sequence(&self) -> u64 {
        self.events
    }

    /// Sends an event that carries no content.
    pub async fn event(&mut self, mut event: Bytes) -> Result<(), Ending> {
        if self.course.end_after_events == Some(self.events) {
            return Err(Ending::Complete);
        }
        if self.events == 0 {
            self.visit.first_byte();
        }
        self.events += 1;
        let room = self.course.end_after_bytes.map(|most| most - self.bytes);
        let is_cut = room.is_some_and(|room| room <= event.len() as u64);
        if let Some(room) = room {
            event.truncate(usize::try_from(room).unwrap_or(usize::MAX));
        }
        self.bytes += event.len() as u64;
        if !event.is_empty() {
            let sent = self.sender.send(Chunk::Data(event)).await;
            sent.map_err(|_| Ending::ClientLeft)?;
        }
        match is_cut {
            true => Err(Ending::Complete),
            false => Ok(()),
        }
    }

    /// Sends the event that `event` makes of a piece of content, when its time has come.
    pub async fn content(
        &mut self,
        text: &str,
        event: impl FnOnce(Delta<'_>) -> Bytes,
    ) -> Result<(), Ending> {
        if let Some(interruption) = self.course.interruption
            && interruption.after == self.contents
        {
            return Err(self.interrupt(interruption.by).await);
        }
        self.wait_until_due().await?;
        self.contents += 1;
        let sequence = self.events;
        let event = if self.course.stamp {
            let text = &format!("t={};{text}", monotonic_nanos());
            event(Delta { text, sequence })
        } else {
            event(Delta { text, sequence })
        };
        self.event(event).await
    }

    /// Notes that all content is sent: an interruption that was to come later comes now.
    pub async fn end_of_content(&mut self) -> Result<(), Ending> {
        match self.course.interruption {
            Some(interruption) => Err(self.interrupt(interruption.by).await),
            None => Ok(()),
        }
    }

    /// Sends the error event, which ends the stream.
    pub async fn error_event(&mut self) -> Ending {
        let Course {
            dialect,
            request_id,
            ..
        } = &self.course;
        let event = self.course.error.event(*dialect, request_id, self.events);
        match self.event(event).await {
            Ok(()) => Ending::Complete,
            Err(ending) => ending,
        }
    }

    /// Cuts the connection.
    pub async fn cut(&mut self) -> Ending {
        match self.sender.send(Chunk::Cut).await {
            Ok(()) => Ending::Cut,
            Err(_) => Ending::ClientLeft,
        }
    }

    /// Sends nothing more until the client leaves.
    pub async fn stall(&mut self) -> Ending {
        self.sender.closed().await;
        Ending::ClientLeft
    }

    /// Waits until the client has taken what was sent, and notes how the stream ended.
    pub async fn finish(self, ending: Ending) {
        let taken = self.sender.reserve_many(CAPACITY);
        let ending = match ending {
            Ending::Complete if taken.await.is_err() => Ending::ClientLeft,
            other => other,
        };
        self.visit.end(ending);
    }

    async fn interrupt(&mut self, by: InterruptedBy) -> Ending {
        match by {
            InterruptedBy::Cut => self.cut().await,
            InterruptedBy::ErrorEvent => self.error_event().await,
            InterruptedBy::Stall => self.stall().await,
        }
    }

    /// Keeps the pace by the time each event was due, so that late wake-ups do not add up.
    async fn wait_until_due(&mut self) -> Result<(), Ending> {
        if self.course.pace.is_zero() {
            return Ok(());
        }
        let now = Instant::now();
        let due = self
            .due
            .map_or(now, |last| (last + self.course.pace).max(now));
        self.due = Some(due);
        tokio::select! {
            () = sleep_until(due) => Ok(()),
            () = self.sender.closed() => Err(Ending::ClientLeft),
        }
    }
}

impl Course {
    /// The course that `directives` ask for.
    pub fn new(
        dialect: Dialect,
        request_id: &str,
        pace: Duration,
        directives: &Directives,
        error: Refusal,
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
