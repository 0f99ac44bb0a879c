//! Stores what was counted, every few seconds and when the process ends.

use crate::day::UsageDay;
use crate::stored_rows::RowWriter;
use crate::totals::{PartId, UsageTotals};
use headgate_core::feature::background::BackgroundContext;
use headgate_core::state::StateStore;
use headgate_core::state::calendar::unix_ms;
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// The time between two writes: what a process that is killed loses.
const INTERVAL: Duration = Duration::from_secs(5);
/// How long the last write of a process may take.
const LAST_WITHIN: Duration = Duration::from_secs(5);
/// Days whose parts may change again.
const DAYS_OF_VERSIONS: u32 = 40;

/// Stores what this process has counted. It outlives snapshots.
#[derive(Default)]
pub(crate) struct UsageWriter {
    /// The versions of the records that this process has written.
    versions: Mutex<HashMap<PartId, u64>>,
}

/// Stores until the process ends.
pub(crate) async fn run(context: BackgroundContext) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (writer, totals) = {
        // Its other values would keep this configuration in memory.
        let features = (context.current)().features;
        (features.get::<UsageWriter>(), features.get::<UsageTotals>())
    };
    loop {
        ticks.tick().await;
        writer.store_changes(&*context.state, &totals).await;
    }
}

impl UsageWriter {
    /// Stores what has changed for the last time, when all is counted.
    pub async fn finish(&self, state: &dyn StateStore, totals: &UsageTotals) {
        let stored = timeout(LAST_WITHIN, self.store_changes(state, totals));
        if stored.await.is_err() {
            tracing::warn!("the usage of the last seconds is not stored");
        }
    }

    async fn store_changes(&self, state: &dyn StateStore, totals: &UsageTotals) {
        let mut versions = self.versions.lock().await;
        let mut writer = RowWriter {
            records: state.records(),
            process: &totals.process,
            keep_ms: totals.keep_ms(),
            versions: &mut versions,
        };
        for part in totals.changed_parts() {
            if let Err(unavailable) = writer.store(part.id, &part.rows).await {
                tracing::warn!(error = %unavailable, "usage cannot be stored");
                break;
            }
            totals.note_stored(part.id, part.change);
        }
        let today = UsageDay::at(unix_ms());
        let lost = totals.forget_days_before(today);
        if lost > 0 {
            tracing::error!(
                days = lost,
                "usage is lost, since it could not be stored for a month"
            );
        }
        let oldest = today.before(DAYS_OF_VERSIONS);
        versions.retain(|id, _| id.day >= oldest);
    }
}
