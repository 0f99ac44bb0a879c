//! Tests of all stores: one list of behaviours, run against each store.

mod clocks;
mod contract;
mod money;
mod reconciliation;
mod records;
mod redis_connections;
mod redis_ids;
mod redis_proxy;
mod redis_records;
mod redis_server;
mod redis_store;
mod scripts;
mod sqlite_store;

use headgate_core::state::admission::{
    AdmissionDecision, AdmissionLimit, AdmissionRequest, AdmissionResult, AdmissionTicket,
    LimitKind,
};
use headgate_core::state::health::StoreOperation;
use headgate_core::state::settings::{SqliteSettings, StoreOpener, StoreSettings};
use headgate_core::state::{StateStore, StoreFuture};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A caller that no other test uses, so that tests can share a store.
fn caller() -> Arc<str> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("caller {{{n}}}").into()
}

fn limit(caller: &Arc<str>, measure: LimitKind, most: u64) -> AdmissionLimit {
    AdmissionLimit::new(caller, None, measure, most)
}

async fn admit(store: &dyn StateStore, limits: &[AdmissionLimit], tokens: u64) -> AdmissionResult {
    store
        .admit(&AdmissionRequest {
            limits,
            tokens,
            cost: None,
        })
        .get()
        .await
        .unwrap()
}

/// The ticket of a request that must be granted.
async fn granted(
    store: &dyn StateStore,
    limits: &[AdmissionLimit],
    tokens: u64,
) -> AdmissionTicket {
    match admit(store, limits, tokens).await.decision {
        AdmissionDecision::Granted(ticket) => ticket,
        refused => panic!("{refused:?}"),
    }
}

/// The index of the limit that refuses a request which must be refused, and the time until the next try.
async fn refused(
    store: &dyn StateStore,
    limits: &[AdmissionLimit],
    tokens: u64,
) -> (usize, Duration) {
    match admit(store, limits, tokens).await.decision {
        AdmissionDecision::Refused { limit, retry_after } => (limit, retry_after),
        granted => panic!("{granted:?}"),
    }
}

async fn find_channel(store: &dyn StateStore, caller: &Arc<str>, id: &str) -> Option<String> {
    let pending: StoreFuture<'_, _> = store.find_channel(caller, id);
    pending.get().await.unwrap().map(|name| name.to_string())
}

/// Polls `look` until it returns true.
async fn eventually(what: &str, mut look: impl AsyncFnMut() -> bool) {
    for _ in 0..3000 {
        if look().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never came: {what}");
}

/// A folder of one test, removed when it is dropped.
struct TempFolder(PathBuf);

impl TempFolder {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("headgate-state-{}-{n}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }

    /// A store in a file of this folder.
    fn store(&self) -> Arc<dyn StateStore> {
        let site = SqliteSettings {
            path: self.0.join("state.sqlite"),
            id_ttl: 30 * DAY,
        };
        let store = crate::open::StateStoreOpener.open(&StoreSettings::File(site));
        assert!(store.health().up);
        store
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
