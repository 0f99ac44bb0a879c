//! The record of a file whose lines were checked: by it, a batch is created of that file only, by the caller who uploaded it.

use crate::checked_batch::CheckedBatch;
use headgate_core::state::calendar::{DAY_MS, unix_ms};
use headgate_core::state::records::{InsertResult, RecordContent, RecordKind, owned_key};
use headgate_core::state::{StateStore, StoreUnavailable};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How long a file can be used: providers keep the files of batches for 30 days.
const KEPT_MS: u64 = 31 * DAY_MS;
/// The maximum number of files of one caller.
const FILES_MAX: u32 = 100_000;

/// What is known of a file whose lines were checked.
#[derive(Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct BatchFileRecord {
    /// The `url` of all lines.
    pub endpoint: String,
    pub requests: usize,
    /// What a batch of the file counts against the limits of its caller.
    pub tokens: u64,
    /// The names of all models, which the caller must still be allowed to use when it creates the batch.
    pub models: Vec<String>,
}

impl BatchFileRecord {
    /// The record of a batch that counts `tokens`.
    pub fn new(batch: &CheckedBatch, tokens: u64) -> Self {
        let models = batch.models.iter();
        Self {
            endpoint: batch.url.to_owned(),
            requests: batch.requests,
            tokens,
            models: models.map(|one| one.model.name.to_string()).collect(),
        }
    }

    /// Stores the record of a caller's file. Returns whether it is stored: the caller may have too many.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn insert(
        &self,
        state: &dyn StateStore,
        caller: &Arc<str>,
        file: &str,
    ) -> Result<bool, StoreUnavailable> {
        let value = serde_json::to_vec(self).expect("plain data serialises into memory");
        let content = RecordContent {
            value: value.into(),
            owner: caller.clone(),
            expires_ms: unix_ms() + KEPT_MS,
            due_ms: None,
        };
        let key = owned_key(caller, file);
        let records = state.records();
        let inserted = records.insert(RecordKind::BatchFile, &key, content, FILES_MAX);
        Ok(match inserted.get().await? {
            InsertResult::Inserted { .. } | InsertResult::Exists(_) => true,
            InsertResult::OwnerFull => false,
        })
    }

    /// The record of a caller's file; `None` if the caller uploaded no such file for a batch.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn find(
        state: &dyn StateStore,
        caller: &str,
        file: &str,
    ) -> Result<Option<Self>, StoreUnavailable> {
        let key = owned_key(caller, file);
        let record = state.records().get(RecordKind::BatchFile, &key).get();
        let record = record.await?;
        Ok(record.and_then(|record| serde_json::from_slice(&record.content.value).ok()))
    }
}
