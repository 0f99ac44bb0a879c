//! The journal of paid creates: what is stored of each before it is sent, so that none is lost or made twice.
//!
//! A create with an `Idempotency-Key` has a record under that key, any other one a record under its request id. The
//! exchange that owns the record changes it through a [`JournalEntryHandle`]; others only read it, except for a reservation
//! whose owner is gone. Safety rests on the versions of records, never on clocks: after a lease has
//! expired, others report the outcome as unknown, or take over a create that was not sent.

mod end;
mod entry;
mod in_flight;
mod listing;
mod record;
mod recording_memory;
mod settle;
mod versioned_record;
mod waiting;

#[cfg(test)]
mod tests;

pub use end::CreateEnd;
pub use entry::JournalEntryHandle;
pub use listing::{UnsettledCreate, UnsettledReason, unsettled};
pub use record::{
    CreateFingerprint, CreateMoney, CreateRecord, CreateState, INLINE_BODY_MAX, RecordedBody,
    RecordedResponse, UnreadableRecord,
};
pub use recording_memory::RecordingMemoryShare;
pub use settle::{OperatorVerdict, SettleResult, settle};

use end::PendingEndCount;
use entry::run_to_end;
use headgate_core::request_id::RequestId;
use headgate_core::state::calendar::{unix_ms, whole_ms};
use headgate_core::state::records::{Record, RecordContent, RecordKind};
use headgate_core::state::{StateStore, StoreUnavailable};
use in_flight::{InFlightCreateWatch, InFlightKeys, InFlightPhase};
use recording_memory::RecordingsTotal;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thiserror::Error;
use versioned_record::CreateRecordWriter;
use waiting::WaitingDuplicates;

/// The lifetime of the lease of a create in flight, which its gateway renews.
const LEASE: Duration = Duration::from_secs(15);
/// How often the record of a create in another gateway is read for its waiting duplicates.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The same for a create in this process, which announces its end.
const LOCAL_POLL_INTERVAL: Duration = Duration::from_secs(5);
/// How long a request waits for the end of another request under its key, which may free the key.
const OTHER_REQUEST_WAIT: Duration = Duration::from_secs(1);

/// The journal. It outlives snapshots, and knows which keys have a create in flight in this process.
#[derive(Default)]
pub struct CreateJournal {
    in_flight: InFlightKeys,
    waiting: WaitingDuplicates,
    pending_ends: PendingEndCount,
    recordings: RecordingsTotal,
}

/// How long records are kept, and how many.
#[derive(Clone, Copy, Debug)]
pub struct JournalLimits {
    /// How long a recorded response is kept, from the end of its create.
    pub keep: Duration,
    /// How long a create is kept whose outcome is unknown; not shorter than `keep`.
    pub keep_unknown: Duration,
    /// Maximum number of keys of one caller, apart from those whose outcome is unknown.
    pub keys_max: u32,
}

/// A create as its exchange describes it.
#[derive(Clone, Debug)]
pub struct CreateRequest {
    pub request_id: RequestId,
    pub caller: Arc<str>,
    pub route: Arc<str>,
    pub model: Option<Arc<str>>,
}

/// The key that a caller sent, and the request that came with it.
#[derive(Clone, Debug)]
pub struct KeyedRequest {
    /// Unique for caller, route and the text of the key.
    pub record_key: Arc<str>,
    pub fingerprint: CreateFingerprint,
    /// How long after its start a create is waited for by its duplicates.
    pub wait_max: Duration,
    /// The size of the request, which is held while it waits.
    pub body_bytes: usize,
}

/// The result of claiming a key for a request.
pub enum KeyClaim {
    /// The request is the first one with its key, and may be sent.
    FirstRequest(JournalEntryHandle),
    /// The first request has this response.
    Response(ResponseReplay),
    /// The first request had a response that is not kept.
    ResponseNotKept { request_id: String },
    /// The provider may have accepted the first request.
    OutcomeUnknown { request_id: String },
    /// The first request had other content.
    OtherRequest,
    /// The first request is in flight, and this one has waited for `wait_max` or may not wait.
    InFlight,
}

/// A recorded response for another caller of the same key.
#[derive(Debug)]
pub struct ResponseReplay {
    pub response: RecordedResponse,
    /// The request id of the first request.
    pub request_id: String,
    /// The version of the record, if the response is not known to have reached a caller.
    pub undelivered: Option<u64>,
}

