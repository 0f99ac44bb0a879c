//! The entry of a create in the journal, as the exchange that owns it changes it.

use super::end::{CreateEnd, CreateEndRecordChange, PendingEndCount};
use super::in_flight::InFlightKeyGuard;
use super::record::{CreateMoney, CreateState, RecordedResponse};
use super::versioned_record::CreateRecordWriter;
use super::{CreateJournal, JournalError, LEASE, lease_ms};
use headgate_core::state::records::{Record, RecordKind};
use std::future::{Future, ready};
use std::mem::replace;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

/// The entry of one create. Its changes are stored one after the other, and none is cancelled once it began: a
/// caller may leave meanwhile. An entry that is dropped without an end gets `AlreadyRecorded` or `OutcomeUnknown`.
pub struct JournalEntryHandle(pub(super) Arc<OwnedCreateEntry>);

pub(super) struct OwnedCreateEntry {
    kind: RecordKind,
    key: Arc<str>,
    has_response: AtomicBool,
    /// Whether the exchange ended the entry.
    has_end: AtomicBool,
    pending_ends: PendingEndCount,
    progress: Mutex<CreateProgress>,
}

/// How far the create has come.
struct CreateProgress {
    stored: CreateRecordWriter,
    is_response_stored: bool,
    /// Whether the end is known. Then nothing extends the lease.
    is_ending: bool,
    /// Until the create has an end that its duplicates may read.
    in_flight: Option<InFlightKeyGuard>,
}

impl JournalEntryHandle {
    /// An entry of which nothing is stored.
    pub(super) fn new(
        kind: RecordKind,
        key: Arc<str>,
        stored: CreateRecordWriter,
        pending_ends: PendingEndCount,
    ) -> Self {
        Self(Arc::new(OwnedCreateEntry {
            kind,
            key,
            has_response: AtomicBool::new(false),
            has_end: AtomicBool::new(false),
            pending_ends,
            progress: Mutex::new(CreateProgress {
                stored,
                is_response_stored: false,
                is_ending: false,
                in_flight: None,
            }),
        }))
    }

    /// Inserts the reservation; returns the record that the key has already.
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

    /// Stores that the create is about to be sent to `channel`, and what it has reserved of budgets in money. Without it, no byte
    /// may be sent.
    ///
    /// # Errors
    /// This is not stored, or the entry has ended.
    pub async fn begin_sending(
        &self,
        channel: &str,
        money: CreateMoney,
    ) -> Result<(), JournalError> {
        let (cell, channel) = (self.0.clone(), channel.to_owned());
        run_to_end(async move {
            let mut progress = cell.progress.lock().await;
            if progress.is_ending {
                // The exchange ended before this task ran: nothing is sent, and the key is free already.
                return Err(JournalError::Ended);
            }
            let is_first = !progress.stored.was_stored();
            let sending = CreateState::Sending {
                channel,
                lease_ms: lease_ms(),
            };
            let mut of_caller = money.of_caller.into_iter();
            let record = &mut progress.stored.record;
            record.money = of_caller.next();
            record.money_of_models = of_caller.collect();
            record.batch_models = money.batch_models;
            record.channel_money = money.of_channel;
            let before = replace(&mut progress.stored.record.state, sending);
            if let Err(error) = progress.stored.write().await {
                // It is not sent.
                progress.stored.record.state = before;
                return Err(error);
            }
            if is_first {
                renew_lease(Arc::downgrade(&cell));
            }
            Ok(())
        })
        .await
    }

    /// Stores the provider's response, before the caller gets it.
    ///
    /// # Errors
    /// The response is not stored yet. The end of the entry tries again.
    pub async fn record_response(
        &self,
        response: Option<RecordedResponse>,
        response_id: Option<String>,
    ) -> Result<(), JournalError> {
        let cell = self.0.clone();
        cell.has_response.store(true, Ordering::Relaxed);
        run_to_end(async move {
            let mut progress = cell.progress.lock().await;
            progress.set_response(response, response_id, false);
            progress.stored.write().await?;
            progress.is_response_stored = true;
            progress.in_flight = None;
            Ok(())
        })
        .await
    }

    /// Whether the response was recorded, or is to be when the entry ends.
    pub fn has_response(&self) -> bool {
        self.0.has_response.load(Ordering::Relaxed)
    }

    /// Whether the create has a key, under which its response is kept.
    pub fn has_key(&self) -> bool {
        self.0.kind == RecordKind::IdempotencyKey
    }

    /// Ends the entry. The end is stored in the background; until then the record is one from which nothing is sent
    /// again.
    pub fn end(self, end: CreateEnd) {
        self.end_after(ready(end));
    }

