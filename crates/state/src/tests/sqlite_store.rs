//! Tests of the SQLite store only: restarts, killed processes, two processes at once, broken disks.

use super::*;
use headgate_core::state::health::StoreOperation;
use headgate_core::state::records::RecordKind;
use headgate_core::state::settings::StoreOpener;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Set in a child process of this test, which the test kills.
const CHILD: &str = "HEADGATE_TEST_STATE_FILE";
const MAX_WAIT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn writes_survive_reopening() {
    let folder = TempFolder::new();
    let ann = caller();
    let budget = [limit(&ann, LimitKind::TokensPerDay, 100)];
    {
        let store = folder.store();
        store.remember(&ann, "resp_1", &Arc::from("primary"));
        store.remember(&ann, "resp_2", &Arc::from("primary"));
        store.forget(&ann, "resp_2");
        let ticket = granted(&*store, &budget, 1).await;
        store.settle(ticket, 100);
        store.flush(MAX_WAIT);
    }
    let store = folder.store();
    assert_eq!(
        find_channel(&*store, &ann, "resp_1").await.as_deref(),
        Some("primary")
    );
    assert_eq!(find_channel(&*store, &ann, "resp_2").await, None);
    refused(&*store, &budget, 1).await;
}

#[tokio::test]
async fn records_fulfil_the_contract() {
    let folder = TempFolder::new();
    let store = folder.store();
    assert!(store.records().is_durable());
    super::records::all(&*store).await;
}

#[tokio::test]
async fn a_new_file_does_not_repeat_the_versions_of_a_lost_one() {
    let mut versions = Vec::new();
    for _ in 0..3 {
        let folder = TempFolder::new();
        let content = super::records::content(&caller(), "1");
        for key in ["k", "l"] {
            let store = folder.store();
            versions.push(super::records::inserted(store.records(), key, &content).await);
        }
        let (first, second) = (versions[versions.len() - 2], versions[versions.len() - 1]);
        assert_eq!(second, first + 1, "a file continues its versions");
    }
    let count = versions.len();
    versions.sort_unstable();
    versions.dedup();
    assert_eq!(versions.len(), count, "{versions:?}");
}

#[tokio::test]
async fn records_survive_reopening_and_are_shared_by_two_processes() {
    let folder = TempFolder::new();
    let (old, new) = (folder.store(), folder.store());
    let ann = caller();
    let first = super::records::content(&ann, "1");
    let version = super::records::inserted(old.records(), "k", &first).await;
    let replaced = new.records().replace(
        RecordKind::Delivery,
        "k",
        version,
        super::records::content(&ann, "2"),
    );
    assert!(replaced.get().await.unwrap().is_some());
    drop((old, new));
    let record = super::records::get(folder.store().records(), "k").await;
    assert_eq!(record.unwrap().content.value, "2");
}

