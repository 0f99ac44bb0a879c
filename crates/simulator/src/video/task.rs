//! One video task: the state it is in by the clock, and when each state began.

use super::course::Course;
use super::directives::End;
use super::paths::Family;
use crate::clock;
use crate::json::{Json, object};
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// A video task as the provider keeps it.
pub struct Task {
    pub id: String,
    pub family: Family,
    pub account: String,
    pub model: String,
    /// What of the request is told again, without its media.
    pub asked: Value,
    pub course: Course,
    /// How often it was asked after.
    pub queries: u64,
    made: Instant,
    /// In milliseconds since the Unix epoch.
    made_ms: u64,
    /// Its age when it was cancelled.
    cancelled: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Queued,
    Running,
    Ended(End),
}

impl Task {
    /// A task made just now.
    pub fn new(id: String, family: Family, asked: Value, course: Course, account: &str) -> Self {
        Self {
            id,
            family,
            account: account.to_owned(),
            model: crate::ask::text_at(&asked, "model").to_owned(),
            asked,
            course,
            queries: 0,
            made: Instant::now(),
            made_ms: clock::unix_millis(),
            cancelled: None,
        }
    }

    pub fn state(&self) -> State {
        let age = self.made.elapsed();
        if self.cancelled.is_some() {
            State::Ended(End::Cancelled)
        } else if age >= self.lifetime() {
            State::Ended(if self.expires() {
                End::Expired
            } else {
                self.course.end
            })
        } else if age >= self.course.queue {
            State::Running
        } else {
            State::Queued
        }
    }

    /// Cancels it, if it is queued.
    ///
    /// # Errors
    /// The state in which it cannot be cancelled.
    pub fn cancel(&mut self) -> Result<(), State> {
        match self.state() {
            State::Queued => {
                self.cancelled = Some(self.made.elapsed());
                Ok(())
            }
            state => Err(state),
        }
    }

    /// Milliseconds since the Unix epoch, as all below.
    pub fn made_ms(&self) -> u64 {
        self.made_ms
    }

    /// When it began to run, if it did.
    pub fn started_ms(&self) -> Option<u64> {
        let ran = self.cancelled.is_none()
            && self.course.queue < self.lifetime()
            && self.state() != State::Queued;
        ran.then(|| self.at(self.course.queue))
    }

    /// When it ended, if it has.
    pub fn ended_ms(&self) -> Option<u64> {
        match self.state() {
            State::Ended(_) => Some(self.at(self.cancelled.unwrap_or_else(|| self.lifetime()))),
            State::Queued | State::Running => None,
        }
    }

    /// When its present state began.
    pub fn changed_ms(&self) -> u64 {
        let ended = self.ended_ms().or_else(|| self.started_ms());
        ended.unwrap_or(self.made_ms)
    }

    /// The task as a record.
    pub fn json(&self) -> Json {
        let state = match self.state() {
            State::Queued => "queued",
            State::Running => "running",
            State::Ended(End::Succeeded) => "succeeded",
            State::Ended(End::Failed) => "failed",
            State::Ended(End::Expired) => "expired",
            State::Ended(End::Cancelled) => "cancelled",
            State::Ended(End::Unknown) => "unknown",
        };
        let family = match self.family {
            Family::A => "a",
            Family::B => "b",
        };
        object! {
            "id": self.id, "family": family, "account": self.account, "model": self.model,
            "state": state, "queries": self.queries, "made_ms": self.made_ms,
            "ended_ms": self.ended_ms(),
        }
    }

    /// How old it is when it ends of itself.
    fn lifetime(&self) -> Duration {
        let Course {
            queue,
            run,
            expires_after,
            ..
        } = self.course;
        queue.saturating_add(run).min(expires_after)
    }

    fn expires(&self) -> bool {
        self.lifetime() < self.course.queue.saturating_add(self.course.run)
    }

    fn at(&self, age: Duration) -> u64 {
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        self.made_ms.saturating_add(age)
    }
}
