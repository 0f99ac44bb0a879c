//! The record of a file whose lines were checked: by it, a batch is created of that file only, by the caller who uploaded it.

use crate::batch_record::{BatchRecord, RecordedModel};
use crate::checked_batch::CheckedBatch;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::batch_work::{BatchDemand, BatchModelDemand, BatchWork};
use headgate_core::catalog::channel::Channel;
use headgate_core::state::calendar::{DAY_MS, unix_ms};
use headgate_core::state::records::{InsertResult, RecordContent, RecordKind, owned_key};
use headgate_core::state::{StateStore, StoreUnavailable};
use headgate_protocol::batch::INPUT_FILE;
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
    /// For each model: the channel's name for it, and the estimated tokens of its requests. Earlier versions stored neither.
    #[serde(default)]
    pub of_models: Vec<(String, u64)>,
    /// For each model: the most that its requests can have a provider do. Earlier versions stored none.
    #[serde(default)]
    pub work: Vec<BatchWork>,
    /// What a token of a batch of the file costs, in percent of one in a request of its own.
    #[serde(default = "default_price_percent")]
    pub price_percent: u8,
}

/// What earlier versions counted by default.
fn default_price_percent() -> u8 {
    50
}

impl BatchFileRecord {
    /// The record of the file of a batch, as a channel has it, that counts `tokens`.
    pub fn new(batch: &CheckedBatch, channel: &Channel, tokens: u64, price_percent: u8) -> Self {
        let models = batch.models.iter();
        Self {
            endpoint: batch.url.to_owned(),
            requests: batch.requests,
            tokens,
            models: models
                .clone()
                .map(|one| one.model.name.to_string())
                .collect(),
            of_models: models
                .clone()
                .map(|one| (one.name_on(channel).to_owned(), one.tokens))
                .collect(),
            work: models.map(|one| one.work.clone()).collect(),
            price_percent,
        }
    }

    /// What a batch of the file needs of budgets in money; not known for a file that an earlier version has checked, or for a
    /// model that the configuration has no more.
    pub fn demand(&self, catalog: &Catalog) -> BatchDemand {
        let is_known = self.work.len() == self.models.len();
        let models = self.models.iter().zip(&self.work);
        let models: Option<Vec<_>> = models
            .map(|(name, work)| {
                let (model, work) = (catalog.get(name)?, work.clone());
                Some(BatchModelDemand { model, work })
            })
            .collect();
        BatchDemand {
            models: models.filter(|_| is_known),
            price_percent: self.price_percent,
            param: INPUT_FILE,
        }
    }

    /// The record of a batch of the file that is created now.
    pub fn batch(&self, counted: u64) -> BatchRecord {
        let models = self.models.iter().enumerate();
        let models = models.map(|(index, name)| {
            let known = self.of_models.get(index).cloned();
            let (channel_name, tokens) = known.unwrap_or_default();
            RecordedModel {
                name: name.clone(),
                channel_name,
                tokens,
                price: None,
            }
        });
        BatchRecord {
            endpoint: self.endpoint.clone(),
            requests: self.requests as u64,
            models: models.collect(),
            price_percent: self.price_percent,
            counted,
            created_ms: unix_ms(),
            ..BatchRecord::default()
        }
    }

    /// Stores the record of a caller's file, in place of an earlier one. Returns whether it is stored: the caller may have too
    /// many.
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
        let inserted = records.insert(RecordKind::BatchFile, &key, content.clone(), FILES_MAX);
        match inserted.get().await? {
            InsertResult::Inserted { .. } => Ok(true),
            InsertResult::OwnerFull => Ok(false),
            InsertResult::Exists(earlier) if earlier.content.value == content.value => Ok(true),
            InsertResult::Exists(earlier) => {
                let replaced =
                    records.replace(RecordKind::BatchFile, &key, earlier.version, content);
                Ok(replaced.get().await?.is_some())
            }
        }
    }

    /// Removes the record of a caller's file, if there is one.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn remove(
        state: &dyn StateStore,
        caller: &str,
        file: &str,
    ) -> Result<(), StoreUnavailable> {
        let key = owned_key(caller, file);
        let records = state.records();
        let record = records.get(RecordKind::BatchFile, &key).get().await?;
        if let Some(record) = record {
            let removed = records.remove(RecordKind::BatchFile, &key, record.version);
            removed.get().await?;
        }
        Ok(())
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
