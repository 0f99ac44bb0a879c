//! The journal of paid creates: what is stored of each before it is sent, so that none is lost or made twice.
//!
//! A create with an `Idempotency-Key` has a record under that key, any other one a record under its request id. The
//! exchange that owns the record changes it through a [`JournalEntry`]; others only read it, except for a reservation
//! whose owner is gone. Safety rests on the versions of records, never on clocks: an expired lease lets others say that
//! the outcome is unknown, or take over a create that was not sent.

mod entry;
mod in_flight;
mod listing;
mod record;
mod versioned_record;

#[cfg(test)]
mod tests;

pub use entry::{CreateEnd, JournalEntry};
pub use listing::{UnsettledCreate, UnsettledReason, unsettled};
pub use record::{
    ANSWER_BYTES_MAX, CreateRecord, CreateState, Fingerprint, RecordedAnswer, UnreadableRecord,
};

use crate::state::calendar::{unix_ms, whole_ms};
use crate::state::records::{Record, RecordContent, RecordKind};
use crate::state::{StateStore, StoreUnavailable};
use entry::uncancelled;
use in_flight::InFlightKeys;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// How long a create in flight is taken to be under way after its gateway last said so.
const LEASE: Duration = Duration::from_secs(15);
/// How often a waiting duplicate reads the record, in case another gateway changes it.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The journal. It outlives snapshots, and knows which keys have a create in flight in this process.
#[derive(Default)]
pub struct CreateJournal {
    in_flight: InFlightKeys,
}

/// How long records are kept, and how many.
#[derive(Clone, Copy, Debug)]
pub struct JournalLimits {
    /// How long a recorded answer is kept, from the start of its create.
    pub keep: Duration,
    /// How long a create is kept whose outcome is unknown; not shorter than `keep`.
    pub keep_unknown: Duration,
    /// Maximum number of records of one caller.
    pub records_max: u32,
}

/// A create as its exchange describes it.
#[derive(Clone, Debug)]
pub struct CreateRequest {
    pub request_id: Arc<str>,
    pub caller: Arc<str>,
    pub route: Arc<str>,
    pub model: Option<Arc<str>>,
}

/// The key that a caller sent, and the request that came with it.
#[derive(Clone, Debug)]
pub struct KeyedRequest {
    /// Unique for caller, route and the text of the key.
    pub record_key: Arc<str>,
    pub fingerprint: Fingerprint,
    /// How long after its start a create is waited for by its duplicates.
    pub wait_max: Duration,
}

/// What becomes of a request with a key.
pub enum KeyClaim {
    /// It is the first one, and may be sent.
    First(JournalEntry),
    /// The first one has this answer.
    Answer(AnswerReplay),
    /// The first one had an answer that was too large to be kept.
    AnswerNotKept { request_id: String },
    /// Nobody knows what became of the first one.
    OutcomeUnknown { request_id: String },
    /// The first one was another request.
    OtherRequest,
    /// The first one is under way.
    InFlight,
}

/// A recorded answer for another caller of the same key.
#[derive(Debug)]
pub struct AnswerReplay {
    pub answer: RecordedAnswer,
    /// The version of the record, if the answer is not known to have reached a caller.
    pub undelivered: Option<u64>,
}

