//! Stores content once, and reads it back.

use super::content::{ContentDigest, ContentInfo};
use super::error::MediaStoreError;
use super::object::{ObjectRecord, ObjectState, StoredObject, WRITE_LEASE, random_write};
use super::reservation::{ReservationResult, WriteReservation};
use super::settings::MediaSettings;
use crate::state::StateStore;
use crate::state::calendar::{unix_ms, whole_ms};
use crate::state::records::{InsertResult, Record, RecordKind};
use bytes::Bytes;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, ObjectStoreExt};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout_at};

/// How long a request waits for another one that writes the same content.
const WAIT_FOR_WRITER: Duration = Duration::from_secs(60);
const WRITER_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// An expiry that is this much later is not worth a write.
const EXPIRY_SLACK: Duration = Duration::from_secs(60);
/// The maximum number of objects that are written at a time; each takes a thread of the pool for blocking work, which
/// has 512.
const WRITES_MAX: usize = 64;
/// Bytes that are read at a time.
const PIECE_BYTES: u64 = 256 << 10;

/// Stores content by its digest; the same bytes are stored once.
pub struct MediaStore {
    pub(super) objects: Box<dyn ObjectStore>,
    pub(super) state: Arc<dyn StateStore>,
    pub settings: MediaSettings,
    /// Bounds the writes at a time, each of which needs threads.
    writes: Arc<Semaphore>,
}

/// Reads a part of an object, piece by piece.
pub struct ObjectReader {
    store: Arc<MediaStore>,
    location: Path,
    next: u64,
    end: u64,
}

impl MediaStore {
    /// A store that opens nothing until it is used.
    pub fn new(settings: MediaSettings, state: Arc<dyn StateStore>) -> Self {
        let files = LocalFileSystem::new().with_fsync(true);
        let prefix = Path::from_absolute_path(&settings.local.directory).unwrap_or_default();
        Self {
            objects: Box::new(PrefixStore::new(files, prefix)),
            state,
            settings,
            writes: Arc::new(Semaphore::new(WRITES_MAX)),
        }
    }

    /// Stores content for at least the configured time from now, unless it is stored already. The write continues if
    /// the caller of this function stops waiting for it.
    ///
    /// # Errors
    /// The content could not be stored; nothing remains of it.
    pub async fn put(
        self: &Arc<Self>,
        owner: &Arc<str>,
        content: &ContentInfo,
        pieces: impl Iterator<Item = Bytes> + Send + 'static,
    ) -> Result<StoredObject, MediaStoreError> {
        let lifetime = self.settings.ttl;
        self.put_for(owner, content, pieces, lifetime).await
    }

