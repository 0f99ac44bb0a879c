//! The entry of a create in the journal, as the exchange that owns it changes it.

use super::in_flight::InFlightKey;
use super::record::{CreateRecord, CreateState, RecordedAnswer};
use super::versioned_record::VersionedRecord;
use super::{CreateJournal, CreateRequest, JournalError, JournalLimits, LEASE, lease_ms};
use crate::state::StateStore;
use crate::state::records::{Record, RecordKind};
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Mutex;

/// How often the end of a create is tried to be stored; after that its lease expires, and its outcome is unknown.
const END_ATTEMPTS: u32 = 8;
/// The wait before the second of these attempts; it doubles with each.
const END_RETRY: Duration = Duration::from_millis(250);

/// The entry of one create. Its changes are stored one after the other, and none is cancelled once it began: whoever
/// waits for one may leave. An entry that is dropped without an end gets the one that is safe.
pub struct JournalEntry(Arc<EntryCell>);

/// How a create ended.
#[derive(Debug)]
pub enum CreateEnd {
    /// The provider has nothing, or refused it. The record is removed.
    Freed,
    /// The provider accepted it. The answer is `None` if it is not kept.
    Answer {
        answer: Option<RecordedAnswer>,
        response_id: Option<String>,
        is_delivered: bool,
    },
    /// The answer was recorded before.
    Recorded { is_delivered: bool },
    /// The provider may have accepted it.
    OutcomeUnknown { upstream_request_id: Option<String> },
}

impl CreateEnd {
    /// The value in metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Freed => "freed",
            Self::Answer { .. } | Self::Recorded { .. } => "answer",
            Self::OutcomeUnknown { .. } => "outcome_unknown",
        }
    }
}

struct EntryCell {
    kind: RecordKind,
    key: Arc<str>,
    has_answer: AtomicBool,
    has_ended: AtomicBool,
    progress: Mutex<CreateProgress>,
}

/// How far the create has come.
struct CreateProgress {
    stored: VersionedRecord,
    is_answer_stored: bool,
    /// Until the create has an end that its duplicates may read.
    in_flight: Option<InFlightKey>,
}

/// What is left to do in the store when a create ends.
#[derive(Clone, Copy)]
enum StoreTask {
    Nothing,
    Write,
    Remove,
}

impl JournalEntry {
    /// The entry of a create without a key. Nothing is stored before it is sent.
    pub fn without_key(
        store: &Arc<dyn StateStore>,
        request: &CreateRequest,
        limits: JournalLimits,
    ) -> Self {
        let key = request.request_id.clone();
        let record = CreateRecord::new(request, None);
        Self::new(store, RecordKind::PaidCreate, key, record, limits)
    }

    pub(super) fn new(
        store: &Arc<dyn StateStore>,
        kind: RecordKind,
        key: Arc<str>,
        record: CreateRecord,
        limits: JournalLimits,
    ) -> Self {
        Self(Arc::new(EntryCell {
            kind,
            key: key.clone(),
            has_answer: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            progress: Mutex::new(CreateProgress {
                stored: VersionedRecord::new(store, kind, key, record, limits),
                is_answer_stored: false,
                in_flight: None,
            }),
        }))
    }

    /// Inserts the reservation; returns the record that is in its place.
    pub(super) async fn reserve(
        &self,
        journal: &CreateJournal,
    ) -> Result<Option<Record>, JournalError> {
        let mut progress = self.0.progress.lock().await;
        let found = progress.stored.insert().await?;
        if found.is_none() {
            self.0.begin(&mut progress, journal);
        }
        Ok(found)
    }

    /// Replaces the reservation of an owner that is gone; returns whether nobody else did.
    pub(super) async fn take_over(
        &self,
        version: u64,
        journal: &CreateJournal,
    ) -> Result<bool, JournalError> {
        let mut progress = self.0.progress.lock().await;
        let is_ours = progress.stored.replace_other(version).await?;
        if is_ours {
            self.0.begin(&mut progress, journal);
        }
        Ok(is_ours)
    }

    /// Stores that the create is about to be sent to `channel`. Without it, no byte may be sent.
    ///
    /// # Errors
    /// It is not stored.
    pub async fn begin_sending(&self, channel: &str) -> Result<(), JournalError> {
        let (cell, channel) = (self.0.clone(), channel.to_owned());
        uncancelled(async move {
            let mut progress = cell.progress.lock().await;
            let is_first = progress.stored.is_absent();
            progress.stored.record.state = CreateState::Sending {
                channel,
                lease_ms: lease_ms(),
            };
            progress.stored.write().await?;
            if is_first {
                renew_lease(Arc::downgrade(&cell));
            }
            Ok(())
        })
        .await
    }

    /// Stores the provider's answer, before the caller gets it.
    ///
    /// # Errors
    /// It is not stored yet. The end of the entry tries again.
    pub async fn record_answer(
        &self,
        answer: Option<RecordedAnswer>,
        response_id: Option<String>,
    ) -> Result<(), JournalError> {
        let cell = self.0.clone();
        cell.has_answer.store(true, Ordering::Relaxed);
        uncancelled(async move {
            let mut progress = cell.progress.lock().await;
            progress.set_answer(answer, response_id, false);
            progress.stored.write().await?;
            progress.is_answer_stored = true;
            progress.in_flight = None;
            Ok(())
        })
        .await
    }

    /// Whether the answer was recorded, or is to be when the entry ends.
    pub fn has_answer(&self) -> bool {
        self.0.has_answer.load(Ordering::Relaxed)
    }

