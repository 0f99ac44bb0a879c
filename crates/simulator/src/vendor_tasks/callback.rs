//! Callbacks of vendors: when they are sent, and with which body, challenge and signature.

use crate::http_post::CallbackHeader;
use crate::request_context::RequestContext;
use crate::task_callback::{CallbackFormat, TaskCallbackSender};
use crate::vendors::descriptor::{TaskView, VendorApi, VendorCallback, VendorCreate};
use crate::video_task::{VideoTask, VideoTaskState};
use bytes::Bytes;
use http::request::Parts;
use serde_json::Value;

struct VendorCallbackFormat {
    api: &'static VendorApi,
    callback: &'static VendorCallback,
    /// The body of the create.
    create: Value,
    challenge: Option<String>,
}

/// What posts the callbacks of a new task, if its create asks for them.
pub fn sender(
    api: &'static VendorApi,
    create: &VendorCreate,
    task: &VideoTask,
    call: &RequestContext,
) -> Option<TaskCallbackSender> {
    let callback = api.callback.as_ref()?;
    let url = (callback.url)(create)?;
    let challenge = callback.has_challenge.then(|| call.ids.next("challenge-"));
    let format = Box::new(VendorCallbackFormat {
        api,
        callback,
        create: create.body.clone(),
        challenge,
    });
    Some(TaskCallbackSender::new(
        url, task, call.tasks, call.head, format,
    ))
}

impl CallbackFormat for VendorCallbackFormat {
    fn body(&self, task: &VideoTask, head: &Parts) -> Bytes {
        let api = self.api;
        let body = (self.callback.body)(&TaskView { api, task, head });
        body.to_string().into()
    }

    fn is_sent_in(&self, state: VideoTaskState) -> bool {
        (self.callback.is_sent_in)(state, &self.create)
    }

    fn headers(&self, task: &str, body: &[u8]) -> Vec<CallbackHeader> {
        (self.callback.headers)(task, body, &self.create)
    }

    fn challenge(&self) -> Option<String> {
        self.challenge.clone()
    }
}
