//! Tests of the media store: the same bytes are stored once, and races with removal leave no URL without a file.

use super::object::{ObjectRecord, ObjectState};
use super::{
    ContentDigest, ContentInfo, LocalMediaSettings, MediaSettings, MediaStore, MediaStoreError,
};
use crate::state::StateStore;
use crate::state::calendar::unix_ms;
use crate::state::memory::MemoryStore;
use crate::state::records::{InsertResult, Record, RecordContent, RecordKind};
use bytes::Bytes;
use object_store::ObjectStoreExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const HOUR_MS: u64 = 60 * 60 * 1000;

/// A directory of one test, removed at its end.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "headgate-media-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        Self(std::env::temp_dir().join(name))
    }

    /// The number of files, complete or not.
    fn files(&self) -> usize {
        fn count(folder: &Path) -> usize {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let counts = entries.map(|entry| match entry.path().is_dir() {
                true => count(&entry.path()),
                false => 1,
            });
            counts.sum()
        }
        count(&self.0)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn store_in(directory: &Directory, state: &Arc<dyn StateStore>) -> Arc<MediaStore> {
    let settings = MediaSettings {
        local: LocalMediaSettings {
            directory: directory.0.clone(),
        },
        ttl: Duration::from_secs(60 * 60),
        objects_per_caller: 2,
    };
    Arc::new(MediaStore::new(settings, state.clone()))
}

fn new_store() -> (Directory, Arc<dyn StateStore>, Arc<MediaStore>) {
    let directory = Directory::new();
    let state: Arc<dyn StateStore> = Arc::new(MemoryStore::default());
    let store = store_in(&directory, &state);
    (directory, state, store)
}

/// Content of several parts.
fn content(seed: u8) -> Bytes {
    (0..3_000_000_u32)
        .map(|at| (at % 251) as u8 ^ seed)
        .collect::<Vec<u8>>()
        .into()
}

async fn put(store: &Arc<MediaStore>, content: &Bytes) -> Result<(), MediaStoreError> {
    let pieces: Vec<Bytes> = content.chunks(70_001).map(Bytes::copy_from_slice).collect();
    let info = info(ContentDigest::of(content), content.len() as u64);
    let stored = store.put(&"ann".into(), &info, pieces.into_iter()).await;
    stored.map(drop)
}

fn info(digest: ContentDigest, size: u64) -> ContentInfo {
    ContentInfo {
        digest,
        size,
        content_type: "video/mp4".into(),
    }
}

async fn read(store: &Arc<MediaStore>, digest: ContentDigest) -> Option<Vec<u8>> {
    let object = store.find(digest).await.unwrap()?;
    let mut reader = store.reader(&object, 0, object.size);
    let mut whole = Vec::new();
    while let Some(piece) = reader.next_piece().await.unwrap() {
        whole.extend_from_slice(&piece);
    }
    Some(whole)
}

/// Replaces the record of some content by one in this state, as another gateway would have left it.
async fn leave_record(state: &Arc<dyn StateStore>, digest: ContentDigest, record: &ObjectRecord) {
    let key = digest.to_string();
    let content = RecordContent {
        value: record.value(),
        owner: "ann".into(),
        expires_ms: unix_ms() + HOUR_MS,
        due_ms: Some(0),
    };
    let records = state.records();
    let kind = RecordKind::MediaObject;
    match records
        .insert(kind, &key, content.clone(), 100)
        .get()
        .await
        .unwrap()
    {
        InsertResult::Exists(known) => {
            let replaced = records.replace(kind, &key, known.version, content);
            assert!(replaced.get().await.unwrap().is_some());
        }
        inserted => assert!(matches!(inserted, InsertResult::Inserted { .. })),
    }
}

async fn record_of(state: &Arc<dyn StateStore>, digest: ContentDigest) -> Option<Record> {
    let key = digest.to_string();
    let found = state.records().get(RecordKind::MediaObject, &key);
    found.get().await.unwrap()
}

#[tokio::test]
async fn content_is_read_as_it_was_stored() {
    let (_directory, _, store) = new_store();
    for content in [content(1), Bytes::from_static(b"small")] {
        put(&store, &content).await.unwrap();
        let found = read(&store, ContentDigest::of(&content)).await;
        assert!(found.as_deref() == Some(&content[..]));
    }
    assert_eq!(read(&store, ContentDigest::of(b"never")).await, None);
}

#[tokio::test]
async fn many_writes_of_the_same_bytes_store_them_once() {
    let (directory, state, store) = new_store();
    let other_gateway = store_in(&directory, &state);
    let content = content(2);
    let writes = (0..20).map(|number| {
        let store = [&store, &other_gateway][number % 2].clone();
        let content = content.clone();
        tokio::spawn(async move { put(&store, &content).await })
    });
    for write in writes.collect::<Vec<_>>() {
        write.await.unwrap().unwrap();
    }
    assert_eq!(directory.files(), 1);
}

#[tokio::test]
async fn a_caller_has_a_limited_number_of_files() {
    let (directory, _, store) = new_store();
    for seed in 1..=2 {
        put(&store, &content(seed)).await.unwrap();
    }
    let full = put(&store, &content(3)).await;
    assert!(matches!(full, Err(MediaStoreError::OwnerFull)), "{full:?}");
    put(&store, &content(1)).await.unwrap();
    assert_eq!(directory.files(), 2);
}

#[tokio::test]
async fn content_of_another_size_is_not_stored() {
    let (directory, _, store) = new_store();
    for size in [10, 3_000_001] {
        let digest = ContentDigest::of(b"announced");
        let (owner, announced) = ("ann".into(), info(digest, size));
        let failed = store.put(&owner, &announced, [content(1)].into_iter());
        let failed = failed.await;
        assert!(matches!(failed, Err(MediaStoreError::ContentChanged)));
        assert!(store.find(digest).await.unwrap().is_none());
    }
    assert_eq!(directory.files(), 0);
}

#[tokio::test]
async fn only_expired_files_are_removed_and_by_one_gateway() {
    let (directory, state, store) = new_store();
    let (kept, expired) = (content(1), content(2));
    put(&store, &kept).await.unwrap();
    put(&store, &expired).await.unwrap();
    let digest = ContentDigest::of(&expired);
    let record = record_of(&state, digest).await.unwrap();
    let mut record = ObjectRecord::read(&record.content.value).unwrap();
    record.expires_s = unix_ms() / 1000;
    leave_record(&state, digest, &record).await;
    assert!(store.find(digest).await.unwrap().is_none(), "expired");
    let other_gateway = store_in(&directory, &state);
    let (one, other) = tokio::join!(store.remove_expired(), other_gateway.remove_expired());
    assert_eq!(one.unwrap() + other.unwrap(), 1);
    assert_eq!(directory.files(), 1);
    assert!(read(&store, ContentDigest::of(&kept)).await.is_some());
    put(&store, &expired).await.unwrap();
    assert!(read(&store, digest).await.is_some(), "stored anew");
}

#[tokio::test]
async fn what_a_killed_gateway_left_is_taken_over_and_removed() {
    for state_left in [
        ObjectState::Writing { lease_until_ms: 1 },
        ObjectState::Removing,
        // The record says that the object is there, and somebody removed the file.
        ObjectState::Stored,
    ] {
        let (directory, state, store) = new_store();
        let content = content(4);
        let digest = ContentDigest::of(&content);
        let left = ObjectRecord {
            state: state_left,
            write: 7,
            size: content.len() as u64,
            expires_s: unix_ms() / 1000 + 3600,
        };
        leave_record(&state, digest, &left).await;
        put(&store, &content).await.unwrap();
        assert!(read(&store, digest).await.is_some(), "{state_left:?}");
        assert_eq!(store.remove_expired().await.unwrap(), 0);
        assert_eq!(directory.files(), 1, "{state_left:?}");
    }
}

#[tokio::test]
async fn a_write_that_broke_off_is_removed_without_a_second_request() {
    let (_directory, state, store) = new_store();
    let digest = ContentDigest::of(b"content");
    let left = ObjectRecord {
        state: ObjectState::Writing { lease_until_ms: 1 },
        write: 7,
        size: 7,
        expires_s: unix_ms() / 1000 + 3600,
    };
    leave_record(&state, digest, &left).await;
    assert_eq!(store.remove_expired().await.unwrap(), 1);
    assert_eq!(record_of(&state, digest).await, None);
}

#[tokio::test]
async fn a_late_removal_does_not_hit_a_later_write() {
    let (_directory, state, store) = new_store();
    let content = content(5);
    let digest = ContentDigest::of(&content);
    put(&store, &content).await.unwrap();
    let expired = store.find(digest).await.unwrap().unwrap();
    // A gateway marks the record, is suspended, and removes the object after the same bytes were stored anew.
    let record = record_of(&state, digest).await.unwrap();
    let mut record = ObjectRecord::read(&record.content.value).unwrap();
    record.state = ObjectState::Removing;
    leave_record(&state, digest, &record).await;
    put(&store, &content).await.unwrap();
    let _ = store.objects.delete(&expired.location).await;
    assert!(read(&store, digest).await.is_some());
}
