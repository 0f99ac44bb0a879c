//! The plan of a video task: how long each state lasts, how it ends, and faults in its responses.

use crate::directive::Directives;
use crate::options::SimulatorDefaults;
use crate::task_directives::{CallbackDisorder, TaskEnd};
use std::time::Duration;

/// The course of a task, decided when it is created.
#[derive(Clone)]
pub struct TaskPlan {
    pub queue: Duration,
    pub run: Duration,
    pub end: TaskEnd,
    /// Counted from the creation of the task; a task that has not ended by then expires.
    pub expires_after: Duration,
    /// The status while the task runs, in place of the family's own.
    pub unknown_status: Option<String>,
    pub slow_query: Duration,
    pub has_url: bool,
    pub has_usage: bool,
    /// The size of the video in bytes, if one was requested.
    pub video_bytes: Option<usize>,
    /// The code and message of a failure, if they were requested.
    pub failure: (Option<String>, Option<String>),
    pub callbacks: Option<CallbackDisorder>,
}

impl TaskPlan {
    /// The plan that `directives` ask for, with the defaults of `options`.
    pub fn from_directives(
        directives: &Directives,
        options: &SimulatorDefaults,
        expires_after: Duration,
    ) -> Self {
        let task = &directives.task;
        let ordinary = Duration::from_millis;
        Self {
            queue: task.queue.unwrap_or(ordinary(options.queue_ms)),
            run: task.run.unwrap_or(ordinary(options.run_ms)),
            end: task.ends.unwrap_or(TaskEnd::Succeeded),
            expires_after,
            unknown_status: task.unknown_status.clone(),
            slow_query: task.slow_query.unwrap_or_default(),
            has_url: !task.no_url,
            has_usage: !directives.no_usage,
            video_bytes: directives.body_bytes,
            callbacks: task.callbacks,
            failure: (directives.code.clone(), directives.message.clone()),
        }
    }

    /// The code and message of a failure, with these defaults.
    pub fn failure_or<'c>(&'c self, code: &'c str, message: &'c str) -> (&'c str, &'c str) {
        let (own_code, own_message) = &self.failure;
        (
            own_code.as_deref().unwrap_or(code),
            own_message.as_deref().unwrap_or(message),
        )
    }
}
