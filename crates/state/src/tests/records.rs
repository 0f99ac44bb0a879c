//! The behaviour that the records of every store must have.

use super::{StateStore, caller};
use bytes::Bytes;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::records::{InsertResult, Record, RecordContent, RecordKind, RecordStore};
use std::sync::Arc;

const KIND: RecordKind = RecordKind::Delivery;
const OWNER_MAX: u32 = 100;
const HOUR_MS: u64 = 3_600_000;

/// Runs each behaviour against the records of `store`, and prints its name.
macro_rules! behaviours {
    ($($name:ident),+ $(,)?) => {
        pub async fn all(store: &dyn StateStore) {
            $(
                eprintln!("{}", stringify!($name));
                $name(store.records()).await;
            )+
        }
    };
}

behaviours![
    a_record_is_found_under_its_key_and_kind,
    a_second_insertion_returns_the_first_record,
    of_many_insertions_at_once_one_succeeds,
    a_change_must_name_the_current_version,
    an_expired_record_does_not_exist,
    due_records_come_in_order,
    records_are_listed_by_key_page_by_page,
    an_owner_has_a_limited_number_of_records,
    records_are_counted,
];

/// A key that no other test uses, so that tests can share a store.
fn key() -> String {
    format!("{}/{{key}}", caller())
}

pub fn content(owner: &Arc<str>, value: &str) -> RecordContent {
    RecordContent {
        value: Bytes::copy_from_slice(value.as_bytes()),
        owner: owner.clone(),
        expires_ms: unix_ms() + HOUR_MS,
        due_ms: None,
    }
}

pub async fn insert(records: &dyn RecordStore, key: &str, content: &RecordContent) -> InsertResult {
    let inserted = records.insert(KIND, key, content.clone(), OWNER_MAX);
    inserted.get().await.unwrap()
}

/// Inserts a record under a new key; returns its version.
pub async fn inserted(records: &dyn RecordStore, key: &str, content: &RecordContent) -> u64 {
    match insert(records, key, content).await {
        InsertResult::Inserted { version } => version,
        other => panic!("{other:?}"),
    }
}

pub async fn get(records: &dyn RecordStore, key: &str) -> Option<Record> {
    records.get(KIND, key).get().await.unwrap()
}

async fn a_record_is_found_under_its_key_and_kind(records: &dyn RecordStore) {
    let (key, ann) = (key(), caller());
    assert_eq!(get(records, &key).await, None);
    let content = RecordContent {
        value: Bytes::from_static(b"\0\xff binary"),
        due_ms: Some(unix_ms() + HOUR_MS),
        ..content(&ann, "")
    };
    let version = inserted(records, &key, &content).await;
    let record = Record {
        key: key.as_str().into(),
        version,
        content,
    };
    assert_eq!(get(records, &key).await, Some(record));
    let other_kind = records.get(RecordKind::MediaObject, &key).get().await;
    assert_eq!(other_kind.unwrap(), None);
}

async fn a_second_insertion_returns_the_first_record(records: &dyn RecordStore) {
    let (key, ann, bob) = (key(), caller(), caller());
    let version = inserted(records, &key, &content(&ann, "first")).await;
    match insert(records, &key, &content(&bob, "second")).await {
        InsertResult::Exists(record) => {
            assert_eq!(
                (record.version, record.content.value),
                (version, "first".into())
            );
            assert_eq!(record.content.owner, ann);
        }
        other => panic!("{other:?}"),
    }
}

async fn of_many_insertions_at_once_one_succeeds(records: &dyn RecordStore) {
    let (key, ann) = (key(), caller());
    let content = content(&ann, "x");
    let mut insertions: Vec<_> = (0..50)
        .map(|_| Box::pin(records.insert(KIND, &key, content.clone(), OWNER_MAX).get()))
        .collect();
    let mut wins = 0;
    for insertion in &mut insertions {
        wins += usize::from(matches!(
            insertion.await.unwrap(),
            InsertResult::Inserted { .. }
        ));
    }
    assert_eq!(wins, 1);
}

