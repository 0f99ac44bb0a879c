//! Runs of agents as Redis has them.

use super::RedisStoreInner;
use headgate_core::state::StoreUnavailable;
use headgate_core::state::run::{RunCall, RunCap, RunCaps, RunKey};
use headgate_core::state::run_usage::{RunStatus, RunUsage};
use std::collections::HashMap;

/// A run as the script returns it: its caller, its name, its fields, and its calls.
type StoredRun = (String, String, HashMap<String, String>, Vec<String>);

impl RedisStoreInner {
    /// As [`StateStore::runs`](headgate_core::state::StateStore::runs).
    pub async fn runs(
        &self,
        name: Option<&str>,
        most: usize,
    ) -> Result<Vec<RunStatus>, StoreUnavailable> {
        let connection = self.connector.connection()?;
        let index = self.keys.callers_with_runs();
        let around = self.keys.around_live_runs();
        let command = self.scripts.runs(&index, &around, name, most);
        let found: Vec<StoredRun> = self.connector.query(connection, &command).await?;
        Ok(found.into_iter().map(status).collect())
    }
}

fn status((caller, name, fields, calls): StoredRun) -> RunStatus {
    let number = |field: &str| {
        let text = fields.get(field)?;
        text.parse::<u64>().ok()
    };
    let count = |field| number(field).unwrap_or(0);
    let mut tightened = RunCaps::default();
    for cap in RunCap::ALL {
        tightened.set(cap, number(&format!("most:{}", cap.name())));
    }
    RunStatus {
        key: RunKey {
            caller: caller.into(),
            name: name.into(),
        },
        usage: RunUsage {
            started_ms: count("start"),
            used_ms: count("used"),
            expires_ms: count("ends"),
            idle_ms: count("idle"),
            calls: count("calls"),
            tokens: count("tokens"),
            cost: count("cost"),
            repeats: count("repeats"),
            fingerprint: fields.get("same").cloned().unwrap_or_default(),
            tightened,
        },
        calls: calls
            .iter()
            .filter_map(|text| RunCall::from_text(text))
            .collect(),
    }
}