#[tokio::test]
async fn records_of_a_locked_file_fail_in_time_and_work_afterwards() {
    let folder = TempFolder::new();
    let store = folder.store();
    let file = rusqlite::Connection::open(folder.path().join("state.sqlite")).unwrap();
    file.execute_batch("BEGIN IMMEDIATE").unwrap();
    let records = store.records();
    let found = records.get(RecordKind::Delivery, "k").get().await;
    assert!(found.is_err());
    assert!(store.health().failed[StoreOperation::Record as usize] > 0);
    file.execute_batch("COMMIT").unwrap();
    eventually("the records are back", async || {
        records.get(RecordKind::Delivery, "k").get().await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn two_processes_share_ids_and_budgets() {
    let folder = TempFolder::new();
    let (old, new) = (folder.store(), folder.store());
    let ann = caller();
    old.remember(&ann, "resp_1", &Arc::from("primary"));
    old.flush(MAX_WAIT);
    assert_eq!(
        find_channel(&*new, &ann, "resp_1").await.as_deref(),
        Some("primary")
    );

    let budget = [limit(&ann, LimitKind::TokensPerMonth, 1000)];
    for _ in 0..4 {
        for store in [&old, &new] {
            let ticket = granted(&**store, &budget, 10).await;
            store.settle(ticket, 100);
            store.flush(MAX_WAIT);
        }
    }
    // Each process has used 400; a settlement adopts what the other has used.
    let left = admit(&*new, &budget, 0).await.limit_statuses[0].remaining;
    assert_eq!(left, 200);
}

#[tokio::test]
async fn a_process_that_claims_an_id_of_the_other_gets_none() {
    let folder = TempFolder::new();
    let (old, new) = (folder.store(), folder.store());
    let (ann, bob) = (caller(), caller());
    old.remember(&ann, "resp_1", &Arc::from("primary"));
    old.flush(MAX_WAIT);
    // What an earlier version stored has the same row, and no index by id.
    let file = rusqlite::Connection::open(folder.path().join("state.sqlite")).unwrap();
    file.execute_batch("DROP INDEX made_by_id").unwrap();
    for _ in 0..2 {
        new.remember(&bob, "resp_1", &Arc::from("primary"));
        assert_eq!(find_channel(&*new, &bob, "resp_1").await, None);
        new.flush(MAX_WAIT);
        assert_eq!(find_channel(&*new, &bob, "resp_1").await, None);
    }
    drop(new);
    assert_eq!(find_channel(&*folder.store(), &bob, "resp_1").await, None);
    let found = find_channel(&*old, &ann, "resp_1").await;
    assert_eq!(found.as_deref(), Some("primary"));
}

/// A child process: records one id after the other and prints each that is written, until it is killed.
#[tokio::test]
async fn child_that_is_killed() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let store = crate::open::StateStoreOpener.open(&StoreSettings::File(SqliteSettings {
        path: path.into(),
        id_ttl: DAY,
    }));
    let ann: Arc<str> = "ann".into();
    for n in 0..u32::MAX {
        store.remember(&ann, &format!("resp_{n}"), &Arc::from("primary"));
        store.flush(MAX_WAIT);
        let content = super::records::content(&ann, "");
        super::records::insert(store.records(), &format!("key {n}"), &content).await;
        println!("\nwritten {n}");
    }
}

#[tokio::test]
async fn what_was_written_survives_kill_minus_9() {
    let folder = TempFolder::new();
    let path = folder.path().join("state.sqlite");
    let ann: Arc<str> = "ann".into();
    for round in 1..=6 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "--nocapture",
                "tests::sqlite_store::child_that_is_killed",
            ])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut written = lines.map_while(Result::ok).filter_map(|line| {
            line.strip_prefix("written ")
                .and_then(|n| n.parse::<u32>().ok())
        });
        let last = written.by_ref().nth(round * 7).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let last = written.last().unwrap_or(last);
        let store = folder.store();
        for n in 0..=last {
            let id = format!("resp_{n}");
            assert_eq!(
                find_channel(&*store, &ann, &id).await.as_deref(),
                Some("primary"),
                "{id}"
            );
            let record = super::records::get(store.records(), &format!("key {n}")).await;
            assert!(record.is_some(), "key {n}");
        }
        let file = rusqlite::Connection::open(&path).unwrap();
        let sound: String = file
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(sound, "ok");
    }
}

#[tokio::test]
async fn a_corrupt_file_is_renamed_and_a_new_one_is_started() {
    let folder = TempFolder::new();
    let path = folder.path().join("state.sqlite");
    std::fs::write(
        &path,
        "this is no database, and long enough to be looked at".repeat(100),
    )
    .unwrap();
    let store = folder.store();
    let ann = caller();
    store.remember(&ann, "resp_1", &Arc::from("primary"));
    assert!(find_channel(&*store, &ann, "resp_1").await.is_some());
    assert!(folder.path().join("state.sqlite.broken").exists());
}

#[tokio::test]
async fn memory_serves_where_no_file_can_be_made() {
    let path = Path::new("/dev/null/state.sqlite").to_path_buf();
    let store = crate::open::StateStoreOpener
        .open(&StoreSettings::File(SqliteSettings { path, id_ttl: DAY }));
    let health = store.health();
    assert_eq!((health.store, health.up), ("sqlite", false));
    super::contract::all(&*store).await;
    // Paid work must not be recorded where a restart forgets it.
    let content = super::records::content(&caller(), "1");
    let inserted = store
        .records()
        .insert(RecordKind::PaidCreate, "k", content, 1);
    assert!(inserted.get().await.is_err());
}

