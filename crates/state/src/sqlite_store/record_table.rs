//! The table of records in the state file, and the statements on it.

use bytes::Bytes;
use headgate_core::state::records::{InsertResult, Record, RecordContent, RecordCount, RecordKind};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

/// A version is the row's id, which is never used twice: each change of a record makes a new row, and the ids of each file
/// begin at a random number, since a lost file may be replaced by a new one while gateways still know versions of the old.
pub const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS records (
        version INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, owner TEXT NOT NULL,
        expires_ms INTEGER NOT NULL, due_ms INTEGER,
        UNIQUE (kind, key)
    );
    CREATE INDEX IF NOT EXISTS records_by_owner_and_expiry ON records (kind, owner, expires_ms);
    CREATE INDEX IF NOT EXISTS records_by_expiry ON records (expires_ms);
    CREATE INDEX IF NOT EXISTS records_by_due ON records (kind, due_ms) WHERE due_ms IS NOT NULL;
    INSERT INTO sqlite_sequence (name, seq) SELECT 'records', abs(random() % 4503599627370496)
        WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'records');";

const COLUMNS: &str = "version, key, value, owner, expires_ms, due_ms";

/// The records, as one transaction sees them.
pub struct SqlRecordTable<'c> {
    pub connection: &'c Connection,
    /// Unix milliseconds; records that expired before do not exist.
    pub now_ms: i64,
}

impl SqlRecordTable<'_> {
    pub fn insert(
        &self,
        kind: RecordKind,
        key: &str,
        content: &RecordContent,
        owner_max: u32,
    ) -> rusqlite::Result<InsertResult> {
        if let Some(record) = self.get(kind, key)? {
            return Ok(InsertResult::Exists(record));
        }
        let owned: i64 = self.connection.query_row(
            "SELECT count(*) FROM records WHERE kind = ?1 AND owner = ?2 AND expires_ms > ?3",
            params![kind.name(), content.owner, self.now_ms],
            |row| row.get(0),
        )?;
        if owned >= i64::from(owner_max) {
            return Ok(InsertResult::OwnerFull);
        }
        let version = self.put(kind, key, content)?;
        Ok(InsertResult::Inserted { version })
    }

    pub fn replace(
        &self,
        kind: RecordKind,
        key: &str,
        version: u64,
        content: &RecordContent,
    ) -> rusqlite::Result<Option<u64>> {
        match self.remove(kind, key, version)? {
            true => self.put(kind, key, content).map(Some),
            false => Ok(None),
        }
    }

    pub fn remove(&self, kind: RecordKind, key: &str, version: u64) -> rusqlite::Result<bool> {
        let removed = self.connection.prepare(
            "DELETE FROM records WHERE version = ?1 AND kind = ?2 AND key = ?3 AND expires_ms > ?4",
        )?.execute(params![version.cast_signed(), kind.name(), key, self.now_ms])?;
        Ok(removed > 0)
    }

    pub fn get(&self, kind: RecordKind, key: &str) -> rusqlite::Result<Option<Record>> {
        self.connection
            .prepare(&format!(
                "SELECT {COLUMNS} FROM records WHERE kind = ?1 AND key = ?2 AND expires_ms > ?3"
            ))?
            .query_row(params![kind.name(), key, self.now_ms], record)
            .optional()
    }

    pub fn due(
        &self,
        kind: RecordKind,
        due_ms: u64,
        limit: usize,
    ) -> rusqlite::Result<Vec<Record>> {
        let rows = format!(
            "SELECT {COLUMNS} FROM records WHERE kind = ?1 AND due_ms <= ?2 AND expires_ms > ?3
             ORDER BY due_ms, key LIMIT ?4"
        );
        self.select(
            &rows,
            params![
                kind.name(),
                due_ms.cast_signed(),
                self.now_ms,
                limit.cast_signed()
            ],
        )
    }

    /// Counts by an index, which has all that is needed.
    pub fn count(&self, kind: RecordKind) -> rusqlite::Result<RecordCount> {
        self.connection.query_row(
            "SELECT count(*), min(expires_ms) FROM records WHERE kind = ?1 AND expires_ms > ?2",
            params![kind.name(), self.now_ms],
            |row| {
                Ok(RecordCount {
                    count: row.get::<_, i64>(0)?.cast_unsigned(),
                    first_expiry_ms: row.get::<_, Option<i64>>(1)?.map(i64::cast_unsigned),
                })
            },
        )
    }

    pub fn list(
        &self,
        kind: RecordKind,
        after: &str,
        limit: usize,
    ) -> rusqlite::Result<Vec<Record>> {
        let rows = format!(
            "SELECT {COLUMNS} FROM records WHERE kind = ?1 AND key > ?2 AND expires_ms > ?3
             ORDER BY key LIMIT ?4"
        );
        self.select(
            &rows,
            params![kind.name(), after, self.now_ms, limit.cast_signed()],
        )
    }

    /// Removes expired records, at most `limit`; returns how many.
    pub fn prune(&self, limit: usize) -> rusqlite::Result<usize> {
        self.connection.execute(
            "DELETE FROM records WHERE version IN
                (SELECT version FROM records WHERE expires_ms <= ?1 LIMIT ?2)",
            params![self.now_ms, limit.cast_signed()],
        )
    }

    /// Replaces whatever row the key has, which has expired or was just removed.
    fn put(&self, kind: RecordKind, key: &str, content: &RecordContent) -> rusqlite::Result<u64> {
        self.connection
            .prepare(
                "INSERT OR REPLACE INTO records (kind, key, value, owner, expires_ms, due_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                kind.name(),
                key,
                &content.value[..],
                content.owner,
                content.expires_ms.cast_signed(),
                content.due_ms.map(u64::cast_signed)
            ])?;
        Ok(self.connection.last_insert_rowid().cast_unsigned())
    }

    fn select(&self, query: &str, params: &[&dyn ToSql]) -> rusqlite::Result<Vec<Record>> {
        let mut statement = self.connection.prepare(query)?;
        statement.query_map(params, record)?.collect()
    }
}

/// A row with [`COLUMNS`].
fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let number = |index| row.get::<_, i64>(index).map(i64::cast_unsigned);
    Ok(Record {
        version: number(0)?,
        key: row.get::<_, String>(1)?.into(),
        content: RecordContent {
            value: Bytes::from(row.get::<_, Vec<u8>>(2)?),
            owner: row.get::<_, String>(3)?.into(),
            expires_ms: number(4)?,
            due_ms: row.get::<_, Option<i64>>(5)?.map(i64::cast_unsigned),
        },
    })
}