/// Why a create is not stored.
#[derive(Debug, Error)]
pub enum JournalError {
    #[error(transparent)]
    Store(#[from] StoreUnavailable),
    #[error("the caller has {keys_max} stored keys, its maximum")]
    Full { keys_max: u32 },
    #[error("the record was taken over by another request")]
    TakenOver,
    #[error(transparent)]
    Unreadable(#[from] UnreadableRecord),
    #[error("the process is ending")]
    Ending,
    /// The exchange ended meanwhile, so that nobody waits for the result.
    #[error("the create has ended")]
    Ended,
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
        let began = Instant::now();
        let mut permit = None;
        let mut existing = None;
        let mut local = self.in_flight.find(&keyed.record_key);
        loop {
            let found = match existing.take() {
                Some(found) => found,
                None => match self.insert(store, request, keyed, limits).await? {
                    KeyInsertion::Inserted(entry) => return Ok(KeyClaim::FirstRequest(entry)),
                    KeyInsertion::Exists(found) => found,
                },
            };
            let record = CreateRecord::decode(&found.content.value)?;
            let phase = local.as_ref().map(InFlightCreateWatch::phase);
            let wait_max = match decide(record, found.version, keyed, phase, began.elapsed()) {
                RecordDecision::Reply(claim) => return Ok(claim),
                RecordDecision::TakeOver => {
                    let took = self.take_over(store, request, keyed, limits, found.version);
                    if let Some(entry) = took.await? {
                        return Ok(KeyClaim::FirstRequest(entry));
                    }
                    Duration::ZERO
                }
                RecordDecision::Wait(wait_max) => wait_max,
            };
            if permit.is_none() {
                let (key, caller) = (&keyed.record_key, &request.caller);
                permit = self.waiting.admit(key, caller, keyed.body_bytes);
            }
            let Some(permit) = &permit else {
                return Ok(KeyClaim::InFlight);
            };
            let not_before = wait(local.take(), wait_max).await;
            // Before the read: a create that ends between the two has its end in the next record that is read.
            local = self.in_flight.find(&keyed.record_key);
            existing = permit.read(&**store, not_before).await?;
        }
    }

    /// The entry of a create without a key. Nothing is stored before it is sent.
    pub fn entry_without_key(
        &self,
        store: &Arc<dyn StateStore>,
        request: &CreateRequest,
        limits: JournalLimits,
    ) -> JournalEntryHandle {
        let key = Arc::from(&*request.request_id);
        let record = CreateRecord::new(request, None);
        self.entry(store, RecordKind::PaidCreate, key, record, limits)
    }

    /// The memory of a new recording of a streamed response.
    pub fn recording_memory(&self) -> RecordingMemoryShare {
        RecordingMemoryShare::from_total(&self.recordings)
    }

    /// Waits until the ends of all creates so far are stored.
    pub async fn until_ends_are_stored(&self) {
        self.pending_ends.until_stored().await;
    }

    fn entry(
        &self,
        store: &Arc<dyn StateStore>,
        kind: RecordKind,
        key: Arc<str>,
        record: CreateRecord,
        limits: JournalLimits,
    ) -> JournalEntryHandle {
        let stored = CreateRecordWriter::new(store, kind, key.clone(), record, limits);
        JournalEntryHandle::new(kind, key, stored, self.pending_ends.clone())
    }

    fn keyed_entry(
        &self,
        store: &Arc<dyn StateStore>,
        request: &CreateRequest,
        keyed: &KeyedRequest,
        limits: JournalLimits,
    ) -> JournalEntryHandle {
        let (kind, key) = (RecordKind::IdempotencyKey, keyed.record_key.clone());
        let record = CreateRecord::new(request, Some(&keyed.fingerprint));
        self.entry(store, kind, key, record, limits)
    }

    /// Records in the background that a caller received the response of this version of a record.
    pub fn record_delivery(store: Arc<dyn StateStore>, record_key: Arc<str>, version: u64) {
        tokio::spawn(async move {
            let (records, kind) = (store.records(), RecordKind::IdempotencyKey);
            let found = records.get(kind, &record_key).get().await.ok().flatten();
            let Some(found) = found.filter(|found| found.version == version) else {
                return;
            };
            let Ok(mut record) = CreateRecord::decode(&found.content.value) else {
                return;
            };
            if let CreateState::Accepted { is_delivered, .. } = &mut record.state {
                *is_delivered = true;
            }
            let content = RecordContent {
                value: record.encode(),
                ..found.content
            };
            let replaced = records.replace(kind, &record_key, version, content);
            if let Err(error) = replaced.get().await {
                tracing::debug!(%error, "cannot store that a recorded response was delivered");
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
        let entry = self.keyed_entry(store, request, keyed, limits);
        let journal = self.clone();
        // In a task of its own: a caller who leaves must not leave a reservation without an owner.
        run_to_end(async move {
            Ok(match entry.reserve(&journal).await? {
                None => KeyInsertion::Inserted(entry),
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
    ) -> Result<Option<JournalEntryHandle>, JournalError> {
        let entry = self.keyed_entry(store, request, keyed, limits);
        let journal = self.clone();
        run_to_end(async move {
            let took = entry.take_over(version, &journal).await?;
            Ok(took.then_some(entry))
        })
        .await
    }
}

/// The result of an insertion under a key.
enum KeyInsertion {
    Inserted(JournalEntryHandle),
    Exists(Record),
}

/// What a record means for another request with its key.
enum RecordDecision {
    Reply(KeyClaim),
    /// Nothing was sent, and nobody will send it.
    TakeOver,
    /// The create is in flight; wait for this long at most.
    Wait(Duration),
}

/// Waits for a create that is processed in this process or in another gateway; returns the time from which on its
/// record is worth reading.
async fn wait(local: Option<InFlightCreateWatch>, wait_max: Duration) -> Instant {
    match local {
        Some(local) => {
            local.wait_at_most(wait_max.min(LOCAL_POLL_INTERVAL)).await;
            Instant::now()
        }
        None => {
            let wait = wait_max.min(POLL_INTERVAL);
            tokio::time::sleep(wait).await;
            // Those who wait began at different times, and one read serves them all.
            Instant::now() - wait / 2
        }
    }
}

/// What a record means for a request that has waited for `waited`. `phase` is that of the create in this process.
fn decide(
    record: CreateRecord,
    version: u64,
    keyed: &KeyedRequest,
    phase: Option<InFlightPhase>,
    waited: Duration,
) -> RecordDecision {
    let now_ms = unix_ms();
    let is_expired = |lease_ms: u64| lease_ms <= now_ms;
    if let CreateState::Reserved { lease_ms } = record.state
        && is_expired(lease_ms)
        && phase.is_none()
    {
        return RecordDecision::TakeOver;
    }
    let ends_ms = record.created_ms.saturating_add(whole_ms(keyed.wait_max));
    let rest = Duration::from_millis(ends_ms.saturating_sub(now_ms));
    // By its own clock, too: the one of another gateway may be wrong.
    let rest = rest.min(keyed.wait_max.saturating_sub(waited));
    let is_other = record.fingerprint.as_ref() != Some(&keyed.fingerprint);
    let rest = match phase {
        // What it was is known here, and its record is written at any moment.
        Some(InFlightPhase::Ending) => rest,
        _ if is_other => rest.min(OTHER_REQUEST_WAIT.saturating_sub(waited)),
        _ => rest,
    };
    let is_in_flight = match record.state {
        CreateState::Reserved { .. } => true,
        // The owner is here, although its store was unreachable for a while.
        CreateState::Sending { lease_ms, .. } => phase.is_some() || !is_expired(lease_ms),
        CreateState::Accepted { .. } | CreateState::OutcomeUnknown { .. } => false,
    };
    if is_in_flight && !rest.is_zero() {
        return RecordDecision::Wait(rest);
    }
    if is_other {
        return RecordDecision::Reply(KeyClaim::OtherRequest);
    }
    let request_id = record.request_id;
    RecordDecision::Reply(match record.state {
        CreateState::Accepted {
            response: Some(response),
            is_delivered,
            ..
        } => KeyClaim::Response(ResponseReplay {
            response,
            request_id,
            undelivered: (!is_delivered).then_some(version),
        }),
        CreateState::Accepted { response: None, .. } => KeyClaim::ResponseNotKept { request_id },
        CreateState::Reserved { .. } | CreateState::Sending { .. } if is_in_flight => {
            KeyClaim::InFlight
        }
        CreateState::Reserved { .. }
        | CreateState::Sending { .. }
        | CreateState::OutcomeUnknown { .. } => KeyClaim::OutcomeUnknown { request_id },
    })
}

/// The end of a lease that begins now, in Unix milliseconds.
fn lease_ms() -> u64 {
    unix_ms() + whole_ms(LEASE)
}