    /// The same for another time than the configured one.
    pub(super) async fn put_for(
        self: &Arc<Self>,
        owner: &Arc<str>,
        content: &ContentInfo,
        pieces: impl Iterator<Item = Bytes> + Send + 'static,
        lifetime: Duration,
    ) -> Result<StoredObject, MediaStoreError> {
        let until = Instant::now() + WAIT_FOR_WRITER;
        // Before the reservation, whose lease would pass in the queue.
        let turn = timeout_at(until, self.writes.clone().acquire_owned()).await;
        let turn = turn.map_err(|_| MediaStoreError::Busy)?;
        loop {
            match self
                .reserve(owner, content.digest, content.size, lifetime)
                .await?
            {
                ReservationResult::Stored(object) => return Ok(object),
                ReservationResult::Write(reservation) => {
                    let store = self.clone();
                    let writing = tokio::spawn(async move {
                        let written = store.write(reservation, pieces).await;
                        drop(turn);
                        written
                    });
                    let record = writing
                        .await
                        .map_err(|_| MediaStoreError::ContentChanged)??;
                    return Ok(stored(content.digest, &record));
                }
                ReservationResult::Busy if until < Instant::now() => {
                    return Err(MediaStoreError::Busy);
                }
                ReservationResult::Busy => sleep(WRITER_POLL_INTERVAL).await,
            }
        }
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

    /// Reads the bytes of an object from `start` to before `end`.
    pub fn reader(self: &Arc<Self>, object: &StoredObject, start: u64, end: u64) -> ObjectReader {
        ObjectReader {
            store: self.clone(),
            location: object.location.clone(),
            next: start,
            end,
        }
    }

    /// Finds the object, or gets the right to write it.
    async fn reserve(
        &self,
        owner: &Arc<str>,
        digest: ContentDigest,
        size: u64,
        lifetime: Duration,
    ) -> Result<ReservationResult, MediaStoreError> {
        let key = digest.to_string();
        let now_ms = unix_ms();
        let wanted = ObjectRecord {
            state: ObjectState::Writing {
                lease_until_ms: now_ms + whole_ms(WRITE_LEASE),
            },
            write: random_write(),
            size,
            expires_s: (now_ms + whole_ms(lifetime)) / 1000,
        };
        let records = self.state.records();
        let content = wanted.content(owner);
        let per_owner = self.settings.objects_per_caller;
        let inserted = records.insert(RecordKind::MediaObject, &key, content, per_owner);
        let found = match inserted.get().await? {
            InsertResult::OwnerFull => return Err(MediaStoreError::OwnerFull),
            InsertResult::Inserted { version } => {
                return Ok(ReservationResult::Write(WriteReservation {
                    key,
                    owner: owner.clone(),
                    version,
                    record: wanted,
                    abandoned: None,
                }));
            }
            InsertResult::Exists(found) => found,
        };
        let owner = found.content.owner.clone();
        let known = ObjectRecord::read(&found.content.value);
        match known.as_ref().map(|known| known.state) {
            Some(ObjectState::Stored) if self.is_there(known.as_ref(), &key).await? => {
                let known = known.expect("the state is that of the known record");
                return self.extend(digest, known, found, wanted.expires_s).await;
            }
            Some(ObjectState::Writing { lease_until_ms }) if now_ms < lease_until_ms => {
                return Ok(ReservationResult::Busy);
            }
            Some(ObjectState::Stored | ObjectState::Writing { .. } | ObjectState::Removing)
            | None => {}
        }
        let content = wanted.content(&owner);
        let taken = records.replace(RecordKind::MediaObject, &key, found.version, content);
        let Some(version) = taken.get().await? else {
            return Ok(ReservationResult::Busy);
        };
        Ok(ReservationResult::Write(WriteReservation {
            abandoned: known.map(|known| known.location(&key)),
            key,
            owner,
            version,
            record: wanted,
        }))
    }

    /// Whether the object of a record is in the object store, where somebody else may have removed it.
    async fn is_there(
        &self,
        record: Option<&ObjectRecord>,
        key: &str,
    ) -> Result<bool, MediaStoreError> {
        let Some(record) = record else {
            return Ok(false);
        };
        match self.objects.head(&record.location(key)).await {
            Ok(found) => Ok(found.size == record.size),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps a stored object at least until `expires_s`.
    async fn extend(
        &self,
        digest: ContentDigest,
        known: ObjectRecord,
        found: Record,
        expires_s: u64,
    ) -> Result<ReservationResult, MediaStoreError> {
        let now_s = unix_ms() / 1000;
        let is_late_enough = known.expires_s + EXPIRY_SLACK.as_secs() >= expires_s;
        if is_late_enough && now_s < known.expires_s {
            return Ok(ReservationResult::Stored(stored(digest, &known)));
        }
        let later = ObjectRecord {
            expires_s: expires_s.max(known.expires_s),
            ..known
        };
        let content = later.content(&found.content.owner);
        let records = self.state.records();
        let replaced = records.replace(RecordKind::MediaObject, &found.key, found.version, content);
        Ok(match replaced.get().await? {
            Some(_) => ReservationResult::Stored(stored(digest, &later)),
            None => ReservationResult::Busy,
        })
    }
}

impl ObjectReader {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// The object cannot be read.
    pub async fn next_piece(&mut self) -> Result<Option<Bytes>, MediaStoreError> {
        if self.next >= self.end {
            return Ok(None);
        }
        let end = self.end.min(self.next + PIECE_BYTES);
        let objects = &self.store.objects;
        let piece = objects.get_range(&self.location, self.next..end).await?;
        if piece.len() as u64 != end - self.next {
            return Err(MediaStoreError::ContentChanged);
        }
        self.next = end;
        Ok(Some(piece))
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
