//! The event about a task that was queried, in the format of its receiver.

use super::TaskQueryResult;
use crate::callbacks::delivery::{Delivery, DeliveryLeaseState};
use crate::callbacks::records::StoredRecord;
use crate::callbacks::subscription::{CallerStatusFormat, Subscription};
use crate::callbacks::worker::CallbackWorkerContext;
use crate::polls::ProviderStatusReport;
use crate::unattended_task::UnattendedTask;
use headgate_core::state::calendar::unix_ms;
use headgate_core::task::family::NativeTaskView;
use headgate_core::task::openai_video;
use headgate_core::task::state::TaskState;

/// Larger bodies are not delivered.
const BODY_BYTES_MAX: usize = 96 << 10;

impl UnattendedTask {
    /// The event that the task has reached a state, with the reason if it cannot be sent; `None` if there is no URL.
    pub(super) fn event(
        &self,
        context: &CallbackWorkerContext,
        leased: &StoredRecord<Subscription>,
        state: TaskState,
        queried: &TaskQueryResult,
    ) -> Option<Delivery> {
        let url = leased.value.url.clone()?;
        let body = match leased.value.format {
            CallerStatusFormat::OpenAi => Ok(self.openai_event(state)?),
            format => self.event_body(context, format, state, queried),
        };
        let (body, last_error) = match body {
            Ok(body) => (body, None),
            Err(reason) => (String::new(), Some(reason)),
        };
        let running = || Delivery::id(&self.id, TaskState::Running);
        Some(Delivery {
            subscription: leased.key.to_string(),
            earlier: state.is_terminal().then(running),
            url,
            signed_only: leased.value.signed_only,
            state,
            body,
            created_ms: unix_ms(),
            attempts: 0,
            phase: DeliveryLeaseState::Waiting,
            last_error,
        })
    }

    /// OpenAI's event, which names the task only; `None` unless the task has ended.
    fn openai_event(&self, state: TaskState) -> Option<String> {
        let event_id = Delivery::id(&self.id, state);
        let event = openai_video::event(&event_id, &self.id, state, unix_ms() / 1_000)?;
        String::from_utf8(event.into()).ok()
    }

    /// The status as text, or why there is none.
    fn event_body(
        &self,
        context: &CallbackWorkerContext,
        format: CallerStatusFormat,
        state: TaskState,
        queried: &TaskQueryResult,
    ) -> Result<String, String> {
        let TaskQueryResult::Reported(report) = queried else {
            let response = self.family.minimal_response(&self.task, state);
            let response = response.ok_or("the family has no word for an expired task")?;
            let report = ProviderStatusReport::read(&self.family, &self.task, response, unix_ms())?;
            return self.status_body(context, format, &report);
        };
        self.status_body(context, format, report)
    }

    fn status_body(
        &self,
        context: &CallbackWorkerContext,
        format: CallerStatusFormat,
        report: &ProviderStatusReport,
    ) -> Result<String, String> {
        let unreadable = || "the provider's status cannot be read".to_owned();
        let status = self
            .family
            .status(&report.response, &self.task, report.reported_ms)
            .map_err(|_| unreadable())?;
        let body = match format {
            CallerStatusFormat::Generic | CallerStatusFormat::OpenAi => {
                status.render(&self.id, &self.task)
            }
            CallerStatusFormat::Native => {
                let keys = context.tasks.keys.as_ref().ok_or_else(unreadable)?;
                let view = NativeTaskView {
                    task: &self.task,
                    id: &self.id,
                    file_id: &self.id,
                    status: Some(&status),
                    seal: &|upstream| keys.seal_sibling(&self.task, upstream),
                    // The path is not known under which the caller uses the vendor's API.
                    base_url: None,
                    is_allowed: &|url| context.egress.allows_url(url),
                };
                self.family.native(&report.response, view).body
            }
        };
        if body.len() > BODY_BYTES_MAX {
            return Err(format!("the status has {} bytes", body.len()));
        }
        String::from_utf8(body.into()).map_err(|_| unreadable())
    }
}
