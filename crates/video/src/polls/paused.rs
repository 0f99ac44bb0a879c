//! What a poll gets while the provider may not be queried: the last known status of the task.

use super::poll_result::{PollResult, PolledStatus, StatusQueryError};
use super::report::ProviderStatusReport;
use super::{CallerStatusPoll, NO_ROOM_RETRY, TaskStatusFetcher};
use headgate_core::state::calendar::unix_ms;
use headgate_protocol::fault::FaultKind;
use headgate_protocol::retry_after;
use http::StatusCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

impl TaskStatusFetcher {
    /// `polled`, or the last known status if the query was not sent, or the provider asked for fewer of them.
    ///
    /// Of a task without a known status, the gateway knows that it was created: it counts as running for a day, like one
    /// that the provider does not find.
    pub(super) fn or_last_known(
        &self,
        key: &Arc<str>,
        status_query: &CallerStatusPoll,
        polled: PollResult,
    ) -> PollResult {
        let Some(pause) = polled.as_ref().err().and_then(|error| error.pause()) else {
            return polled;
        };
        let last = self.statuses().last(key);
        match last.or_else(|| presumed_report(status_query).map(Arc::new)) {
            Some(report) => Ok(PolledStatus::until(report, pause)),
            None => polled,
        }
    }
}

impl StatusQueryError {
    /// How long no query can be sent; `None` if another query is useful at once.
    fn pause(&self) -> Option<Duration> {
        match self {
            Self::Refused(refused) if refused.status == StatusCode::TOO_MANY_REQUESTS => {
                let wait = retry_after::from_headers(&refused.headers, SystemTime::now());
                Some(wait.unwrap_or(NO_ROOM_RETRY))
            }
            Self::Failed(fault) if fault.kind == FaultKind::NoChannel => {
                Some(fault.retry_after.unwrap_or(NO_ROOM_RETRY))
            }
            Self::Refused(_) | Self::Failed(_) => None,
        }
    }
}

/// The status of a task of which only its creation is known.
fn presumed_report(status_query: &CallerStatusPoll) -> Option<ProviderStatusReport> {
    let CallerStatusPoll { family, task, .. } = status_query;
    let now_ms = unix_ms();
    let response = family.presumed_response(task, now_ms)?;
    ProviderStatusReport::read(family, task, response, now_ms).ok()
}
