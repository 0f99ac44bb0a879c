//! Stores content once, and finds it.

use super::content::{ContentDescriptor, ContentDigest};
use super::content_type::runs_in_browsers;
use super::counters::WriteOutcome;
use super::error::MediaStoreError;
use super::object::{ObjectRecord, ObjectState, StoredObject, WRITE_LEASE, random_write};
use super::reservation::{ReservationResult, WriteReservation};
use super::settings::MediaSettings;
use super::shared::SharedMediaState;
use super::storage::ObjectStorage;
use bytes::Bytes;
use headgate_core::state::StateStore;
use headgate_core::state::calendar::{unix_ms, whole_ms};
use headgate_core::state::records::{InsertResult, Record, RecordKind};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout_at};

/// How long a request waits for its turn to write, and for another one that writes the same content.
const WAIT_FOR_WRITER: Duration = Duration::from_secs(60);
/// The first wait for another writer; each further one is twice as long, up to the second.
const WRITER_POLL_INTERVALS: (Duration, Duration) =
    (Duration::from_millis(50), Duration::from_secs(1));
/// An expiry that is this much later is not worth a write.
const EXPIRY_SLACK: Duration = Duration::from_secs(60);

/// Stores content by its digest; the same bytes are stored once.
pub struct MediaStore {
    pub(super) storage: ObjectStorage,
    pub(super) state: Arc<dyn StateStore>,
    pub(super) shared: Arc<SharedMediaState>,
    pub settings: MediaSettings,
}

impl MediaStore {
    /// A store that opens nothing until it is used.
    ///
    /// # Errors
    /// The settings cannot be those of a store; a sentence for the operator.
    pub fn new(
        settings: MediaSettings,
        state: Arc<dyn StateStore>,
        shared: Arc<SharedMediaState>,
    ) -> Result<Self, String> {
        Ok(Self {
            storage: ObjectStorage::new(&settings.location, &shared)?,
            state,
            shared,
            settings,
        })
    }

    /// Stores content for at least the configured time from now, unless it is stored already. The write continues if
    /// the caller of this function stops waiting for it.
    ///
    /// # Errors
    /// The content could not be stored; nothing remains of it.
    pub async fn put(
        self: &Arc<Self>,
        owner: &Arc<str>,
        content: &ContentDescriptor,
        pieces: impl Iterator<Item = Bytes> + Send + 'static,
    ) -> Result<StoredObject, MediaStoreError> {
        let (turns, lifetime) = (self.shared.writes.clone(), self.settings.ttl);
        self.put_for(owner, content, pieces, turns, lifetime).await
    }

    /// The same with other `turns` to write, and for another time than the configured one.
    pub(super) async fn put_for(
        self: &Arc<Self>,
        owner: &Arc<str>,
        content: &ContentDescriptor,
        pieces: impl Iterator<Item = Bytes> + Send + 'static,
        turns: Arc<Semaphore>,
        lifetime: Duration,
    ) -> Result<StoredObject, MediaStoreError> {
        let (store, owner, content) = (self.clone(), owner.clone(), content.clone());
        let storing = tokio::spawn(async move {
            let stored = store.put_for_owner(&owner, &content, pieces, &turns, lifetime);
            let stored = stored.await;
            let outcome = match &stored {
                Ok((_, outcome)) => *outcome,
                Err(MediaStoreError::OwnerFull | MediaStoreError::StoreFull) => {
                    WriteOutcome::OverQuota
                }
                Err(_) => WriteOutcome::Failed,
            };
            store.shared.counters.count_write(outcome, content.size);
            stored.map(|(object, _)| object)
        });
        storing.await.map_err(|_| MediaStoreError::ContentChanged)?
    }

    /// The object with this content; `None` if there is none or it has expired.
    ///
    /// # Errors
    /// The records are unreachable.
    pub async fn find(
        &self,
        digest: ContentDigest,
    ) -> Result<Option<StoredObject>, MediaStoreError> {
        let key = digest.to_string();
        let found = self.state.records().get(RecordKind::MediaObject, &key);
        let found = found.get().await?;
        let record = found.and_then(|found| ObjectRecord::read(&found.content.value));
        let live = record.filter(|record| {
            record.state == ObjectState::Stored && unix_ms() / 1000 < record.expires_s
        });
        Ok(live.map(|record| stored(digest, &record)))
    }

    /// Whether URLs of objects lead to the object store itself.
    pub fn is_presigned(&self) -> bool {
        self.storage.is_presigned()
    }

    /// The URL by which whoever has it reads an object from the object store itself, until it expires; `None` if URLs
    /// do not lead there.
    ///
    /// # Errors
    /// The URL cannot be signed.
    pub async fn presigned_url(
        &self,
        object: &StoredObject,
        content_type: &str,
    ) -> Result<Option<String>, MediaStoreError> {
        let remaining = object.expires_s.saturating_sub(unix_ms() / 1000);
        let signed = self.storage.presigned_url(
            &object.location,
            content_type,
            runs_in_browsers(content_type),
            Duration::from_secs(remaining),
        );
        signed.await
    }

    /// Charges the owner, then finds or writes the object.
    async fn put_for_owner(
        &self,
        owner: &Arc<str>,
        content: &ContentDescriptor,
        pieces: impl Iterator<Item = Bytes> + Send + 'static,
        turns: &Arc<Semaphore>,
        lifetime: Duration,
    ) -> Result<(StoredObject, WriteOutcome), MediaStoreError> {
        let expires_s = (unix_ms() + whole_ms(lifetime)) / 1000;
        let recorded = self.record_use(owner, content, expires_s).await?;
        let stored = self.put_once(content, expires_s, pieces, turns).await;
        if stored.is_err() {
            self.forget_use(owner, recorded, content.size).await;
        }
        stored
    }

