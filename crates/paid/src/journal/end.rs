//! How creates end, and the changes of records that store it; a process that stops waits for them.

use super::JournalError;
use super::record::RecordedResponse;
use super::versioned_record::CreateRecordWriter;
use std::time::Duration;
use tokio::sync::watch;

/// The wait before the second attempt to store an end; it doubles with each, up to [`RETRY_WAIT_MAX`].
const RETRY_WAIT: Duration = Duration::from_millis(100);
const RETRY_WAIT_MAX: Duration = Duration::from_secs(2);
/// The attempt after which the log has a line.
const LOGGED_ATTEMPT: u32 = 6;
/// Maximum number of attempts for a create of which the store has never confirmed a record: it was not sent, and if a
/// reservation was stored nevertheless, others take it over when its lease expires.
const UNSTORED_ATTEMPTS: u32 = 6;

/// How a create ended.
#[derive(Debug)]
pub enum CreateEnd {
    /// The provider received nothing, or refused the create. The record is removed.
    NotMade,
    /// The provider accepted the create. The response is `None` if it is not kept.
    Accepted {
        response: Option<RecordedResponse>,
        response_id: Option<String>,
        is_delivered: bool,
    },
    /// The provider accepted the create, and the response was recorded before.
    AlreadyRecorded { is_delivered: bool },
    /// The provider may have accepted the create.
    OutcomeUnknown { upstream_request_id: Option<String> },
}

impl CreateEnd {
    /// The value in metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotMade => "not_made",
            Self::Accepted { .. } | Self::AlreadyRecorded { .. } => "accepted",
            Self::OutcomeUnknown { .. } => "outcome_unknown",
        }
    }
}

/// The change of a record that is left when its create ends.
#[derive(Clone, Copy)]
pub enum CreateEndRecordChange {
    Nothing,
    Write,
    Remove,
}

impl CreateEndRecordChange {
    /// Makes the change. While the store is unreachable, tries again for as long as the process runs: only
    /// creates with a stored record are sent, so that the number of these tasks is bounded.
    pub async fn run(self, stored: &mut CreateRecordWriter) {
        let mut wait = RETRY_WAIT;
        let mut attempt = 1;
        loop {
            let result = match self {
                Self::Nothing => return,
                Self::Write => stored.write().await,
                Self::Remove => stored.remove().await,
            };
            match result {
                Ok(()) => return,
                Err(JournalError::TakenOver) => {
                    tracing::error!(
                        id = stored.record.request_id,
                        "another request has the key of a paid create; how the create ended is not stored"
                    );
                    return;
                }
                Err(_) if !stored.was_stored() && attempt >= UNSTORED_ATTEMPTS => return,
                Err(error) if attempt == LOGGED_ATTEMPT => tracing::warn!(
                    id = stored.record.request_id,
                    %error,
                    "cannot store how a paid create ended; trying again"
                ),
                Err(_) => {}
            }
            tokio::time::sleep(wait).await;
            wait = RETRY_WAIT_MAX.min(wait * 2);
            attempt += 1;
        }
    }
}

/// The number of ends that are not stored yet.
#[derive(Clone)]
pub struct PendingEndCount(watch::Sender<usize>);

/// An end that is not stored yet, until it is dropped.
pub struct PendingEndGuard(PendingEndCount);

impl Default for PendingEndCount {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl PendingEndCount {
    pub fn add(&self) -> PendingEndGuard {
        self.0.send_modify(|count| *count += 1);
        PendingEndGuard(self.clone())
    }

    /// Waits until all ends are stored.
    pub async fn until_stored(&self) {
        // It fails only if all senders are gone, and this is one.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for PendingEndGuard {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}