/// Why the journal cannot vouch for a create.
#[derive(Debug, Error)]
pub enum JournalError {
    #[error(transparent)]
    Store(#[from] StoreUnavailable),
    #[error("the caller has as many records as it may have")]
    Full,
    #[error("the record was taken over by another request")]
    TakenOver,
    #[error(transparent)]
    Unreadable(#[from] UnreadableRecord),
    #[error("the process is ending")]
    Ending,
}

impl CreateJournal {
    /// Claims a key: at once if it is new, otherwise when the first request with it has ended.
    ///
    /// # Errors
    /// The key could not be stored, so nothing may be sent.
    pub async fn claim(
        self: &Arc<Self>,
        store: &Arc<dyn StateStore>,
        request: &CreateRequest,
        keyed: &KeyedRequest,
        limits: JournalLimits,
    ) -> Result<KeyClaim, JournalError> {
        let mut existing = None;
        loop {
            // Taken before the record is read, so that the end of the create is not missed.
            let ended = self.in_flight.end_of(&keyed.record_key);
            let found = match existing.take() {
                Some(found) => found,
                None => match self.insert(store, request, keyed, limits).await? {
                    KeyInsertion::First(entry) => return Ok(KeyClaim::First(entry)),
                    KeyInsertion::Exists(found) => found,
                },
            };
            let record = CreateRecord::decode(&found.content.value)?;
            match decide(record, found.version, keyed) {
                RecordDecision::Reply(claim) => return Ok(claim),
                RecordDecision::TakeOver => {
                    let took = self.take_over(store, request, keyed, limits, found.version);
                    if let Some(entry) = took.await? {
                        return Ok(KeyClaim::First(entry));
                    }
                }
                RecordDecision::Wait => ended.within(POLL_INTERVAL).await,
            }
            let records = store.records();
            let record = records.get(RecordKind::IdempotencyKey, &keyed.record_key);
            existing = record.get().await?;
        }
    }

    /// Records in the background that a caller received the answer of this version of a record.
    pub fn note_delivery(store: Arc<dyn StateStore>, record_key: Arc<str>, version: u64) {
        tokio::spawn(async move {
            let (records, kind) = (store.records(), RecordKind::IdempotencyKey);
            let found = records.get(kind, &record_key).get().await.ok().flatten();
            let Some(found) = found.filter(|found| found.version == version) else {
                return;
            };
            let Ok(mut record) = CreateRecord::decode(&found.content.value) else {
                return;
            };
            if let CreateState::Answer { is_delivered, .. } = &mut record.state {
                *is_delivered = true;
            }
            let content = RecordContent {
                value: record.encode(),
                ..found.content
            };
            let replaced = records.replace(kind, &record_key, version, content);
            if let Err(error) = replaced.get().await {
                tracing::debug!(%error, "cannot store that a recorded answer was delivered");
            }
        });
    }

    async fn insert(
        self: &Arc<Self>,
        store: &Arc<dyn StateStore>,
        request: &CreateRequest,
        keyed: &KeyedRequest,
        limits: JournalLimits,
    ) -> Result<KeyInsertion, JournalError> {
        let entry = keyed_entry(store, request, keyed, limits);
        let journal = self.clone();
        // In a task of its own: a caller who leaves must not leave a reservation without an owner.
        uncancelled(async move {
            Ok(match entry.reserve(&journal).await? {
                None => KeyInsertion::First(entry),
                Some(found) => KeyInsertion::Exists(found),
            })
        })
        .await
    }

    /// Takes over a reservation whose owner is gone; `None` if somebody else changed it first.
    async fn take_over(
        self: &Arc<Self>,
        store: &Arc<dyn StateStore>,
        request: &CreateRequest,
        keyed: &KeyedRequest,
        limits: JournalLimits,
        version: u64,
    ) -> Result<Option<JournalEntry>, JournalError> {
        let entry = keyed_entry(store, request, keyed, limits);
        let journal = self.clone();
        uncancelled(async move {
            let took = entry.take_over(version, &journal).await?;
            Ok(took.then_some(entry))
        })
        .await
    }
}

/// The result of an insertion under a key.
enum KeyInsertion {
    First(JournalEntry),
    Exists(Record),
}

/// What a record means for another request with its key.
enum RecordDecision {
    Reply(KeyClaim),
    /// Nothing was sent, and nobody will send it.
    TakeOver,
    Wait,
}

fn keyed_entry(
    store: &Arc<dyn StateStore>,
    request: &CreateRequest,
    keyed: &KeyedRequest,
    limits: JournalLimits,
) -> JournalEntry {
    let kind = RecordKind::IdempotencyKey;
    let record = CreateRecord::new(request, Some(&keyed.fingerprint));
    JournalEntry::new(store, kind, keyed.record_key.clone(), record, limits)
}

fn decide(record: CreateRecord, version: u64, keyed: &KeyedRequest) -> RecordDecision {
    let now_ms = unix_ms();
    let is_expired = |lease_ms: u64| lease_ms <= now_ms;
    if let CreateState::Reserved { lease_ms } = record.state
        && is_expired(lease_ms)
    {
        return RecordDecision::TakeOver;
    }
    if record.fingerprint.as_ref() != Some(&keyed.fingerprint) {
        return RecordDecision::Reply(KeyClaim::OtherRequest);
    }
    let request_id = record.request_id;
    RecordDecision::Reply(match record.state {
        CreateState::Answer {
            answer: Some(answer),
            is_delivered,
            ..
        } => KeyClaim::Answer(AnswerReplay {
            answer,
            undelivered: (!is_delivered).then_some(version),
        }),
        CreateState::Answer { answer: None, .. } => KeyClaim::AnswerNotKept { request_id },
        CreateState::OutcomeUnknown { .. } => KeyClaim::OutcomeUnknown { request_id },
        CreateState::Sending { lease_ms, .. } if is_expired(lease_ms) => {
            KeyClaim::OutcomeUnknown { request_id }
        }
        CreateState::Reserved { .. } | CreateState::Sending { .. } => {
            let wait_max = whole_ms(keyed.wait_max);
            if now_ms < record.created_ms.saturating_add(wait_max) {
                return RecordDecision::Wait;
            }
            KeyClaim::InFlight
        }
    })
}

/// The end of a lease that begins now, in Unix milliseconds.
fn lease_ms() -> u64 {
    unix_ms() + whole_ms(LEASE)
}
