//! Every store behaves alike: one table of behaviours, run against each.

mod behaviours;
mod clocks;
mod embedded;
mod redis_server;
mod scripts;
mod shared;

use super::demand::{Admission, Demand, Limit, Measure, Ticket, Verdict};
use super::site::{FileSite, Site};
use super::{Pending, Store};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A caller of a test's own, so that tests can share a store.
fn caller() -> Arc<str> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("caller {{{n}}}").into()
}

fn limit(caller: &Arc<str>, measure: Measure, most: u64) -> Limit {
    Limit {
        caller: caller.clone(),
        model: None,
        measure,
        most,
    }
}

async fn admit(store: &dyn Store, limits: &[Limit], tokens: u64) -> Admission {
    store.admit(&Demand { limits, tokens }).get().await.unwrap()
}

/// The ticket of a demand that must be granted.
async fn granted(store: &dyn Store, limits: &[Limit], tokens: u64) -> Ticket {
    match admit(store, limits, tokens).await.verdict {
        Verdict::Granted(ticket) => ticket,
        refused => panic!("{refused:?}"),
    }
}

/// The limit in the way of a demand that must be refused, and when to try again.
async fn refused(store: &dyn Store, limits: &[Limit], tokens: u64) -> (usize, Duration) {
    match admit(store, limits, tokens).await.verdict {
        Verdict::Refused { limit, retry_after } => (limit, retry_after),
        granted => panic!("{granted:?}"),
    }
}

async fn channel_of(store: &dyn Store, caller: &Arc<str>, id: &str) -> Option<String> {
    let pending: Pending<'_, _> = store.channel_of(caller, id);
    pending.get().await.unwrap().map(|name| name.to_string())
}

/// Looks again and again until `look` says that it is so.
async fn eventually(what: &str, mut look: impl AsyncFnMut() -> bool) {
    for _ in 0..3000 {
        if look().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never came: {what}");
}

/// A folder of a test's own, removed when it is over.
struct Folder(PathBuf);

impl Folder {
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
    fn store(&self) -> Arc<dyn Store> {
        let site = FileSite {
            path: self.0.join("state.sqlite"),
            keep: 30 * DAY,
        };
        let store = Site::File(site).open();
        assert!(store.health().up);
        store
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
