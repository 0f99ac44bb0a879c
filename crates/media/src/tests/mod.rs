//! Tests of the media store: the same bytes are stored once, and nobody stores more than allowed.

mod removal;

use crate::counters::StoredObjectTotals;
use crate::object::{ObjectRecord, ObjectState};
use crate::{
    ContentDescriptor, ContentDigest, MediaLimits, MediaLocation, MediaSettings, MediaStore,
    MediaStoreError,
};
use bytes::Bytes;
use headgate_core::large_bodies::BodyStoreRetryPolicy;
use headgate_core::state::StateStore;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::memory::MemoryStore;
use headgate_core::state::records::{InsertResult, Record, RecordContent, RecordKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const HOUR_MS: u64 = 60 * 60 * 1000;

/// A directory of one test, removed at its end.
pub(super) struct Directory(PathBuf);

impl Directory {
    pub(super) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "headgate-media-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        Self(std::env::temp_dir().join(name))
    }

    /// The number of files, complete or not.
    pub(super) fn files(&self) -> usize {
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

pub(super) fn store_in(directory: &Directory, state: &Arc<dyn StateStore>) -> Arc<MediaStore> {
    let settings = MediaSettings {
        location: MediaLocation::Directory(directory.0.clone()),
        ttl: Duration::from_secs(60 * 60),
        limits: MediaLimits {
            objects_per_caller: 4,
            bytes_per_caller: 10_000_000,
            bytes: 15_000_000,
        },
    };
    Arc::new(MediaStore::new(settings, state.clone(), Arc::default()).unwrap())
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
    put_for("ann", store, content).await
}

async fn put_for(
    owner: &str,
    store: &Arc<MediaStore>,
    content: &Bytes,
) -> Result<(), MediaStoreError> {
    let pieces: Vec<Bytes> = content.chunks(70_001).map(Bytes::copy_from_slice).collect();
    let info = info(ContentDigest::from_content(content), content.len() as u64);
    let stored = store.put(&owner.into(), &info, pieces.into_iter()).await;
    stored.map(drop)
}

fn info(digest: ContentDigest, size: u64) -> ContentDescriptor {
    ContentDescriptor {
        digest,
        size,
        content_type: "video/mp4".into(),
    }
}

async fn read(store: &Arc<MediaStore>, digest: ContentDigest) -> Option<Vec<u8>> {
    let object = store.find(digest).await.unwrap()?;
    let mut reader = store.open(&object, 0, object.size).await.unwrap()?;
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

/// Makes a stored object due for its removal.
async fn expire(state: &Arc<dyn StateStore>, digest: ContentDigest) {
    let record = load_record(state, digest).await.unwrap();
    let mut record = ObjectRecord::read(&record.content.value).unwrap();
    record.expires_s = unix_ms() / 1000 - 60 * 60;
    leave_record(state, digest, &record).await;
}

async fn load_record(state: &Arc<dyn StateStore>, digest: ContentDigest) -> Option<Record> {
    let key = digest.to_string();
    let found = state.records().get(RecordKind::MediaObject, &key);
    found.get().await.unwrap()
}

#[tokio::test]
async fn content_is_read_as_it_was_stored() {
    let (_directory, _, store) = new_store();
    for content in [content(1), Bytes::from_static(b"small")] {
        put(&store, &content).await.unwrap();
        let found = read(&store, ContentDigest::from_content(&content)).await;
        assert!(found.as_deref() == Some(&content[..]));
    }
    assert_eq!(
        read(&store, ContentDigest::from_content(b"never")).await,
        None
    );
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
async fn a_caller_has_a_limited_number_of_files_and_bytes() {
    // The first four files are as many as allowed; three of the large ones are as many bytes.
    for (small, refused) in [(true, 5), (false, 4)] {
        let (directory, state, store) = new_store();
        let other_gateway = store_in(&directory, &state);
        let file = |seed| match small {
            true => Bytes::from(vec![seed; 10]),
            false => content(seed),
        };
        for seed in 1..refused {
            // Sums of bytes may be some seconds old, counts are not.
            let is_other = small && seed % 2 == 0;
            let store = if is_other { &other_gateway } else { &store };
            put(store, &file(seed)).await.unwrap();
        }
        let full = put(&store, &file(refused)).await;
        assert!(matches!(full, Err(MediaStoreError::OwnerFull)), "{full:?}");
        put(&store, &file(1)).await.unwrap();
        assert_eq!(directory.files(), usize::from(refused) - 1);
        put_for("bob", &store, &file(refused)).await.unwrap();
        let known_to_others = put(&store, &file(refused)).await;
        assert!(
            matches!(known_to_others, Err(MediaStoreError::OwnerFull)),
            "the quota shows nothing of what others have stored"
        );
        put_for("bob", &store, &file(1)).await.unwrap();
    }
}

#[tokio::test]
async fn the_store_has_a_limited_number_of_bytes() {
    let (_directory, state, store) = new_store();
    for (seed, owner) in [(1, "ann"), (2, "ann"), (3, "bob"), (4, "bob"), (5, "eve")] {
        put_for(owner, &store, &content(seed)).await.unwrap();
    }
    for seed in [1, 6] {
        let full = put_for("tim", &store, &content(seed)).await;
        assert!(matches!(full, Err(MediaStoreError::StoreFull)), "{full:?}");
    }
    expire(&state, ContentDigest::from_content(&content(1))).await;
    assert_eq!(store.remove_expired().await.unwrap(), 1);
    put_for("tim", &store, &content(6)).await.unwrap();
    let counted = store.shared.counters.totals();
    store.count_objects().await.unwrap();
    assert_eq!(store.shared.counters.totals(), counted);
    assert_eq!((counted.objects, counted.bytes), (5, 15_000_000));
}

#[tokio::test]
async fn a_response_does_not_wait_for_uploads() {
    let (_directory, _, store) = new_store();
    let turns = store.shared.writes.available_permits() as u32;
    let uploads = store.shared.writes.clone().acquire_many_owned(turns).await;
    let body = Bytes::from_static(b"a response");
    let (lifetime, deadline) = (
        Duration::from_secs(60),
        BodyStoreRetryPolicy::BEFORE_DELIVERY,
    );
    let stored = store.put_response_body("ann", body, lifetime, deadline);
    let stored = tokio::time::timeout(Duration::from_secs(5), stored).await;
    assert!(matches!(stored, Ok(Ok(_))));
    drop(uploads);
}

#[tokio::test]
async fn a_response_that_nobody_waits_for_is_stored_once_the_store_works_again() {
    let (directory, _, store) = new_store();
    let body = Bytes::from_static(b"a response");
    let lifetime = Duration::from_secs(60);
    // No folder for the object can be created where a file is.
    let digest = ContentDigest::from_content(&body).to_string();
    let folder = directory.0.join(&digest[..2]);
    std::fs::create_dir_all(&directory.0).unwrap();
    std::fs::write(&folder, "").unwrap();
    let deadline = BodyStoreRetryPolicy::BEFORE_DELIVERY;
    let refused = store.put_response_body("ann", body.clone(), lifetime, deadline);
    let refused = tokio::time::timeout(Duration::from_secs(5), refused).await;
    assert!(matches!(refused, Ok(Err(_))), "its caller waits");
    let deadline = BodyStoreRetryPolicy {
        retry_interval: Duration::from_millis(20),
        ..BodyStoreRetryPolicy::AFTER_DELIVERY
    };
    let mut storing = Box::pin(store.put_response_body("ann", body, lifetime, deadline));
    let early = tokio::time::timeout(Duration::from_millis(100), &mut storing).await;
    assert!(early.is_err(), "the folder cannot be created");
    std::fs::remove_file(&folder).unwrap();
    storing.await.unwrap();
    assert_eq!(directory.files(), 1);
}

#[tokio::test]
async fn a_count_keeps_what_was_stored_meanwhile() {
    let (_directory, _, store) = new_store();
    let counters = &store.shared.counters;
    put(&store, &content(1)).await.unwrap();
    let before = counters.totals();
    put(&store, &content(2)).await.unwrap();
    // Another gateway stored one object, too, and removed nothing.
    let counted = StoredObjectTotals {
        objects: 2,
        bytes: 6_000_000,
    };
    counters.correct_totals(before, counted);
    assert_eq!(
        (counters.totals().objects, counters.totals().bytes),
        (3, 9_000_000)
    );
}

#[tokio::test]
async fn what_was_not_stored_is_not_charged() {
    let (_directory, _, store) = new_store();
    for _ in 0..10 {
        let announced = info(ContentDigest::from_content(b"announced"), 3_000_001);
        let owner = "ann".into();
        let failed = store.put(&owner, &announced, [content(1)].into_iter());
        assert!(matches!(failed.await, Err(MediaStoreError::ContentChanged)));
    }
    put(&store, &content(2)).await.unwrap();
}

#[tokio::test]
async fn a_write_goes_on_without_its_caller_and_leaves_no_open_reservation() {
    let (directory, _, store) = new_store();
    let content = content(7);
    for polls in 0..20 {
        let mut putting = Box::pin(put(&store, &content));
        for _ in 0..polls {
            tokio::task::yield_now().await;
            if is_ready(&mut putting).await {
                break;
            }
        }
    }
    let again = tokio::time::timeout(Duration::from_secs(5), put(&store, &content));
    again.await.expect("no lease must pass first").unwrap();
    assert_eq!(directory.files(), 1);
}

/// Polls a future once.
async fn is_ready(future: &mut (impl Future + Unpin)) -> bool {
    std::future::poll_fn(|context| {
        let polled = std::pin::Pin::new(&mut *future).poll(context);
        std::task::Poll::Ready(polled.is_ready())
    })
    .await
}

#[tokio::test]
async fn an_object_whose_file_is_gone_or_cut_is_not_opened() {
    let (directory, _, store) = new_store();
    put(&store, &content(1)).await.unwrap();
    let object = store
        .find(ContentDigest::from_content(&content(1)))
        .await
        .unwrap();
    let object = object.unwrap();
    let path = directory.0.join(object.location.to_string());
    std::fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(10)
        .unwrap();
    assert!(store.open(&object, 0, 5).await.unwrap().is_none(), "cut");
    std::fs::remove_file(&path).unwrap();
    assert!(store.open(&object, 0, 5).await.unwrap().is_none(), "gone");
}

#[tokio::test]
async fn content_of_another_size_is_not_stored() {
    let (directory, _, store) = new_store();
    for size in [10, 3_000_001] {
        let digest = ContentDigest::from_content(b"announced");
        let (owner, announced) = ("ann".into(), info(digest, size));
        let failed = store.put(&owner, &announced, [content(1)].into_iter());
        let failed = failed.await;
        assert!(matches!(failed, Err(MediaStoreError::ContentChanged)));
        assert!(store.find(digest).await.unwrap().is_none());
    }
    assert_eq!(directory.files(), 0);
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
        let digest = ContentDigest::from_content(&content);
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
