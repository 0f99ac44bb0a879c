//! The record of a batch: its models, and the right to settle its usage, once of all gateways. Files of results lead to it.

use crate::claimed_owner::ClaimedBatchOwner;
use crate::recorded_money::RecordedBatchMoney;
use headgate_core::catalog::batch_price::BatchPrice;
use headgate_core::state::calendar::{DAY_MS, unix_ms};
use headgate_core::state::records::{InsertResult, Record, RecordContent, RecordKind, owned_key};
use headgate_core::state::{StateStore, StoreUnavailable};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How long results can be read: providers keep them for 29 or 30 days.
const KEPT_MS: u64 = 31 * DAY_MS;
/// The maximum number of records of one caller.
const RECORDS_MAX: u32 = 100_000;

/// What is known of a batch.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct BatchRecord {
    /// Empty in records of earlier versions, as are those that follow.
    #[serde(default)]
    pub id: String,
    #[serde(default)]
    pub channel: String,
    /// The path of the provider's API for batches.
    #[serde(default)]
    pub api: String,
    /// The number of its requests; 0 if it is not known.
    #[serde(default)]
    pub requests: u64,
    /// How often the gateway asks for it itself, in milliseconds; 0 for never.
    #[serde(default)]
    pub poll_ms: u64,
    /// The endpoint of all requests, as its path in the provider's API.
    pub endpoint: String,
    pub models: Vec<RecordedModel>,
    /// What a token of it costs, in percent of one in a request of its own.
    pub price_percent: u8,
    /// What it counts against the limits of its caller, in tokens.
    pub counted: u64,
    /// Unix milliseconds.
    pub created_ms: u64,
    pub is_settled: bool,
    /// What the create has reserved of budgets in money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<RecordedBatchMoney>,
    /// What the configuration does not say of a caller whose name a token has claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<ClaimedBatchOwner>,
}

/// A model of a batch.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct RecordedModel {
    pub name: String,
    /// The name in the requests that the provider got; empty if it is not known.
    pub channel_name: String,
    /// The estimated tokens of its requests.
    pub tokens: u64,
    /// The prices on the channel as of the create, if it had any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<BatchPrice>,
}

/// What is stored under the id of a batch, or of a file with its results.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum BatchIdRecord {
    Batch(Box<BatchRecord>),
    Results(RecordedResults),
}

/// A file with results.
#[derive(Deserialize, Serialize)]
struct RecordedResults {
    batch: String,
    /// Whether they have the usage of the batch.
    has_usage: bool,
}

/// A batch as it is stored.
#[derive(Clone)]
pub struct StoredBatch {
    pub id: String,
    pub record: BatchRecord,
    key: String,
    version: u64,
    expires_ms: u64,
}

/// A batch that nobody has settled in time.
pub struct DueBatch {
    pub caller: Arc<str>,
    pub batch: StoredBatch,
}

/// The results of a batch.
pub struct StoredResults {
    pub batch: StoredBatch,
    /// Whether they have the usage of the batch.
    pub has_usage: bool,
}

/// The records of batches of one caller.
pub struct BatchRecords<'s> {
    pub state: &'s dyn StateStore,
    pub caller: &'s Arc<str>,
}

