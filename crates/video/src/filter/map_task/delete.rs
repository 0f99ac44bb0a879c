//! Deletes tasks in OpenAI's format: cancels them if that is possible, and forgets them.

use super::MapTaskFilter;
use super::poll::{QueryableTask, reply};
use super::request::unknown;
use crate::polls::{PolledStatus, StatusQueryError, task_key};
use bytes::Bytes;
use headgate_core::filter::FilterAction;
use headgate_core::filter::view::RequestView;
use headgate_core::task::openai_video;
use headgate_protocol::TaskApiFormat;
use headgate_protocol::fault::{Fault, FaultKind};
use http::{HeaderMap, StatusCode};

/// What the state store has of a task that was deleted.
const DELETED: Bytes = Bytes::from_static(b"deleted");

impl MapTaskFilter {
    /// Deletes the task. One that has not ended must be cancelled for that.
    pub(super) async fn delete(&self, request: &mut RequestView) -> Result<FilterAction, Fault> {
        let Some(subrequests) = request.subrequests.clone() else {
            return Ok(FilterAction::Continue);
        };
        let polled = self.polled_task(request)?;
        if self.is_deleted(&polled).await {
            return Err(unknown());
        }
        match self.cancel(request).await {
            Ok(FilterAction::LocalReply(refused)) if !refused.status.is_success() => {
                return Ok(FilterAction::LocalReply(refused));
            }
            Ok(_) => {}
            Err(mut fault) if fault.kind == FaultKind::NotCancellable => {
                let subrequest = polled.status_request(request, &subrequests)?;
                let status_query = polled.status_query.clone();
                match self.polls.status(status_query, subrequest).await {
                    Ok(PolledStatus { report, .. }) if !report.state.is_terminal() => {
                        fault.message += "; delete it when it has ended";
                        return Err(fault);
                    }
                    Ok(_) => {}
                    Err(error) if is_forgotten(&error) => {}
                    Err(error) => return self.error_reply(request, &polled, &error),
                }
            }
            Err(fault) => return Err(fault),
        }
        let state = &polled.status_query.state;
        state.put_note(&deleted_key(&polled), &DELETED);
        let body = openai_video::deleted(&polled.id);
        Ok(reply(StatusCode::OK, HeaderMap::new(), body))
    }

    /// Whether the task was deleted in OpenAI's format. Other formats have no such request, and do not ask.
    pub(super) async fn is_deleted(&self, polled: &QueryableTask) -> bool {
        if self.format != TaskApiFormat::OpenAi {
            return false;
        }
        let key = deleted_key(polled);
        let noted = polled.status_query.state.get_note(&key).get().await;
        // While the store is unreachable, the task is shown as its provider has it.
        noted.is_ok_and(|note| note.is_some())
    }
}

/// Whether the provider does not know the task any more.
fn is_forgotten(error: &StatusQueryError) -> bool {
    matches!(error, StatusQueryError::Refused(refused) if refused.status == StatusCode::NOT_FOUND)
}

fn deleted_key(polled: &QueryableTask) -> String {
    format!("deleted-{}", task_key(polled.task()))
}
