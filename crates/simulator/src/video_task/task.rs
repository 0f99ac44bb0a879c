//! A video task: its state according to the clock, and when each state began.

use super::plan::TaskPlan;
use crate::clock;
use crate::json::{JsonText, object};
use crate::task_directives::TaskEnd;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// A video task as the provider stores it.
pub struct VideoTask {
    pub id: String,
    /// `a`, `b`, or the name of a vendor.
    pub family: &'static str,
    pub account: String,
    pub model: String,
    /// The members of the request that responses repeat, without media.
    pub echoed: Value,
    pub plan: TaskPlan,
    /// How often the task was queried.
    pub queries: u64,
    made: Instant,
    /// Unix milliseconds.
    made_ms: u64,
    /// The age of the task when it was cancelled.
    cancelled: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VideoTaskState {
    Queued,
    Running,
    Ended(TaskEnd),
}

impl VideoTask {
    /// A task created now.
    pub fn new(
        id: String,
        family: &'static str,
        echoed: Value,
        plan: TaskPlan,
        account: &str,
    ) -> Self {
        Self {
            id,
            family,
            account: account.to_owned(),
            model: crate::model_request::text_at(&echoed, "model").to_owned(),
            echoed,
            plan,
            queries: 0,
            made: Instant::now(),
            made_ms: clock::unix_millis(),
            cancelled: None,
        }
    }

    pub fn state(&self) -> VideoTaskState {
        let age = self.made.elapsed();
        if self.cancelled.is_some() {
            VideoTaskState::Ended(TaskEnd::Cancelled)
        } else if age >= self.lifetime() {
            VideoTaskState::Ended(if self.expires() {
                TaskEnd::Expired
            } else {
                self.plan.end
            })
        } else if age >= self.plan.queue {
            VideoTaskState::Running
        } else {
            VideoTaskState::Queued
        }
    }

    /// Cancels the task if it is queued.
    ///
    /// # Errors
    /// The state in which it cannot be cancelled.
    pub fn cancel(&mut self) -> Result<(), VideoTaskState> {
        match self.state() {
            VideoTaskState::Queued => {
                self.cancelled = Some(self.made.elapsed());
                Ok(())
            }
            state => Err(state),
        }
    }

    /// Cancels the task if it has not ended.
    ///
    /// # Errors
    /// The end that came first.
    pub fn cancel_unless_ended(&mut self) -> Result<(), VideoTaskState> {
        match self.state() {
            VideoTaskState::Queued | VideoTaskState::Running => {
                self.cancelled = Some(self.made.elapsed());
                Ok(())
            }
            ended @ VideoTaskState::Ended(_) => Err(ended),
        }
    }

    /// The time of creation in Unix milliseconds, like all times below.
    pub fn made_ms(&self) -> u64 {
        self.made_ms
    }

    /// When it began to run, if it did.
    pub fn started_ms(&self) -> Option<u64> {
        let ran = self.cancelled.is_none()
            && self.plan.queue < self.lifetime()
            && self.state() != VideoTaskState::Queued;
        ran.then(|| self.at(self.plan.queue))
    }

    /// When it ended, if it has.
    pub fn ended_ms(&self) -> Option<u64> {
        match self.state() {
            VideoTaskState::Ended(_) => {
                Some(self.at(self.cancelled.unwrap_or_else(|| self.lifetime())))
            }
            VideoTaskState::Queued | VideoTaskState::Running => None,
        }
    }

    /// When its present state began.
    pub fn changed_ms(&self) -> u64 {
        let ended = self.ended_ms().or_else(|| self.started_ms());
        ended.unwrap_or(self.made_ms)
    }

    /// The task as a JSON record.
    pub fn json(&self) -> JsonText {
        let state = match self.state() {
            VideoTaskState::Queued => "queued",
            VideoTaskState::Running => "running",
            VideoTaskState::Ended(TaskEnd::Succeeded) => "succeeded",
            VideoTaskState::Ended(TaskEnd::Failed) => "failed",
            VideoTaskState::Ended(TaskEnd::Filtered) => "filtered",
            VideoTaskState::Ended(TaskEnd::Expired) => "expired",
            VideoTaskState::Ended(TaskEnd::Cancelled) => "cancelled",
            VideoTaskState::Ended(TaskEnd::Unknown) => "unknown",
        };
        object! {
            "id": self.id, "family": self.family, "account": self.account, "model": self.model,
            "state": state, "queries": self.queries, "made_ms": self.made_ms,
            "ended_ms": self.ended_ms(),
        }
    }

    /// The age at which it ends if it is not cancelled.
    fn lifetime(&self) -> Duration {
        let TaskPlan {
            queue,
            run,
            expires_after,
            ..
        } = self.plan;
        queue.saturating_add(run).min(expires_after)
    }

    fn expires(&self) -> bool {
        self.lifetime() < self.plan.queue.saturating_add(self.plan.run)
    }

    fn at(&self, age: Duration) -> u64 {
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        self.made_ms.saturating_add(age)
    }
}
