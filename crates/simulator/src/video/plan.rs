//! The course a video task takes: how long each state lasts, how it ends, and what is told of it.

use super::directives::TaskEnd;
use crate::directive::Directives;
use crate::options::SimulatorOptions;
use std::time::Duration;

/// What was settled when the task was made.
#[derive(Clone)]
pub struct TaskPlan {
    pub queue: Duration,
    pub run: Duration,
    pub end: TaskEnd,
    /// From the making of the task; what has not ended by then is expired.
    pub expires_after: Duration,
    /// The status while it runs, in place of the family's own word.
    pub unknown_status: Option<String>,
    pub slow_query: Duration,
    pub has_url: bool,
    pub has_usage: bool,
    /// The size of the video, where one was asked for.
    pub video_bytes: Option<usize>,
    /// The code and message of a failure, where they were asked for.
    pub failure: (Option<String>, Option<String>),
}

impl TaskPlan {
    /// The course that `directives` ask for, or the ordinary one of `options`.
    pub fn of(
        directives: &Directives,
        options: &SimulatorOptions,
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
            failure: (directives.code.clone(), directives.message.clone()),
        }
    }

    /// The code and message of a failure, those given where none were asked for.
    pub fn failure_or<'c>(&'c self, code: &'c str, message: &'c str) -> (&'c str, &'c str) {
        let (own_code, own_message) = &self.failure;
        (
            own_code.as_deref().unwrap_or(code),
            own_message.as_deref().unwrap_or(message),
        )
    }
}
