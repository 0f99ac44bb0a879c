//! Rows as they are stored: a record for each part of a day of a process.

use crate::day::UsageDay;
use crate::totals::{PartId, UsageRow, UsageTotals};
use bytes::Bytes;
use headgate_core::state::StoreUnavailable;
use headgate_core::state::records::{InsertResult, Record, RecordContent, RecordKind, RecordStore};
use serde::Deserialize;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

const KIND: RecordKind = RecordKind::UsageDay;
/// The owner of all these records.
const OWNER: &str = "usage";
/// Records that are read at once.
const PAGE: usize = 50;

/// The content of a record.
#[derive(Deserialize)]
struct StoredRows {
    rows: Vec<UsageRow>,
}

/// Writes the parts of this process.
pub(crate) struct RowWriter<'s> {
    pub records: &'s dyn RecordStore,
    pub process: &'s str,
    /// How long a day is kept after its end, in milliseconds.
    pub keep_ms: u64,
    /// The versions of what was stored, of which this process is the only writer.
    pub versions: &'s mut HashMap<PartId, u64>,
}

impl RowWriter<'_> {
    /// Stores the rows of a part in place of those that it had.
    ///
    /// # Errors
    /// The store is unreachable. The rows may have been stored.
    pub async fn store(&mut self, id: PartId, rows: &[UsageRow]) -> Result<(), StoreUnavailable> {
        let key = part_key(self.process, id);
        let value = serde_json::to_vec(&json!({"rows": rows})).expect("rows are JSON");
        let content = RecordContent {
            value: value.into(),
            owner: Arc::from(OWNER),
            expires_ms: id.day.end_ms().saturating_add(self.keep_ms),
            due_ms: None,
        };
        if let Some(version) = self.versions.get(&id) {
            let replaced = self.records.replace(KIND, &key, *version, content.clone());
            if let Some(version) = replaced.get().await? {
                self.versions.insert(id, version);
                return Ok(());
            }
        }
        let inserted = self.records.insert(KIND, &key, content.clone(), u32::MAX);
        let known = match inserted.get().await? {
            InsertResult::Inserted { version } => Some(version),
            // An earlier write was stored although it failed.
            InsertResult::Exists(record) => {
                let replaced = self.records.replace(KIND, &key, record.version, content);
                replaced.get().await?
            }
            InsertResult::OwnerFull => return Err(StoreUnavailable("it is full".into())),
        };
        match known {
            Some(version) => drop(self.versions.insert(id, version)),
            None => return Err(StoreUnavailable("a record has changed meanwhile".into())),
        }
        Ok(())
    }
}

/// The rows of all processes from the day `from` to the day `to`: those that are stored, and in place of this process's own
/// those in memory, which are newer. Ends when `take` breaks.
///
/// # Errors
/// The store is unreachable.
pub(crate) async fn read_rows(
    records: &dyn RecordStore,
    totals: &UsageTotals,
    (from, to): (UsageDay, UsageDay),
    mut take: impl FnMut(UsageDay, &UsageRow) -> ControlFlow<()>,
) -> Result<(), StoreUnavailable> {
    let own = totals.parts_between(from, to);
    let keys = own.iter().map(|(id, _)| part_key(&totals.process, *id));
    let keys: HashSet<String> = keys.collect();
    let mut take_all = |day, rows: &[UsageRow]| rows.iter().try_for_each(|row| take(day, row));
    for (id, rows) in own {
        if take_all(id.day, &rows).is_break() {
            return Ok(());
        }
    }
    // No key of a day is before its name.
    let mut after = from.to_string();
    loop {
        let page = records.list(KIND, &after, PAGE).get().await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = last.key.to_string();
        for record in page.iter().filter(|record| !keys.contains(&*record.key)) {
            let Some((day, rows)) = read_record(record) else {
                tracing::warn!(key = &*record.key, "stored usage cannot be read");
                continue;
            };
            if day > to || take_all(day, &rows).is_break() {
                return Ok(());
            }
        }
    }
}

/// The day and the rows of a record.
fn read_record(record: &Record) -> Option<(UsageDay, Vec<UsageRow>)> {
    let day = record.key.split('/').next()?.parse().ok()?;
    let value: &Bytes = &record.content.value;
    let stored: StoredRows = serde_json::from_slice(value).ok()?;
    Some((day, stored.rows))
}

fn part_key(process: &str, id: PartId) -> String {
    let PartId { day, number } = id;
    format!("{day}/{process}/{number}")
}
