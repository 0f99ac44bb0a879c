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
mod runs;
mod scripts;
mod sqlite_store;
mod unawaited_calls;

use headgate_core::state::admission::{
    AdmissionDecision, AdmissionLimit, AdmissionRequest, AdmissionResult, AdmissionTicket,
    LimitKind,
};
use headgate_core::state::health::StoreOperation;
use headgate_core::state::settings::{SqliteSettings, StoreOpener, StoreSettings};
use headgate_core::state::{StateStore, StoreFuture};
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
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
            run: None,
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

/// The results of futures that run at the same time.
async fn join_all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<Pin<Box<F>>> = futures.map(Box::pin).collect();
    let mut results: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, result) in futures.iter_mut().zip(&mut results) {
            if result.is_none()
                && let Poll::Ready(output) = future.as_mut().poll(context)
            {
                *result = Some(output);
            }
        }
        match results.iter().all(Option::is_some) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    results.into_iter().flatten().collect()
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
