//! Stores what was counted, every few seconds and when the process ends.

use crate::day::UsageDay;
use crate::settings::DailyUsageSettings;
use crate::stored_rows::RowWriter;
use crate::totals::{PartId, UsageTotals};
use headgate_core::feature::background::BackgroundContext;
use headgate_core::state::calendar::{unix_ms, whole_ms};
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

/// The time between two writes: what a process that is killed loses.
const INTERVAL: Duration = Duration::from_secs(5);

/// Stores until the process ends.
pub(crate) async fn run(context: BackgroundContext) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut versions = HashMap::new();
    loop {
        let is_ending = tokio::select! {
            _ = ticks.tick() => false,
            () = context.until_ending() => true,
        };
        store_changes(&context, &mut versions).await;
        if is_ending {
            return;
        }
    }
}

async fn store_changes(context: &BackgroundContext, versions: &mut HashMap<PartId, u64>) {
    let features = (context.current)().features;
    let (settings, totals) = (
        features.get::<DailyUsageSettings>(),
        features.get::<UsageTotals>(),
    );
    let mut writer = RowWriter {
        records: context.state.records(),
        process: &totals.process,
        keep_ms: whole_ms(settings.keep),
        versions,
    };
    for part in totals.changed_parts() {
        if let Err(unavailable) = writer.store(part.id, part.rows).await {
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

/// Days whose parts may change again.
const DAYS_OF_VERSIONS: u32 = 40;
