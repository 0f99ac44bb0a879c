//! Callbacks of family A: the status of a task, posted to its `callback_url` whenever it changes.
//!
//! Source: the vendor's page 82379/1520757. A cancelled task is not called back.

use crate::json::OrderedJsonObject;
use crate::request_context::RequestContext;
use crate::task_directives::{CallbackDisorder, TaskEnd};
use crate::video_operation::SimulatedFamily;
use crate::video_task::{TaskPlan, VideoTask, VideoTaskState, VideoTaskStore};
use crate::{http_post, model_request};
use bytes::Bytes;
use http::request::Parts;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

/// How often a callback about the end of a task is tried again.
const RETRIES: usize = 3;
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Plays the callbacks of one task.
pub struct TaskCallbackSender {
    url: String,
    id: String,
    account: String,
    plan: TaskPlan,
    tasks: Arc<VideoTaskStore>,
    /// The head of the create, which URLs in callbacks are derived from.
    head: Parts,
    body: CallbackBodyFn,
}

/// The body of a callback about a task.
pub type CallbackBodyFn = fn(&VideoTask, &Parts) -> OrderedJsonObject;

impl TaskCallbackSender {
    /// `None` if the create has no `callback_url`.
    pub fn for_task(
        task: &VideoTask,
        create: &Value,
        call: &RequestContext,
        body: CallbackBodyFn,
    ) -> Option<Self> {
        let url = model_request::text_at(create, "callback_url");
        (!url.is_empty()).then(|| Self {
            url: url.to_owned(),
            id: task.id.clone(),
            account: task.account.clone(),
            plan: task.plan.clone(),
            tasks: call.tasks.clone(),
            head: call.head.clone(),
            body,
        })
    }

    /// Posts one callback for each state that the task goes through.
    pub async fn play(self) {
        if self.plan.callbacks == Some(CallbackDisorder::Lost) {
            return;
        }
        let made = Instant::now();
        self.post_state(VideoTaskState::Queued).await;
        sleep_until(made + self.plan.queue).await;
        let running = self.body_in(VideoTaskState::Running);
        let is_late = self.plan.callbacks == Some(CallbackDisorder::Reordered);
        if !is_late && let Some(running) = &running {
            self.post(running.clone()).await;
        }
        sleep_until(made + self.plan.queue + self.plan.run).await;
        let ended = VideoTaskState::Ended(self.plan.end);
        if self.plan.end != TaskEnd::Cancelled {
            self.post_state(ended).await;
        }
        if is_late && let Some(running) = running {
            self.post(running).await;
        }
    }

    async fn post_state(&self, state: VideoTaskState) {
        let Some(body) = self.body_in(state) else {
            return;
        };
        let retries = match state {
            VideoTaskState::Ended(_) => RETRIES,
            VideoTaskState::Queued | VideoTaskState::Running => 0,
        };
        for retry in 0..=retries {
            if self.post(body.clone()).await || retry == retries {
                return;
            }
            sleep(RETRY_INTERVAL).await;
        }
    }

    /// Posts a callback, and once more if each arrives twice. Returns whether the receiver accepted it.
    async fn post(&self, body: Bytes) -> bool {
        let is_accepted = http_post::post(&self.url, body.clone()).await;
        if self.plan.callbacks == Some(CallbackDisorder::Doubled) {
            http_post::post(&self.url, body).await;
        }
        is_accepted
    }

    /// The status of the task, if it is in this state.
    fn body_in(&self, state: VideoTaskState) -> Option<Bytes> {
        let body = |task: &mut VideoTask| {
            let is_in_it = task.state() == state;
            is_in_it.then(|| Bytes::from((self.body)(task, &self.head).end()))
        };
        let found = self
            .tasks
            .read(&self.account, SimulatedFamily::A, &self.id, body);
        found.flatten()
    }
}
