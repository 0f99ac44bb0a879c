//! Records in memory: they end with the process.

use super::{InsertResult, Record, RecordContent, RecordCount, RecordKind, RecordStore};
use crate::state::StoreFuture;
use crate::state::clock::Clock;
use crate::state::lock::lock;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex};

/// The maximum number of records.
const RECORDS_MAX: usize = 1_000_000;
/// Expired records that an insertion removes, so that none stays in memory for long.
const REMOVED_AT_ONCE: usize = 8;

/// Records in memory.
#[derive(Default)]
pub struct MemoryRecordStore {
    tables: Mutex<HashMap<RecordKind, MemoryRecordTable>>,
    clock: Clock,
}

/// The records of one kind.
#[derive(Default)]
struct MemoryRecordTable {
    by_key: BTreeMap<Arc<str>, Record>,
    by_due: BTreeSet<(u64, Arc<str>)>,
    by_expiry: BTreeSet<(u64, Arc<str>)>,
    by_owner: HashMap<Arc<str>, u32>,
    last_version: u64,
}

impl MemoryRecordStore {
    #[cfg(any(test, feature = "test-support"))]
    pub fn with_clock(clock: Clock) -> Self {
        Self {
            clock,
            ..Self::default()
        }
    }

    fn with_table<T>(&self, kind: RecordKind, work: impl FnOnce(&mut MemoryRecordTable) -> T) -> T {
        work(lock(&self.tables).entry(kind).or_default())
    }
}

impl RecordStore for MemoryRecordStore {
    fn is_durable(&self) -> bool {
        false
    }

    fn insert<'a>(
        &'a self,
        kind: RecordKind,
        key: &'a str,
        content: RecordContent,
        owner_max: u32,
    ) -> StoreFuture<'a, InsertResult> {
        let now_ms = self.clock.now().unix_ms;
        StoreFuture::Ready(Ok(
            self.with_table(kind, |table| table.insert(key, content, owner_max, now_ms))
        ))
    }

    fn replace<'a>(
        &'a self,
        kind: RecordKind,
        key: &'a str,
        version: u64,
        content: RecordContent,
    ) -> StoreFuture<'a, Option<u64>> {
        let now_ms = self.clock.now().unix_ms;
        StoreFuture::Ready(Ok(self.with_table(kind, |table| {
            table.take_version(key, version, now_ms)?;
            Some(table.put(key.into(), content))
        })))
    }

    fn remove<'a>(&'a self, kind: RecordKind, key: &'a str, version: u64) -> StoreFuture<'a, bool> {
        let now_ms = self.clock.now().unix_ms;
        StoreFuture::Ready(Ok(self.with_table(kind, |table| {
            table.take_version(key, version, now_ms).is_some()
        })))
    }

    fn get<'a>(&'a self, kind: RecordKind, key: &'a str) -> StoreFuture<'a, Option<Record>> {
        let now_ms = self.clock.now().unix_ms;
        StoreFuture::Ready(Ok(
            self.with_table(kind, |table| table.live(key, now_ms).cloned())
        ))
    }

    fn due(&self, kind: RecordKind, now_ms: u64, limit: usize) -> StoreFuture<'_, Vec<Record>> {
        StoreFuture::Ready(Ok(self.with_table(kind, |table| table.due(now_ms, limit))))
    }

    fn count(&self, kind: RecordKind) -> StoreFuture<'_, RecordCount> {
        StoreFuture::Ready(Ok(self.with_table(kind, |table| {
            let due = table.by_due.iter();
            let due = due.filter_map(|(_, key)| table.by_key.get(key));
            RecordCount {
                count: table.by_key.len() as u64,
                first_expiry_ms: due.map(|record| record.content.expires_ms).min(),
            }
        })))
    }

    fn list<'a>(
        &'a self,
        kind: RecordKind,
        after: &'a str,
        limit: usize,
    ) -> StoreFuture<'a, Vec<Record>> {
        let now_ms = self.clock.now().unix_ms;
        StoreFuture::Ready(Ok(self.with_table(kind, |table| {
            let later = table
                .by_key
                .range::<str, _>((Bound::Excluded(after), Bound::Unbounded));
            let live = later
                .map(|(_, record)| record)
                .filter(|record| now_ms < record.content.expires_ms);
            live.take(limit).cloned().collect()
        })))
    }
}