    async fn put_once(
        &self,
        content: &ContentDescriptor,
        expires_s: u64,
        pieces: impl Iterator<Item = Bytes> + Send + 'static,
        turns: &Arc<Semaphore>,
    ) -> Result<(StoredObject, WriteOutcome), MediaStoreError> {
        let until = Instant::now() + WAIT_FOR_WRITER;
        let (mut wait, wait_max) = WRITER_POLL_INTERVALS;
        loop {
            // Before the reservation, whose lease would pass in the queue.
            let turn = turn_to_write(turns, until).await?;
            match self.reserve(content, expires_s).await? {
                ReservationResult::Stored(object) => return Ok((object, WriteOutcome::Reused)),
                ReservationResult::Write(reservation) => {
                    let record = self.write(reservation, content, pieces).await?;
                    return Ok((stored(content.digest, &record), WriteOutcome::Stored));
                }
                ReservationResult::Busy if until < Instant::now() => {
                    return Err(MediaStoreError::Busy);
                }
                ReservationResult::Busy => {
                    drop(turn);
                    sleep(wait).await;
                    wait = (wait * 2).min(wait_max);
                }
            }
        }
    }

    /// Finds the object, or gets the right to write it.
    async fn reserve(
        &self,
        content: &ContentDescriptor,
        expires_s: u64,
    ) -> Result<ReservationResult, MediaStoreError> {
        let key = content.digest.to_string();
        let now_ms = unix_ms();
        let wanted = ObjectRecord {
            state: ObjectState::Writing {
                lease_until_ms: now_ms + whole_ms(WRITE_LEASE),
            },
            write: random_write(),
            size: content.size,
            expires_s,
        };
        self.check_space(content.size)?;
        let records = self.state.records();
        let inserted = records.insert(
            RecordKind::MediaObject,
            &key,
            wanted.content(&key),
            u32::MAX,
        );
        let found = match inserted.get().await? {
            InsertResult::OwnerFull => return Err(MediaStoreError::StoreFull),
            InsertResult::Inserted { version } => {
                return Ok(ReservationResult::Write(WriteReservation {
                    key,
                    version,
                    record: wanted,
                    stale_object: None,
                }));
            }
            InsertResult::Exists(found) => found,
        };
        self.reserve_known(content.digest, wanted, found).await
    }

    /// Like [`Self::reserve`], where a record was `found`.
    async fn reserve_known(
        &self,
        digest: ContentDigest,
        wanted: ObjectRecord,
        found: Record,
    ) -> Result<ReservationResult, MediaStoreError> {
        let key = digest.to_string();
        let known = ObjectRecord::read(&found.content.value);
        match &known {
            Some(known) if known.state == ObjectState::Stored => {
                let location = known.location(&key);
                if self.storage.contains(&location, known.size).await? {
                    return self.extend(digest, known, found, wanted.expires_s).await;
                }
            }
            Some(ObjectRecord {
                state: ObjectState::Writing { lease_until_ms },
                ..
            }) if unix_ms() < *lease_until_ms => return Ok(ReservationResult::Busy),
            Some(_) | None => {}
        }
        let records = self.state.records();
        let replacing = wanted.content(&key);
        let taken = records.replace(RecordKind::MediaObject, &key, found.version, replacing);
        let Some(version) = taken.get().await? else {
            return Ok(ReservationResult::Busy);
        };
        Ok(ReservationResult::Write(WriteReservation {
            stale_object: known.map(|known| known.location(&key)),
            key,
            version,
            record: wanted,
        }))
    }

    /// Whether the store has space for `size` more bytes, whether or not it has this content: the error would show what
    /// others have stored.
    fn check_space(&self, size: u64) -> Result<(), MediaStoreError> {
        let used = self.shared.counters.totals().bytes;
        match used.saturating_add(size) <= self.settings.limits.bytes {
            true => Ok(()),
            false => Err(MediaStoreError::StoreFull),
        }
    }

    /// Keeps a stored object at least until `expires_s`.
    async fn extend(
        &self,
        digest: ContentDigest,
        known: &ObjectRecord,
        found: Record,
        expires_s: u64,
    ) -> Result<ReservationResult, MediaStoreError> {
        let now_s = unix_ms() / 1000;
        let is_late_enough = known.expires_s + EXPIRY_SLACK.as_secs() >= expires_s;
        if is_late_enough && now_s < known.expires_s {
            return Ok(ReservationResult::Stored(stored(digest, known)));
        }
        let later = ObjectRecord {
            expires_s: expires_s.max(known.expires_s),
            ..known.clone()
        };
        let content = later.content(&found.key);
        let records = self.state.records();
        let replaced = records.replace(RecordKind::MediaObject, &found.key, found.version, content);
        Ok(match replaced.get().await? {
            Some(_) => ReservationResult::Stored(stored(digest, &later)),
            None => ReservationResult::Busy,
        })
    }
}

fn stored(digest: ContentDigest, record: &ObjectRecord) -> StoredObject {
    StoredObject {
        digest,
        size: record.size,
        expires_s: record.expires_s,
        location: record.location(&digest.to_string()),
    }
}

async fn turn_to_write(
    turns: &Arc<Semaphore>,
    until: Instant,
) -> Result<OwnedSemaphorePermit, MediaStoreError> {
    match timeout_at(until, turns.clone().acquire_owned()).await {
        Ok(Ok(turn)) => Ok(turn),
        Ok(Err(_)) | Err(_) => Err(MediaStoreError::Busy),
    }
}
