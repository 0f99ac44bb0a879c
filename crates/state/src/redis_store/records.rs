//! Records in Redis: each operation is one script. They are as durable as Redis is configured to be (`appendfsync`).

use super::RedisStoreInner;
use bytes::Bytes;
use headgate_core::state::health::StoreOperation;
use headgate_core::state::records::{
    InsertResult, Record, RecordContent, RecordCount, RecordKind, RecordStore,
};
use headgate_core::state::{StoreFuture, StoreUnavailable};
use redis::Cmd;

/// The number of texts that the script returns for a record.
const RECORD_TEXTS: usize = 6;

impl RecordStore for RedisStoreInner {
    fn is_durable(&self) -> bool {
        true
    }

    fn insert<'a>(
        &'a self,
        kind: RecordKind,
        key: &'a str,
        content: RecordContent,
        owner_max: u32,
    ) -> StoreFuture<'a, InsertResult> {
        let mut command = self.record_command(kind, "insert");
        let Some(version) = new_version() else {
            return no_version();
        };
        command.arg(version).arg(key);
        push_content(&mut command, &content);
        command.arg(owner_max);
        self.run(command, |texts| {
            let (result, rest) = texts.split_first()?;
            match &result[..] {
                b"inserted" => Some(InsertResult::Inserted {
                    version: number(rest.first()?)?,
                }),
                b"exists" => record(rest).map(InsertResult::Exists),
                b"owner_full" => Some(InsertResult::OwnerFull),
                _ => None,
            }
        })
    }

    fn replace<'a>(
        &'a self,
        kind: RecordKind,
        key: &'a str,
        version: u64,
        content: RecordContent,
    ) -> StoreFuture<'a, Option<u64>> {
        let mut command = self.record_command(kind, "replace");
        let Some(new_version) = new_version() else {
            return no_version();
        };
        command.arg(new_version).arg(key).arg(version);
        push_content(&mut command, &content);
        self.run(command, |texts| match texts {
            [] => Some(None),
            [version, ..] => number(version).map(Some),
        })
    }

    fn remove<'a>(&'a self, kind: RecordKind, key: &'a str, version: u64) -> StoreFuture<'a, bool> {
        let mut command = self.record_command(kind, "remove");
        command.arg(key).arg(version);
        self.run(command, |texts| Some(!texts.is_empty()))
    }

    fn get<'a>(&'a self, kind: RecordKind, key: &'a str) -> StoreFuture<'a, Option<Record>> {
        let mut command = self.record_command(kind, "get");
        command.arg(key);
        self.run(command, |texts| Some(records(texts)?.pop()))
    }

    fn due(&self, kind: RecordKind, now_ms: u64, limit: usize) -> StoreFuture<'_, Vec<Record>> {
        let mut command = self.record_command(kind, "due");
        command.arg(now_ms).arg(limit);
        self.run(command, records)
    }

    fn count(&self, kind: RecordKind) -> StoreFuture<'_, RecordCount> {
        let command = self.record_command(kind, "count");
        self.run(command, |texts| {
            let [count, first_expiry] = texts else {
                return None;
            };
            Some(RecordCount {
                count: number(count)?,
                first_expiry_ms: number(first_expiry),
            })
        })
    }

    fn list<'a>(
        &'a self,
        kind: RecordKind,
        after: &'a str,
        limit: usize,
    ) -> StoreFuture<'a, Vec<Record>> {
        let mut command = self.record_command(kind, "list");
        command.arg(after).arg(limit);
        self.run(command, records)
    }
}

impl RedisStoreInner {
    fn record_command(&self, kind: RecordKind, operation: &str) -> Cmd {
        let mut command = self.scripts.records(&self.keys.records(kind));
        command.arg(operation);
        command
    }

    /// Sends a script, and reads its result by `read`, which returns `None` for a malformed one.
    fn run<'a, T: Send + 'a>(
        &'a self,
        command: Cmd,
        read: impl FnOnce(&[Bytes]) -> Option<T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        let run = async move {
            let connection = self.connector.connection()?;
            let texts: Vec<Bytes> = self.connector.query_record(connection, &command).await?;
            read(&texts).ok_or_else(|| {
                StoreUnavailable("Redis returned an unexpected result of the script".into())
            })
        };
        StoreFuture::Later(Box::pin(self.count_failure(StoreOperation::Record, run)))
    }
}

/// A version that no record has had: Redis may lose its records, and must not give a new one the version of a lost one.
fn new_version() -> Option<u64> {
    getrandom::u64().ok()
}

fn no_version<'a, T>() -> StoreFuture<'a, T> {
    let reason = "the system has no random numbers for the version of a record";
    StoreFuture::Ready(Err(StoreUnavailable(reason.into())))
}

fn push_content(command: &mut Cmd, content: &RecordContent) {
    let RecordContent {
        value,
        owner,
        expires_ms,
        due_ms,
    } = content;
    let due = due_ms.map(|due_ms| due_ms.to_string()).unwrap_or_default();
    command
        .arg(&value[..])
        .arg(&**owner)
        .arg(*expires_ms)
        .arg(due);
}

fn records(texts: &[Bytes]) -> Option<Vec<Record>> {
    texts.chunks(RECORD_TEXTS).map(record).collect()
}

fn record(texts: &[Bytes]) -> Option<Record> {
    let [key, version, value, owner, expires, due] = texts else {
        return None;
    };
    Some(Record {
        key: text(key)?.into(),
        version: number(version)?,
        content: RecordContent {
            value: value.clone(),
            owner: text(owner)?.into(),
            expires_ms: number(expires)?,
            due_ms: match due.is_empty() {
                true => None,
                false => Some(number(due)?),
            },
        },
    })
}

fn text(bytes: &Bytes) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn number(bytes: &Bytes) -> Option<u64> {
    text(bytes)?.parse().ok()
}