impl BatchRecords<'_> {
    /// Stores a new batch. Returns whether it is stored: the caller may have too many.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn insert(&self, id: &str, record: BatchRecord) -> Result<bool, StoreUnavailable> {
        let now_ms = unix_ms();
        let expires_ms = now_ms + KEPT_MS;
        let due_ms = record.next_poll_ms(now_ms, expires_ms);
        let record = BatchIdRecord::Batch(Box::new(record));
        let content = self.content(&record, expires_ms, Some(due_ms));
        self.insert_record(id, content).await
    }

    /// Stores that a file has results of a batch. Returns whether it is stored.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn insert_results(
        &self,
        file: &str,
        has_usage: bool,
        batch: &StoredBatch,
    ) -> Result<bool, StoreUnavailable> {
        let results = RecordedResults {
            batch: batch.id.clone(),
            has_usage,
        };
        let record = BatchIdRecord::Results(results);
        let content = self.content(&record, batch.expires_ms, None);
        self.insert_record(file, content).await
    }

    /// A batch of the caller.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn find(&self, id: &str) -> Result<Option<StoredBatch>, StoreUnavailable> {
        Ok(match self.get(id).await? {
            Some((record, BatchIdRecord::Batch(batch))) => {
                Some(StoredBatch::new(id, record, *batch))
            }
            _ => None,
        })
    }

    /// The results with this id, which is that of their batch, or of a file.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn find_results(&self, id: &str) -> Result<Option<StoredResults>, StoreUnavailable> {
        Ok(match self.get(id).await? {
            None => None,
            Some((record, BatchIdRecord::Batch(batch))) => Some(StoredResults {
                batch: StoredBatch::new(id, record, *batch),
                has_usage: true,
            }),
            Some((_, BatchIdRecord::Results(RecordedResults { batch, has_usage }))) => {
                let batch = self.find(&batch).await?;
                batch.map(|batch| StoredResults { batch, has_usage })
            }
        })
    }

    /// Marks a batch as settled. Returns whether this call did: of all gateways, one settles it.
    ///
    /// # Errors
    /// The store is unreachable. It may have marked the batch.
    pub async fn settle(&self, batch: &StoredBatch) -> Result<bool, StoreUnavailable> {
        let settled = BatchIdRecord::Batch(Box::new(BatchRecord {
            is_settled: true,
            ..batch.record.clone()
        }));
        let content = self.content(&settled, batch.expires_ms, None);
        let (mut version, mut is_settled) = (batch.version, batch.record.is_settled);
        while !is_settled {
            if self.replace(batch, version, content.clone()).await? {
                return Ok(true);
            }
            // A gateway that asks for the batch has changed when it is due, or another one has settled it.
            let Some(current) = self.find(&batch.id).await? else {
                return Ok(false);
            };
            (version, is_settled) = (current.version, current.record.is_settled);
        }
        Ok(false)
    }

    /// Makes a batch due at another time, unless it has changed since. Returns the batch as it is then: of all gateways, one
    /// gets it.
    ///
    /// # Errors
    /// The store is unreachable. It may have changed the batch.
    pub async fn postpone(
        &self,
        batch: &StoredBatch,
        due_ms: u64,
    ) -> Result<Option<StoredBatch>, StoreUnavailable> {
        let record = BatchIdRecord::Batch(Box::new(batch.record.clone()));
        let content = self.content(&record, batch.expires_ms, Some(due_ms));
        let records = self.state.records();
        let replaced = records.replace(RecordKind::Batch, &batch.key, batch.version, content);
        let version = replaced.get().await?;
        Ok(version.map(|version| StoredBatch {
            version,
            ..batch.clone()
        }))
    }

    async fn replace(
        &self,
        batch: &StoredBatch,
        version: u64,
        content: RecordContent,
    ) -> Result<bool, StoreUnavailable> {
        let records = self.state.records();
        let replaced = records.replace(RecordKind::Batch, &batch.key, version, content);
        Ok(replaced.get().await?.is_some())
    }

    async fn get(&self, id: &str) -> Result<Option<(Record, BatchIdRecord)>, StoreUnavailable> {
        let key = owned_key(self.caller, id);
        let record = self.state.records().get(RecordKind::Batch, &key).get();
        let record = record.await?;
        // A later version of the program may have written what this one cannot read.
        Ok(record.and_then(|record| {
            let stored = serde_json::from_slice(&record.content.value).ok()?;
            Some((record, stored))
        }))
    }

    async fn insert_record(
        &self,
        id: &str,
        content: RecordContent,
    ) -> Result<bool, StoreUnavailable> {
        let key = owned_key(self.caller, id);
        let records = self.state.records();
        let inserted = records.insert(RecordKind::Batch, &key, content, RECORDS_MAX);
        Ok(match inserted.get().await? {
            InsertResult::Inserted { .. } | InsertResult::Exists(_) => true,
            InsertResult::OwnerFull => false,
        })
    }

    fn content(
        &self,
        record: &BatchIdRecord,
        expires_ms: u64,
        due_ms: Option<u64>,
    ) -> RecordContent {
        let value = serde_json::to_vec(record).expect("plain data serialises into memory");
        RecordContent {
            value: value.into(),
            owner: self.caller.clone(),
            expires_ms,
            due_ms,
        }
    }
}

