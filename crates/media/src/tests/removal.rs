//! Tests of removals: races with them leave no URL without a file, and no file is left for ever.

use super::{content, expire, leave_record, load_record, new_store, put, read, store_in};
use crate::object::{ObjectRecord, ObjectState};
use crate::{
    ContentDigest, MediaLimits, MediaLocation, MediaSettings, MediaStore, SharedMediaState,
};
use bytes::Bytes;
use headgate_bucket::BucketSettings;
use headgate_core::outgoing::bucket_client::{BucketClient, BucketResponseFuture};
use headgate_core::state::StateStore;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::memory::MemoryStore;
use http::{Method, Request, Response};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

#[tokio::test]
async fn files_that_nobody_knows_of_are_removed_when_they_are_old() {
    let (directory, state, store) = new_store();
    put(&store, &content(1)).await.unwrap();
    let key = ContentDigest::from_content(&content(1)).to_string();
    let folder = directory.0.join(&key[..2]);
    let day = Duration::from_secs(24 * 60 * 60);
    let minute = Duration::from_secs(60);
    let lost = ContentDigest::from_content(b"lost").to_string();
    for folder in [&lost[..2], "check"] {
        std::fs::create_dir_all(directory.0.join(folder)).unwrap();
    }
    for (name, age, is_removed) in [
        (format!("{key}-00000000000000aa"), day, true),
        (format!("{key}-00000000000000ab"), minute, false),
        (format!("{key}-00000000000000ac#1"), day, true),
        (format!("{key}-00000000000000ad#2"), minute, false),
        ("notes.txt".into(), day, false),
        ("notes.txt#1".into(), day, false),
        (
            format!("../{}/{lost}-00000000000000ae", &lost[..2]),
            day,
            true,
        ),
        (
            format!("../{}/{lost}-00000000000000af", &lost[..2]),
            Duration::from_secs(90 * 60),
            false,
        ),
        ("../check/00000000000000b0".into(), day, true),
        ("../check/00000000000000b1".into(), minute, false),
        ("../check/notes.txt".into(), day, false),
    ] {
        let path = folder.join(name);
        let file = std::fs::File::create(&path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
        let removed = store.remove_leftovers().await.unwrap();
        assert_eq!(removed, usize::from(is_removed), "{}", path.display());
        assert_eq!(path.exists(), !is_removed, "{}", path.display());
    }
    assert!(
        read(&store, ContentDigest::from_content(&content(1)))
            .await
            .is_some()
    );
    let known = load_record(&state, ContentDigest::from_content(&content(1))).await;
    assert!(known.is_some());
}

#[tokio::test]
async fn a_removal_does_not_end_a_reading() {
    let (_directory, state, store) = new_store();
    put(&store, &content(1)).await.unwrap();
    let digest = ContentDigest::from_content(&content(1));
    let object = store.find(digest).await.unwrap().unwrap();
    let mut reader = store.open(&object, 0, object.size).await.unwrap().unwrap();
    let first = reader.next_piece().await.unwrap().unwrap();
    expire(&state, digest).await;
    assert_eq!(store.remove_expired().await.unwrap(), 1);
    let mut whole = first.to_vec();
    while let Some(piece) = reader.next_piece().await.unwrap() {
        whole.extend_from_slice(&piece);
    }
    assert!(whole == content(1));
}

#[tokio::test]
async fn only_expired_files_are_removed_and_by_one_gateway() {
    let (directory, state, store) = new_store();
    let (kept, expired) = (content(1), content(2));
    put(&store, &kept).await.unwrap();
    put(&store, &expired).await.unwrap();
    let digest = ContentDigest::from_content(&expired);
    expire(&state, digest).await;
    assert!(store.find(digest).await.unwrap().is_none(), "expired");
    let other_gateway = store_in(&directory, &state);
    let (one, other) = tokio::join!(store.remove_expired(), other_gateway.remove_expired());
    assert_eq!(one.unwrap() + other.unwrap(), 1);
    assert_eq!(directory.files(), 1);
    assert!(
        read(&store, ContentDigest::from_content(&kept))
            .await
            .is_some()
    );
    put(&store, &expired).await.unwrap();
    assert!(read(&store, digest).await.is_some(), "stored again");
}

#[tokio::test]
async fn a_write_that_broke_off_is_removed_without_a_second_request() {
    let (_directory, state, store) = new_store();
    let digest = ContentDigest::from_content(b"content");
    let left = ObjectRecord {
        state: ObjectState::Writing { lease_until_ms: 1 },
        write: 7,
        size: 7,
        expires_s: unix_ms() / 1000 + 3600,
    };
    leave_record(&state, digest, &left).await;
    assert_eq!(store.remove_expired().await.unwrap(), 1);
    assert_eq!(load_record(&state, digest).await, None);
}

#[tokio::test]
async fn a_late_removal_does_not_hit_a_later_write() {
    let (_directory, state, store) = new_store();
    let content = content(5);
    let digest = ContentDigest::from_content(&content);
    put(&store, &content).await.unwrap();
    let expired = store.find(digest).await.unwrap().unwrap();
    // A gateway marks the record, is suspended, and removes the object after the same bytes were stored again.
    let record = load_record(&state, digest).await.unwrap();
    let mut record = ObjectRecord::read(&record.content.value).unwrap();
    record.state = ObjectState::Removing;
    leave_record(&state, digest, &record).await;
    put(&store, &content).await.unwrap();
    let _ = store.storage.delete(&expired.location).await;
    assert!(read(&store, digest).await.is_some());
}

/// A bucket whose server takes a while for each request, and counts them.
#[derive(Default)]
struct SlowBucket {
    removed: AtomicUsize,
    open: AtomicUsize,
    most_open: AtomicUsize,
}

impl BucketClient for SlowBucket {
    fn send(&self, request: Request<Bytes>) -> BucketResponseFuture<'_> {
        assert_eq!(request.method(), Method::DELETE);
        Box::pin(async {
            let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_open.fetch_max(open, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.open.fetch_sub(1, Ordering::SeqCst);
            self.removed.fetch_add(1, Ordering::SeqCst);
            Ok(Response::builder().status(204).body(Bytes::new()).unwrap())
        })
    }
}

#[tokio::test]
async fn some_objects_are_removed_at_a_time() {
    const OBJECTS: usize = 100;
    let state: Arc<dyn StateStore> = Arc::new(MemoryStore::default());
    let (shared, bucket) = (
        Arc::new(SharedMediaState::default()),
        Arc::new(SlowBucket::default()),
    );
    shared.set_client(bucket.clone());
    let settings = MediaSettings {
        location: MediaLocation::Bucket {
            bucket: BucketSettings {
                endpoint: "http://127.0.0.1:9".into(),
                region: "us-east-1".into(),
                bucket: "media".into(),
                prefix: String::new(),
                has_bucket_in_path: true,
                access_key_id: "id".into(),
                secret_access_key: "secret".into(),
            },
            is_presigned: false,
        },
        ttl: Duration::from_secs(60 * 60),
        limits: MediaLimits {
            objects_per_caller: 4,
            bytes_per_caller: 1,
            bytes: 1,
        },
    };
    let store = Arc::new(MediaStore::new(settings, state.clone(), shared).unwrap());
    for number in 0..OBJECTS as u64 {
        let expired = ObjectRecord {
            state: ObjectState::Stored,
            write: number,
            size: 1,
            expires_s: unix_ms() / 1000 - 60 * 60,
        };
        leave_record(
            &state,
            ContentDigest::from_content(&number.to_be_bytes()),
            &expired,
        )
        .await;
    }
    assert_eq!(store.remove_expired().await.unwrap(), OBJECTS);
    assert_eq!(bucket.removed.load(Ordering::SeqCst), OBJECTS);
    let most = bucket.most_open.load(Ordering::SeqCst);
    assert!((2..=8).contains(&most), "{most} at a time");
}
