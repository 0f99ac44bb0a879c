//! The directives for video tasks: their duration, their end, and faults in responses about them.

use super::directive_value::{DirectiveError, RawDirective};
use std::time::Duration;

/// The status of a running task if `unknown_status` has no value.
const UNKNOWN_WORD: &str = "simmering";

/// The directives for a task, from the request that creates it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskDirectives {
    pub queue: Option<Duration>,
    pub run: Option<Duration>,
    pub ends: Option<TaskEnd>,
    pub unknown_status: Option<String>,
    pub slow_query: Option<Duration>,
    pub no_id: bool,
    pub no_url: bool,
    pub callbacks: Option<CallbackDisorder>,
}

/// What happens to the callbacks of a task on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackDisorder {
    /// None arrives.
    Lost,
    /// Each arrives twice.
    Doubled,
    /// The callback about the running task arrives after that about its end.
    Reordered,
}

/// How a task ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    Succeeded,
    Failed,
    /// Withheld by the provider's content policy.
    Filtered,
    Expired,
    Cancelled,
    /// A state for which the provider has no status.
    Unknown,
}

impl TaskDirectives {
    /// Parses one directive.
    ///
    /// # Errors
    /// [`DirectiveError::Unknown`] if the name is not one of a video directive.
    pub fn set(&mut self, value: RawDirective) -> Result<(), DirectiveError> {
        match value.name {
            "queue" => self.queue = Some(value.duration()?),
            "run" => self.run = Some(value.duration()?),
            "ends" => self.ends = Some(end(value)?),
            "unknown_status" if value.value.is_empty() => {
                self.unknown_status = Some(UNKNOWN_WORD.to_owned());
            }
            "unknown_status" => self.unknown_status = Some(value.word()?),
            "slow_query" => self.slow_query = Some(value.duration()?),
            "no_id" => self.no_id = value.flag()?,
            "no_url" => self.no_url = value.flag()?,
            "callback_fault" => self.callbacks = Some(disorder(value)?),
            unknown => return Err(DirectiveError::Unknown(unknown.to_owned())),
        }
        Ok(())
    }

    /// These directives, with `general` for those that are not set.
    pub fn or(self, general: Self) -> Self {
        Self {
            queue: self.queue.or(general.queue),
            run: self.run.or(general.run),
            ends: self.ends.or(general.ends),
            unknown_status: self.unknown_status.or(general.unknown_status),
            slow_query: self.slow_query.or(general.slow_query),
            no_id: self.no_id || general.no_id,
            no_url: self.no_url || general.no_url,
            callbacks: self.callbacks.or(general.callbacks),
        }
    }
}

fn end(value: RawDirective) -> Result<TaskEnd, DirectiveError> {
    Ok(match value.value {
        "succeeded" => TaskEnd::Succeeded,
        "failed" => TaskEnd::Failed,
        "filtered" => TaskEnd::Filtered,
        "expired" => TaskEnd::Expired,
        "cancelled" => TaskEnd::Cancelled,
        "unknown" => TaskEnd::Unknown,
        _ => return Err(value.refuse("succeeded, failed, filtered, expired, cancelled or unknown")),
    })
}

fn disorder(value: RawDirective) -> Result<CallbackDisorder, DirectiveError> {
    Ok(match value.value {
        "lost" => CallbackDisorder::Lost,
        "doubled" => CallbackDisorder::Doubled,
        "reordered" => CallbackDisorder::Reordered,
        _ => return Err(value.refuse("lost, doubled or reordered")),
    })
}