    /// Ends the entry when its end is known; until then its lease is renewed, and its duplicates wait.
    pub fn end_after(self, end: impl Future<Output = CreateEnd> + Send + 'static) {
        self.0.clone().end_after(end);
    }
}

impl Drop for JournalEntryHandle {
    fn drop(&mut self) {
        let is_absent = |progress: &CreateProgress| progress.stored.is_absent();
        let progress = self.0.progress.try_lock();
        let is_stored = !progress.is_ok_and(|progress| is_absent(&progress));
        if self.0.has_end.load(Ordering::Relaxed) || !is_stored {
            return;
        }
        let end = match self.has_response() {
            true => CreateEnd::AlreadyRecorded {
                is_delivered: false,
            },
            false => CreateEnd::OutcomeUnknown {
                upstream_request_id: None,
            },
        };
        self.0.clone().end_after(ready(end));
    }
}

impl OwnedCreateEntry {
    fn begin(self: &Arc<Self>, progress: &mut CreateProgress, journal: &CreateJournal) {
        progress.in_flight = Some(journal.in_flight.begin(&self.key));
        renew_lease(Arc::downgrade(self));
    }

    pub(super) fn end_after(
        self: Arc<Self>,
        end: impl Future<Output = CreateEnd> + Send + 'static,
    ) {
        self.has_end.store(true, Ordering::Relaxed);
        // Without a runtime the process is ending; the lease expires by itself.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let pending = self.pending_ends.add();
        runtime.spawn(async move {
            let end = end.await;
            let mut progress = self.progress.lock().await;
            progress.is_ending = true;
            if let Some(in_flight) = &progress.in_flight {
                in_flight.set_ending();
            }
            let change = progress.end(end, self.kind);
            change.run(&mut progress.stored).await;
            progress.in_flight = None;
            drop(pending);
        });
    }

    /// Extends the lease; returns whether it will have to be extended again.
    async fn renew(&self) -> bool {
        let mut progress = self.progress.lock().await;
        if progress.is_ending {
            return false;
        }
        match &mut progress.stored.record.state {
            CreateState::Reserved { lease_ms: until }
            | CreateState::Sending {
                lease_ms: until, ..
            } => *until = lease_ms(),
            CreateState::Accepted { .. } | CreateState::OutcomeUnknown { .. } => return false,
        }
        !matches!(progress.stored.write().await, Err(JournalError::TakenOver))
    }
}

impl CreateProgress {
    fn set_response(
        &mut self,
        response: Option<RecordedResponse>,
        response_id: Option<String>,
        is_delivered: bool,
    ) {
        let state = &mut self.stored.record.state;
        if let Some(channel) = state.channel().map(str::to_owned) {
            *state = CreateState::Accepted {
                channel,
                response_id,
                is_delivered,
                response,
            };
        }
    }

    /// Sets the state at the end; returns what the store lacks.
    fn end(&mut self, end: CreateEnd, kind: RecordKind) -> CreateEndRecordChange {
        match end {
            CreateEnd::NotMade => return CreateEndRecordChange::Remove,
            CreateEnd::Accepted {
                response,
                response_id,
                is_delivered,
            } => self.set_response(response, response_id, is_delivered),
            // A replay may have been delivered meanwhile.
            CreateEnd::AlreadyRecorded {
                is_delivered: false,
            } if self.is_response_stored => return CreateEndRecordChange::Nothing,
            CreateEnd::AlreadyRecorded { is_delivered: new } => {
                if let CreateState::Accepted { is_delivered, .. } = &mut self.stored.record.state {
                    *is_delivered = new;
                }
            }
            CreateEnd::OutcomeUnknown {
                upstream_request_id,
            } => {
                let state = &mut self.stored.record.state;
                let Some(channel) = state.channel().map(str::to_owned) else {
                    // Nothing was sent.
                    return CreateEndRecordChange::Remove;
                };
                *state = CreateState::OutcomeUnknown {
                    channel,
                    upstream_request_id,
                };
            }
        }
        match self.stored.record.state {
            // Without a key, nobody asks for a response that reached its caller.
            CreateState::Accepted {
                is_delivered: true, ..
            } if kind == RecordKind::PaidCreate => CreateEndRecordChange::Remove,
            _ => CreateEndRecordChange::Write,
        }
    }
}

fn renew_lease(cell: Weak<OwnedCreateEntry>) {
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

/// Runs work to its end, also if its result is not awaited any more.
///
/// # Errors
/// The work failed, or the process is ending.
pub async fn run_to_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, JournalError>> + Send + 'static,
) -> Result<T, JournalError> {
    tokio::spawn(work)
        .await
        .unwrap_or(Err(JournalError::Ending))
}
