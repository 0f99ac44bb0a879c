//! The log of changes: one small record for each, from which gateways learn whose records they have to read again.
//!
//! An entry is written before the record that it announces, so that a gateway that stops in between hides nothing: whoever
//! has read the entry looks for the record for a while. Entries only say where to look. One that is missing or unreadable
//! makes a gateway read all records again.

use headgate_core::state::StoreUnavailable;
use headgate_core::state::calendar::{DAY_MS, unix_ms};
use headgate_core::state::records::{InsertResult, Record, RecordContent, RecordKind, RecordStore};
use headgate_core::task::id::TaskIdKeyRing;
use serde::{Deserialize, Serialize};

const KIND: RecordKind = RecordKind::CallerChange;
/// What seals are for, before the key of the entry.
const PURPOSE: &[u8] = b"headgate caller change ";
const OWNER: &str = "change log";
/// How long an entry stays. A gateway that was away for longer reads all records.
const KEPT_MS: u64 = DAY_MS;
/// The number of entries that one command reads.
const PAGE: usize = 256;

/// The last entry that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogPosition {
    /// The number of the entry; 0 before the first.
    pub number: u64,
    /// The version of its record, which another entry of this number would not have.
    version: u64,
}

/// A change that the log announces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedChange {
    /// The version that the caller's record has after the change.
    pub number: u64,
    pub name: String,
}

/// What was read after a position.
#[derive(Debug, PartialEq, Eq)]
pub enum LogPage {
    /// The next changes, the position of the last one, and whether there are more.
    Changes(Vec<LoggedChange>, LogPosition, bool),
    /// The log is not the continuation of what was read: changes may be missing.
    Broken,
}

#[derive(Serialize, Deserialize)]
struct LogEntry {
    /// The number of the entry before.
    previous: u64,
    name: String,
}

/// The log in a state store.
#[derive(Clone, Copy)]
pub struct ChangeLog<'s> {
    pub records: &'s dyn RecordStore,
    pub keys: &'s TaskIdKeyRing,
}

impl ChangeLog<'_> {
    /// Reads the changes after a position, by one command.
    pub async fn read(&self, position: LogPosition) -> Result<LogPage, StoreUnavailable> {
        let after = position.number.checked_sub(1);
        let after = after.map(entry_key).unwrap_or_default();
        let found = self.records.list(KIND, &after, PAGE).get().await?;
        let has_more = found.len() == PAGE;
        let mut found = found.into_iter();
        if position.number > 0 && found.next().as_ref().and_then(position_at) != Some(position) {
            return Ok(LogPage::Broken);
        }
        let (mut changes, mut last) = (Vec::new(), position);
        for record in found {
            let entry = self.open(&record);
            let next = position_at(&record);
            let (Some(entry), Some(next)) = (entry, next) else {
                return Ok(LogPage::Broken);
            };
            if entry.previous != last.number {
                return Ok(LogPage::Broken);
            }
            changes.push(LoggedChange {
                number: next.number,
                name: entry.name,
            });
            last = next;
        }
        Ok(LogPage::Changes(changes, last, has_more))
    }

    /// The position of the last entry, whatever it contains.
    pub async fn last_position(&self) -> Result<LogPosition, StoreUnavailable> {
        let mut last = LogPosition::default();
        let mut after = String::new();
        loop {
            let found = self.records.list(KIND, &after, PAGE).get().await?;
            let Some(record) = found.last() else {
                return Ok(last);
            };
            last = position_at(record).unwrap_or(last);
            after = record.key.to_string();
        }
    }

    /// Announces a change after the last entry; returns its position, or `None` if another change came first. Its number is
    /// above `floor`.
    pub async fn append(
        &self,
        position: LogPosition,
        floor: u64,
        name: &str,
    ) -> Result<Option<LogPosition>, StoreUnavailable> {
        let number = position.number.max(floor) + 1;
        let key = entry_key(number);
        let entry = LogEntry {
            previous: position.number,
            name: name.to_owned(),
        };
        let plain = serde_json::to_vec(&entry).expect("a text and a number are JSON");
        let content = RecordContent {
            value: self.keys.seal_bytes(&purpose(&key), &plain).into(),
            owner: OWNER.into(),
            expires_ms: unix_ms() + KEPT_MS,
            due_ms: None,
        };
        let inserted = self.records.insert(KIND, &key, content, u32::MAX);
        match inserted.get().await? {
            InsertResult::Inserted { version } => Ok(Some(LogPosition { number, version })),
            InsertResult::Exists(_) => Ok(None),
            InsertResult::OwnerFull => Err(StoreUnavailable("it has no room for changes".into())),
        }
    }

    fn open(&self, record: &Record) -> Option<LogEntry> {
        let plain = self
            .keys
            .open_bytes(&purpose(&record.key), &record.content.value)?;
        serde_json::from_slice(&plain).ok()
    }
}

fn position_at(record: &Record) -> Option<LogPosition> {
    Some(LogPosition {
        number: record.key.parse().ok()?,
        version: record.version,
    })
}

/// Keys are listed in the order of their numbers.
fn entry_key(number: u64) -> String {
    format!("{number:020}")
}

fn purpose(key: &str) -> Vec<u8> {
    [PURPOSE, key.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issued_caller::tests::ring;
    use headgate_core::state::records::memory::MemoryRecordStore;

    #[tokio::test]
    async fn changes_are_read_in_order_and_a_gap_is_noticed() {
        let (records, keys) = (MemoryRecordStore::default(), ring(&["a"]));
        let log = ChangeLog {
            records: &records,
            keys: &keys,
        };
        let start = LogPosition::default();
        assert_eq!(
            log.read(start).await.unwrap(),
            LogPage::Changes(vec![], start, false)
        );
        let first = log.append(start, 0, "ann").await.unwrap().unwrap();
        assert_eq!(log.append(start, 0, "bob").await.unwrap(), None);
        let second = log.append(first, 40, "bob").await.unwrap().unwrap();
        let third = log.append(second, 40, "ann").await.unwrap().unwrap();
        assert_eq!((second.number, third.number), (41, 42));
        let change = |number, name: &str| LoggedChange {
            number,
            name: name.into(),
        };
        let changes = [change(1, "ann"), change(41, "bob"), change(42, "ann")];
        for (from, skipped) in [(start, 0), (first, 1), (third, 3)] {
            let expected = LogPage::Changes(changes[skipped..].to_vec(), third, false);
            assert_eq!(log.read(from).await.unwrap(), expected);
        }
        assert_eq!(log.last_position().await.unwrap(), third);
        let key = entry_key(41);
        assert!(
            records
                .remove(KIND, &key, second.version)
                .get()
                .await
                .unwrap()
        );
        for from in [start, first, second] {
            assert_eq!(log.read(from).await.unwrap(), LogPage::Broken);
        }
    }

    #[tokio::test]
    async fn an_entry_of_somebody_else_announces_nothing() {
        let (records, keys) = (MemoryRecordStore::default(), ring(&["a"]));
        let (own, other) = (ring(&["a"]), ring(&["b"]));
        let of = |keys| ChangeLog {
            records: &records,
            keys,
        };
        let start = LogPosition::default();
        let forged = of(&other).append(start, 0, "ann").await.unwrap().unwrap();
        assert_eq!(of(&own).read(start).await.unwrap(), LogPage::Broken);
        let last = of(&keys).last_position().await.unwrap();
        assert_eq!(last, forged);
        let read = of(&own).read(last).await.unwrap();
        assert_eq!(read, LogPage::Changes(vec![], last, false));
    }
}
