//! Callbacks about a video task: posted to the URL that its create names whenever its state changes.

use super::http_post::{self, CallbackHeader, CallbackReply};
use super::task_directives::{CallbackDisorder, TaskEnd};
use super::video_task::{TaskPlan, VideoTask, VideoTaskState, VideoTaskStore};
use bytes::Bytes;
use http::request::Parts;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// How often a callback about the end of a task is tried again.
const RETRIES: usize = 3;
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// How long a receiver may take to return a challenge.
const CHALLENGE_TIMEOUT: Duration = Duration::from_secs(3);

/// How a provider writes its callbacks.
pub trait CallbackFormat: Send + Sync {
    /// The body about a task in its present state; `head` is that of the create.
    fn body(&self, task: &VideoTask, head: &Parts) -> Bytes;

    /// Whether this state is reported. A cancelled task is not, unless the vendor reports it.
    fn is_sent_in(&self, state: VideoTaskState) -> bool {
        state != VideoTaskState::Ended(TaskEnd::Cancelled)
    }

    /// Further headers, such as a signature of the body.
    fn headers(&self, _task: &str, _body: &[u8]) -> Vec<CallbackHeader> {
        Vec::new()
    }

    /// The text that the receiver has to return as `{"challenge": …}` before it gets callbacks.
    fn challenge(&self) -> Option<String> {
        None
    }
}

/// Plays the callbacks of one task.
pub struct TaskCallbackSender {
    url: String,
    id: String,
    account: String,
    family: &'static str,
    plan: TaskPlan,
    tasks: Arc<VideoTaskStore>,
    /// The head of the create, which URLs in callbacks are derived from.
    head: Parts,
    format: Box<dyn CallbackFormat>,
}

impl TaskCallbackSender {
    pub fn new(
        url: String,
        task: &VideoTask,
        tasks: &Arc<VideoTaskStore>,
        head: &Parts,
        format: Box<dyn CallbackFormat>,
    ) -> Self {
        Self {
            url,
            id: task.id.clone(),
            account: task.account.clone(),
            family: task.family,
            plan: task.plan.clone(),
            tasks: tasks.clone(),
            head: head.clone(),
            format,
        }
    }

    /// Posts one callback for each state that the task goes through.
    pub async fn play(self) {
        if self.plan.callbacks == Some(CallbackDisorder::Lost)
            || !self.is_challenge_returned().await
        {
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
        self.post_state(VideoTaskState::Ended(self.plan.end)).await;
        if is_late && let Some(running) = running {
            self.post(running).await;
        }
    }

    /// Whether the receiver returns the challenge, if the vendor sends one.
    async fn is_challenge_returned(&self) -> bool {
        let Some(challenge) = self.format.challenge() else {
            return true;
        };
        let body = serde_json::json!({"challenge": challenge});
        let posted = http_post::post(&self.url, &[], body.to_string().into());
        let Ok(Some(CallbackReply { is_success, body })) = timeout(CHALLENGE_TIMEOUT, posted).await
        else {
            return false;
        };
        let returned = serde_json::from_slice::<serde_json::Value>(&body).unwrap_or_default();
        is_success && returned["challenge"] == challenge.as_str()
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
        let headers = self.format.headers(&self.id, &body);
        let reply = http_post::post(&self.url, &headers, body.clone()).await;
        if self.plan.callbacks == Some(CallbackDisorder::Doubled) {
            http_post::post(&self.url, &headers, body).await;
        }
        reply.is_some_and(|reply| reply.is_success)
    }

    /// The body about the task, if it is in this state and the vendor reports it.
    fn body_in(&self, state: VideoTaskState) -> Option<Bytes> {
        if !self.format.is_sent_in(state) {
            return None;
        }
        let body = |task: &mut VideoTask| {
            let is_in_it = task.state() == state;
            is_in_it.then(|| self.format.body(task, &self.head))
        };
        let found = self.tasks.read(&self.account, self.family, &self.id, body);
        found.flatten()
    }
}
