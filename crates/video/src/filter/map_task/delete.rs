//! Deletes tasks in OpenAI's format: cancels them if that is possible, and forgets them.

use super::MapTaskFilter;
use super::poll::{QueryableTask, reply};
use super::request::unknown;
use crate::polls::{PolledStatus, StatusQueryError, task_key};
use bytes::Bytes;
use headgate_core::filter::FilterAction;
use headgate_core::filter::view::RequestView;
use headgate_core::state::StoreUnavailable;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::records::{InsertResult, RecordContent, RecordKind};
use headgate_core::task::openai_video;
use headgate_protocol::TaskApiFormat;
use headgate_protocol::fault::{Fault, FaultKind};
use http::{HeaderMap, StatusCode};
use std::sync::Arc;
use std::time::Duration;

/// How long a deleted task is unknown. Providers keep files for a shorter time.
const DELETED_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How many tasks a caller may delete within that time.
const DELETED_MAX: u32 = 100_000;

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
        let caller = request.caller.as_ref().ok_or_else(unknown)?;
        record_deletion(&polled, caller.name.clone()).await?;
        let body = openai_video::deleted(&polled.id);
        Ok(reply(StatusCode::OK, HeaderMap::new(), body))
    }

    /// Whether the task was deleted in OpenAI's format. Other formats have no such request, and do not ask.
    pub(super) async fn is_deleted(&self, polled: &QueryableTask) -> bool {
        if self.format != TaskApiFormat::OpenAi {
            return false;
        }
        let (records, key) = (polled.status_query.state.records(), task_key(polled.task()));
        let found = records.get(RecordKind::DeletedTask, &key).get().await;
        // While the store is unreachable, the task is shown as its provider has it.
        found.is_ok_and(|record| record.is_some())
    }
}

/// Records that the task is deleted, before the caller is told so.
async fn record_deletion(polled: &QueryableTask, owner: Arc<str>) -> Result<(), Fault> {
    let content = RecordContent {
        value: Bytes::new(),
        owner,
        expires_ms: unix_ms().saturating_add(DELETED_FOR.as_millis() as u64),
        due_ms: None,
    };
    let (records, key) = (polled.status_query.state.records(), task_key(polled.task()));
    let inserting = records.insert(RecordKind::DeletedTask, &key, content, DELETED_MAX);
    match inserting.get().await.map_err(not_recorded)? {
        InsertResult::Inserted { .. } | InsertResult::Exists(_) => Ok(()),
        InsertResult::OwnerFull => Err(Fault::new(
            FaultKind::TooManyRequests,
            format!(
                "the limit of {DELETED_MAX} deletions in 30 days is reached; the provider removes this video by itself"
            ),
        )),
    }
}

fn not_recorded(error: StoreUnavailable) -> Fault {
    Fault::new(
        FaultKind::Overloaded,
        "deletions cannot be recorded at the moment; try again",
    )
    .source(error)
}

/// Whether the provider does not know the task any more.
fn is_forgotten(error: &StatusQueryError) -> bool {
    matches!(error, StatusQueryError::Refused(refused) if refused.status == StatusCode::NOT_FOUND)
}