#[tokio::test]
async fn a_file_of_a_newer_headgate_is_left_alone() {
    let folder = TempFolder::new();
    let path = folder.path().join("state.sqlite");
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch("PRAGMA user_version = 99; CREATE TABLE future (x);")
        .unwrap();
    drop(file);
    let before = std::fs::read(&path).unwrap();
    assert!(
        !crate::open::StateStoreOpener
            .open(&StoreSettings::File(SqliteSettings {
                path: path.clone(),
                id_ttl: DAY
            }))
            .health()
            .up
    );
    assert_eq!(std::fs::read(&path).unwrap()[100..], before[100..]);
}

#[tokio::test]
async fn failed_writes_are_reported_and_retried() {
    let folder = TempFolder::new();
    let store = folder.store();
    let ann = caller();
    store.remember(&ann, "resp_1", &Arc::from("primary"));
    store.flush(MAX_WAIT);
    // Like a full disk: every write fails, and reads succeed.
    let file = rusqlite::Connection::open(folder.path().join("state.sqlite")).unwrap();
    file.execute_batch("ALTER TABLE made RENAME TO elsewhere")
        .unwrap();
    store.remember(&ann, "resp_2", &Arc::from("primary"));
    eventually("the store is away", async || !store.health().up).await;
    assert!(find_channel(&*store, &ann, "resp_2").await.is_some());
    assert!(store.health().failed[0] > 0);
    file.execute_batch("ALTER TABLE elsewhere RENAME TO made")
        .unwrap();
    eventually("the store is back", async || store.health().up).await;
    store.flush(MAX_WAIT);
    drop(store);
    assert!(
        find_channel(&*folder.store(), &ann, "resp_2")
            .await
            .is_some()
    );
}

#[tokio::test]
async fn a_locked_file_does_not_block_requests() {
    let folder = TempFolder::new();
    let store = folder.store();
    let file = rusqlite::Connection::open(folder.path().join("state.sqlite")).unwrap();
    file.execute_batch("BEGIN IMMEDIATE").unwrap();
    let ann = caller();
    let budget = [limit(&ann, LimitKind::TokensPerDay, 1_000_000)];
    let began = std::time::Instant::now();
    for n in 0..1_000 {
        let id = format!("resp_{n}");
        store.remember(&ann, &id, &Arc::from("primary"));
        assert!(find_channel(&*store, &ann, &id).await.is_some());
        assert_eq!(find_channel(&*store, &ann, "resp_unknown").await, None);
        let ticket = granted(&*store, &budget, 1).await;
        store.settle(ticket, 1);
    }
    // A write that waited would have taken 5 s.
    assert!(began.elapsed() < MAX_WAIT);
    file.execute_batch("COMMIT").unwrap();
    store.flush(MAX_WAIT);
    assert!(
        find_channel(&*folder.store(), &ann, "resp_999")
            .await
            .is_some()
    );
}

#[tokio::test]
async fn ids_that_nobody_uses_are_removed() {
    let folder = TempFolder::new();
    let path = folder.path().join("state.sqlite");
    let ann: Arc<str> = "ann".into();
    drop(folder.store());
    let file = rusqlite::Connection::open(&path).unwrap();
    for n in 0..2500 {
        let row = rusqlite::params![format!("resp_{n}"), n];
        file.execute("INSERT INTO made VALUES ('ann', ?1, 'primary', ?2)", row)
            .unwrap();
    }
    let store = folder.store();
    store.remember(&ann, "resp_new", &Arc::from("primary"));
    eventually("the old ids are gone", async || {
        let count: i64 = file
            .query_row("SELECT count(*) FROM made", [], |row| row.get(0))
            .unwrap();
        count == 1
    })
    .await;
    assert!(find_channel(&*store, &ann, "resp_new").await.is_some());
    assert_eq!(find_channel(&*store, &ann, "resp_7").await, None);
}