async fn a_change_must_name_the_current_version(records: &dyn RecordStore) {
    let (key, ann) = (key(), caller());
    let first = inserted(records, &key, &content(&ann, "1")).await;
    let replace = |version| records.replace(KIND, &key, version, content(&ann, "2"));
    let remove = |version| records.remove(KIND, &key, version);
    let second = replace(first).get().await.unwrap().unwrap();
    assert_ne!(first, second);
    assert_eq!(replace(first).get().await.unwrap(), None);
    assert!(!remove(first).get().await.unwrap());
    assert_eq!(get(records, &key).await.unwrap().content.value, "2");
    assert!(remove(second).get().await.unwrap());
    assert_eq!(get(records, &key).await, None);
    assert_eq!(replace(second).get().await.unwrap(), None);
    let third = inserted(records, &key, &content(&ann, "3")).await;
    assert!(![first, second].contains(&third), "a version is used once");
}

async fn an_expired_record_does_not_exist(records: &dyn RecordStore) {
    let (key, ann) = (key(), caller());
    let expired = RecordContent {
        expires_ms: unix_ms() - 1,
        due_ms: Some(1),
        ..content(&ann, "old")
    };
    let version = inserted(records, &key, &expired).await;
    assert_eq!(get(records, &key).await, None);
    let due = records.due(KIND, unix_ms(), 1_000).get().await.unwrap();
    assert!(due.iter().all(|record| *record.key != *key));
    let replaced = records.replace(KIND, &key, version, content(&ann, "new"));
    assert_eq!(replaced.get().await.unwrap(), None);
    inserted(records, &key, &content(&ann, "new")).await;
}

async fn due_records_come_in_order(records: &dyn RecordStore) {
    let (first, second, later, never) = (key(), key(), key(), key());
    let ann = caller();
    let now_ms = unix_ms();
    let at = |due_ms| RecordContent {
        due_ms,
        ..content(&ann, "")
    };
    inserted(records, &second, &at(Some(now_ms - 10))).await;
    let version = inserted(records, &first, &at(Some(now_ms - 20))).await;
    inserted(records, &later, &at(Some(now_ms + HOUR_MS))).await;
    inserted(records, &never, &at(None)).await;
    let due = async |limit| {
        let due = records.due(KIND, now_ms, limit).get().await.unwrap();
        let mine = due.iter().filter(|record| record.content.owner == ann);
        mine.map(|record| record.key.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(due(1_000).await, [first.clone(), second.clone()]);
    let moved = at(Some(now_ms + HOUR_MS));
    let replaced = records.replace(KIND, &first, version, moved).get().await;
    assert!(replaced.unwrap().is_some());
    assert_eq!(due(1_000).await, [second]);
}

async fn records_are_listed_by_key_page_by_page(records: &dyn RecordStore) {
    let (start, ann) = (key(), caller());
    let keys = ["a", "b", "c"].map(|name| format!("{start}/{name}"));
    for key in keys.iter().rev() {
        inserted(records, key, &content(&ann, "")).await;
    }
    let page = async |after: &str| {
        let page = records.list(KIND, after, 2).get().await.unwrap();
        page.iter()
            .map(|record| record.key.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(page(&start).await, keys[..2]);
    assert_eq!(page(&keys[1]).await.first(), Some(&keys[2]));
}

async fn an_owner_has_a_limited_number_of_records(records: &dyn RecordStore) {
    let (ann, bob) = (caller(), caller());
    let (first, second) = (key(), key());
    let insert = async |key: &str, owner| {
        let inserted = records.insert(KIND, key, content(owner, ""), 1);
        inserted.get().await.unwrap()
    };
    let InsertResult::Inserted { version } = insert(&first, &ann).await else {
        panic!("there is room for one");
    };
    assert_eq!(insert(&second, &ann).await, InsertResult::OwnerFull);
    assert!(matches!(
        insert(&second, &bob).await,
        InsertResult::Inserted { .. }
    ));
    assert!(records.remove(KIND, &first, version).get().await.unwrap());
    assert!(matches!(
        insert(&key(), &ann).await,
        InsertResult::Inserted { .. }
    ));
}

async fn records_are_counted(records: &dyn RecordStore) {
    let (kind, ann) = (RecordKind::DeadLetter, caller());
    let before = records.count(kind).get().await.unwrap().count;
    let expires_ms = unix_ms() + HOUR_MS / 2;
    let dues = [None, Some(unix_ms())];
    for due_ms in dues {
        let content = RecordContent {
            due_ms,
            expires_ms,
            ..content(&ann, "")
        };
        let inserted = records.insert(kind, &key(), content, OWNER_MAX).get().await;
        assert!(matches!(inserted.unwrap(), InsertResult::Inserted { .. }));
    }
    let counted = records.count(kind).get().await.unwrap();
    assert_eq!(counted.count, before + 2);
    assert_eq!(counted.first_expiry_ms, Some(expires_ms));
}