    /// Whether the create has a key, under which its answer is kept.
    pub fn has_key(&self) -> bool {
        self.0.kind == RecordKind::IdempotencyKey
    }

    /// Ends the entry. The end is stored in the background; until then the record is one from which nothing is sent
    /// again.
    pub fn end(self, end: CreateEnd) {
        self.0.clone().end(end);
    }
}

impl Drop for JournalEntry {
    fn drop(&mut self) {
        let is_absent = |progress: &CreateProgress| progress.stored.is_absent();
        let progress = self.0.progress.try_lock();
        let is_stored = !progress.is_ok_and(|progress| is_absent(&progress));
        if self.0.has_ended.load(Ordering::Relaxed) || !is_stored {
            return;
        }
        let end = match self.has_answer() {
            true => CreateEnd::Recorded {
                is_delivered: false,
            },
            false => CreateEnd::OutcomeUnknown {
                upstream_request_id: None,
            },
        };
        self.0.clone().end(end);
    }
}

impl EntryCell {
    fn begin(self: &Arc<Self>, progress: &mut CreateProgress, journal: &CreateJournal) {
        progress.in_flight = Some(journal.in_flight.begin(&self.key));
        renew_lease(Arc::downgrade(self));
    }

    fn end(self: Arc<Self>, end: CreateEnd) {
        self.has_ended.store(true, Ordering::Relaxed);
        // Without a runtime the process is ending; the lease expires by itself.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            let mut progress = self.progress.lock().await;
            let task = progress.end(end, self.kind);
            store_end(&mut progress.stored, task).await;
            progress.in_flight = None;
        });
    }

    /// Extends the lease; returns whether it will have to be extended again.
    async fn renew(&self) -> bool {
        let mut progress = self.progress.lock().await;
        if self.has_ended.load(Ordering::Relaxed) {
            return false;
        }
        match &mut progress.stored.record.state {
            CreateState::Reserved { lease_ms: until }
            | CreateState::Sending {
                lease_ms: until, ..
            } => *until = lease_ms(),
            CreateState::Answer { .. } | CreateState::OutcomeUnknown { .. } => return false,
        }
        !matches!(progress.stored.write().await, Err(JournalError::TakenOver))
    }
}

impl CreateProgress {
    fn set_answer(
        &mut self,
        answer: Option<RecordedAnswer>,
        response_id: Option<String>,
        is_delivered: bool,
    ) {
        let state = &mut self.stored.record.state;
        if let Some(channel) = state.channel().map(str::to_owned) {
            *state = CreateState::Answer {
                channel,
                response_id,
                is_delivered,
                answer,
            };
        }
    }

    /// Sets the state at the end; returns what the store lacks.
    fn end(&mut self, end: CreateEnd, kind: RecordKind) -> StoreTask {
        match end {
            CreateEnd::Freed => return StoreTask::Remove,
            CreateEnd::Answer {
                answer,
                response_id,
                is_delivered,
            } => self.set_answer(answer, response_id, is_delivered),
            // A replay may have been delivered meanwhile.
            CreateEnd::Recorded {
                is_delivered: false,
            } if self.is_answer_stored => return StoreTask::Nothing,
            CreateEnd::Recorded { is_delivered: new } => {
                if let CreateState::Answer { is_delivered, .. } = &mut self.stored.record.state {
                    *is_delivered = new;
                }
            }
            CreateEnd::OutcomeUnknown {
                upstream_request_id,
            } => {
                let state = &mut self.stored.record.state;
                let Some(channel) = state.channel().map(str::to_owned) else {
                    // Nothing was sent.
                    return StoreTask::Remove;
                };
                *state = CreateState::OutcomeUnknown {
                    channel,
                    upstream_request_id,
                };
            }
        }
        match self.stored.record.state {
            // Without a key, nobody asks for an answer that reached its caller.
            CreateState::Answer {
                is_delivered: true, ..
            } if kind == RecordKind::PaidCreate => StoreTask::Remove,
            _ => StoreTask::Write,
        }
    }
}

/// Stores the end of a create, with several attempts.
async fn store_end(stored: &mut VersionedRecord, task: StoreTask) {
    let mut wait = END_RETRY;
    for attempt in 1..=END_ATTEMPTS {
        let result = match task {
            StoreTask::Nothing => return,
            StoreTask::Write => stored.write().await,
            StoreTask::Remove => stored.remove().await,
        };
        match result {
            Ok(()) | Err(JournalError::TakenOver) => return,
            Err(error) if attempt == END_ATTEMPTS => tracing::warn!(
                id = stored.record.request_id,
                %error,
                "cannot store how a paid create ended; its outcome will be listed as unknown"
            ),
            Err(_) => tokio::time::sleep(wait).await,
        }
        wait *= 2;
    }
}

fn renew_lease(cell: Weak<EntryCell>) {
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(LEASE / 3).await;
            match cell.upgrade() {
                Some(cell) if cell.renew().await => {}
                _ => return,
            }
        }
    });
}

/// Runs work to its end, also if the one who waits for it leaves.
///
/// # Errors
/// The work failed, or the process is ending.
pub async fn uncancelled<T: Send + 'static>(
    work: impl Future<Output = Result<T, JournalError>> + Send + 'static,
) -> Result<T, JournalError> {
    tokio::spawn(work)
        .await
        .unwrap_or(Err(JournalError::Ending))
}
