//! The state file of a gateway, read and changed behind its back: for what would take days otherwise.

use super::folder::Folder;
use super::gateway::folder_with_schemas;
use rusqlite::{Connection, params};
use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A state file, which outlives its gateways.
pub struct StateFile {
    folder: Folder,
}

/// A record as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRecord {
    pub key: String,
    pub value: Vec<u8>,
    pub expires_ms: u64,
    pub due_ms: Option<u64>,
}

impl StateFile {
    pub fn new() -> Self {
        Self {
            folder: folder_with_schemas(),
        }
    }

    /// The setting `state`.
    pub fn url(&self) -> String {
        format!("sqlite:{}", self.path().display())
    }

    /// The records of a kind, by their keys.
    pub fn records(&self, kind: &str) -> Vec<FileRecord> {
        let file = self.open();
        let query =
            "SELECT key, value, expires_ms, due_ms FROM records WHERE kind = ? ORDER BY key";
        let mut statement = file.prepare(query).unwrap();
        let rows = statement.query_map([kind], |row| {
            Ok(FileRecord {
                key: row.get(0)?,
                value: row.get(1)?,
                expires_ms: row.get::<_, i64>(2)?.cast_unsigned(),
                due_ms: row.get::<_, Option<i64>>(3)?.map(i64::cast_unsigned),
            })
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    /// Changes the records of a kind whose values are JSON objects, and makes them due now. Returns their number.
    pub fn change(&self, kind: &str, change: impl Fn(&mut Value, &mut u64)) -> usize {
        let now_ms = unix_ms().cast_signed();
        let mut changed = 0;
        for record in self.records(kind) {
            let mut value: Value = serde_json::from_slice(&record.value).unwrap();
            if !value.is_object() {
                continue;
            }
            let mut expires_ms = record.expires_ms;
            change(&mut value, &mut expires_ms);
            let update = "UPDATE records SET value = ?, expires_ms = ?, due_ms = ? WHERE kind = ? AND key = ?";
            let value = value.to_string().into_bytes();
            let expires_ms = expires_ms.cast_signed();
            let row = params![value, expires_ms, now_ms, kind, record.key];
            changed += self.open().execute(update, row).unwrap();
        }
        changed
    }

    /// What a caller has used and reserved of its budget `kind` in money, in billionths.
    pub fn money_used(&self, caller: &str, kind: &str) -> u64 {
        let query =
            "SELECT coalesce(sum(nanos), 0) FROM money_used WHERE caller = ? AND measure = ?";
        let used = self
            .open()
            .query_row(query, [caller, kind], |row| row.get::<_, i64>(0));
        used.unwrap().cast_unsigned()
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("state.sqlite")
    }

    fn open(&self) -> Connection {
        let file = Connection::open(self.path()).unwrap();
        file.busy_timeout(Duration::from_secs(10)).unwrap();
        file
    }
}

pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_millis() as u64
}