/// The batches that are due, the earliest first. One that this version cannot read is due no more.
///
/// # Errors
/// The store is unreachable.
pub async fn find_due(
    state: &dyn StateStore,
    now_ms: u64,
    limit: usize,
) -> Result<Vec<DueBatch>, StoreUnavailable> {
    let records = state.records();
    let found = records.due(RecordKind::Batch, now_ms, limit).get().await?;
    let mut due = Vec::new();
    for record in found {
        let caller = record.content.owner.clone();
        match serde_json::from_slice(&record.content.value) {
            Ok(BatchIdRecord::Batch(batch)) if !batch.is_settled => {
                let id = batch.id.clone();
                let batch = StoredBatch::new(&id, record, *batch);
                due.push(DueBatch { caller, batch });
            }
            _ => {
                let content = RecordContent {
                    due_ms: None,
                    ..record.content
                };
                let (key, version) = (&record.key, record.version);
                let replaced = records.replace(RecordKind::Batch, key, version, content);
                replaced.get().await?;
            }
        }
    }
    Ok(due)
}

impl BatchRecord {
    /// When the gateway asks for the batch next, the more seldom the older it is; at the latest when it is about to expire.
    pub fn next_poll_ms(&self, now_ms: u64, expires_ms: u64) -> u64 {
        let last_ms = last_poll_ms(expires_ms);
        let age_ms = now_ms.saturating_sub(self.created_ms);
        match self.poll_ms {
            0 => last_ms,
            every_ms => last_ms.min(now_ms + every_ms.max(age_ms / 8)),
        }
    }
}

/// When a batch is settled at the latest, which expires then.
fn last_poll_ms(expires_ms: u64) -> u64 {
    expires_ms.saturating_sub(DAY_MS / 2)
}

impl StoredBatch {
    /// When the batch is settled at the latest.
    pub fn last_poll_ms(&self) -> u64 {
        last_poll_ms(self.expires_ms)
    }

    /// When the gateway asks for it next.
    pub fn next_poll_ms(&self, now_ms: u64) -> u64 {
        self.record.next_poll_ms(now_ms, self.expires_ms)
    }

    fn new(id: &str, record: Record, batch: BatchRecord) -> Self {
        Self {
            id: id.to_owned(),
            record: batch,
            key: record.key.to_string(),
            version: record.version,
            expires_ms: record.content.expires_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::state::memory::MemoryStore;

    #[tokio::test]
    async fn of_many_gateways_one_settles_a_batch() {
        let state = MemoryStore::default();
        let records = BatchRecords {
            state: &state,
            caller: &"ann".into(),
        };
        let record = BatchRecord {
            endpoint: "/v1/chat/completions".into(),
            price_percent: 50,
            counted: 7,
            created_ms: 1,
            ..BatchRecord::default()
        };
        assert!(records.insert("batch_1", record.clone()).await.unwrap());
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.push(records.find("batch_1").await.unwrap().unwrap());
        }
        assert_eq!(seen[0].record, record);
        let mut settled = 0;
        for batch in &seen {
            settled += usize::from(records.settle(batch).await.unwrap());
        }
        let again = records.find("batch_1").await.unwrap().unwrap();
        settled += usize::from(records.settle(&again).await.unwrap());
        assert_eq!((settled, again.record.is_settled), (1, true));
        // A replayed create leaves the record as it is.
        assert!(records.insert("batch_1", record).await.unwrap());
        assert!(
            records
                .insert_results("file-1", true, &again)
                .await
                .unwrap()
        );
        let results = records.find_results("file-1").await.unwrap().unwrap();
        assert_eq!((&*results.batch.id, results.has_usage), ("batch_1", true));
        assert!(results.batch.record.is_settled);
        let other = BatchRecords {
            state: &state,
            caller: &"bob".into(),
        };
        for id in ["batch_1", "file-1"] {
            assert!(other.find_results(id).await.unwrap().is_none());
        }
    }
}