impl MemoryRecordTable {
    fn insert(
        &mut self,
        key: &str,
        content: RecordContent,
        owner_max: u32,
        now_ms: u64,
    ) -> InsertResult {
        if let Some(record) = self.live(key, now_ms) {
            return InsertResult::Exists(record.clone());
        }
        self.remove_expired(now_ms, REMOVED_AT_ONCE);
        let is_full = |table: &Self| {
            let owned = table.by_owner.get(&content.owner).copied().unwrap_or(0);
            owned >= owner_max || table.by_key.len() >= RECORDS_MAX
        };
        if is_full(self) {
            self.remove_expired(now_ms, usize::MAX);
        }
        match is_full(self) {
            true => InsertResult::OwnerFull,
            false => InsertResult::Inserted {
                version: self.put(key.into(), content),
            },
        }
    }

    /// The record under a key, unless it has expired: then it is removed.
    fn live(&mut self, key: &str, now_ms: u64) -> Option<&Record> {
        if self.by_key.get(key)?.content.expires_ms <= now_ms {
            self.take(key);
        }
        self.by_key.get(key)
    }

    /// Removes and returns the record if it is live and has this version.
    fn take_version(&mut self, key: &str, version: u64, now_ms: u64) -> Option<Record> {
        let is_current = self.live(key, now_ms)?.version == version;
        is_current.then(|| self.take(key))?
    }

    fn put(&mut self, key: Arc<str>, content: RecordContent) -> u64 {
        self.last_version += 1;
        let version = self.last_version;
        *self.by_owner.entry(content.owner.clone()).or_default() += 1;
        if let Some(due_ms) = content.due_ms {
            self.by_due.insert((due_ms, key.clone()));
        }
        self.by_expiry.insert((content.expires_ms, key.clone()));
        let record = Record {
            key: key.clone(),
            version,
            content,
        };
        self.by_key.insert(key, record);
        version
    }

    fn take(&mut self, key: &str) -> Option<Record> {
        let record = self.by_key.remove(key)?;
        if let Some(due_ms) = record.content.due_ms {
            self.by_due.remove(&(due_ms, record.key.clone()));
        }
        self.by_expiry
            .remove(&(record.content.expires_ms, record.key.clone()));
        if let Some(owned) = self.by_owner.get_mut(&record.content.owner) {
            *owned -= 1;
            if *owned == 0 {
                self.by_owner.remove(&record.content.owner);
            }
        }
        Some(record)
    }

    fn due(&self, now_ms: u64, limit: usize) -> Vec<Record> {
        let due = self
            .by_due
            .iter()
            .take_while(|(due_ms, _)| *due_ms <= now_ms);
        let records = due.filter_map(|(_, key)| self.by_key.get(key));
        let live = records.filter(|record| now_ms < record.content.expires_ms);
        live.take(limit).cloned().collect()
    }

    /// Removes records that have expired, the earliest first, at most `limit`.
    fn remove_expired(&mut self, now_ms: u64, limit: usize) {
        for _ in 0..limit {
            match self.by_expiry.first() {
                Some((expires_ms, key)) if *expires_ms <= now_ms => {
                    let key = key.clone();
                    self.take(&key);
                }
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn insertions_remove_what_has_expired() {
        let mut table = MemoryRecordTable::default();
        let content = |expires_ms| RecordContent {
            value: Bytes::new(),
            owner: "ann".into(),
            expires_ms,
            due_ms: Some(1),
        };
        for nth in 0..20 {
            table.insert(&format!("early-{nth}"), content(10), 100, 0);
        }
        for nth in 0..3 {
            table.insert(&format!("late-{nth}"), content(1000), 100, 10);
        }
        assert_eq!(table.by_key.len(), 3);
        assert_eq!(table.by_expiry.len(), 3);
        assert_eq!(table.by_due.len(), 3);
        assert_eq!(table.by_owner["ann"], 3);
    }
}
