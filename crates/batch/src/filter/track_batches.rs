//! `track_batches`: settles the usage of batches that have ended, and forgets files that are deleted.

use crate::batch_record::{BatchRecords, StoredBatch};
use crate::batch_usage::BatchUsage;
use crate::file_record::BatchFileRecord;
use crate::results::PlatformModelNames;
use crate::settlement::UsageSettler;
use bytes::Bytes;
use headgate_core::filter::descriptor::{ChainSide, FilterChainRules, FilterDescriptor};
use headgate_core::filter::response_inputs::ResponseVaryInputs;
use headgate_core::filter::view::ResponseView;
use headgate_core::filter::{Filter, FilterDeclaration, HookResult, ResponseBodyAccess};
use headgate_core::state::StoreUnavailable;
use headgate_protocol::batch::{BatchFormat, BatchObject};
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use http::{Method, header};
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "track_batches",
    summary: "Settles the usage of each batch once, when a response first shows that it has ended; on the route of files, forgets those that are deleted.",
    side: ChainSide::Response,
    placement: FilterChainRules::ALWAYS,
    settings: None,
    bare: true,
    build: |_, context| {
        let protocol = context.protocol.map(|protocol| protocol.descriptor());
        Ok(Arc::new(TrackBatchesFilter {
            settler: UsageSettler::new(context),
            format: protocol.and_then(|protocol| protocol.batch),
        }))
    },
};

struct TrackBatchesFilter {
    settler: UsageSettler,
    /// `None` on routes of files.
    format: Option<BatchFormat>,
}

impl Filter for TrackBatchesFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            response_body: ResponseBodyAccess::Replace,
            ..FilterDeclaration::default()
        }
    }

    fn add_response_inputs(&self, inputs: &mut ResponseVaryInputs) {
        inputs.add_caller();
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        let is_deletion = response.request.method == Method::DELETE;
        if !response.status.is_success() || (self.format.is_none() && !is_deletion) {
            return HookResult::done();
        }
        HookResult::later(async move {
            let tracked = match (is_deletion, self.format) {
                (false, Some(format)) => self.read(response, body, format).await,
                _ => self.forget(response).await,
            };
            // The next response that shows the batch settles it.
            if let Err(error) = tracked {
                let id = &*response.request.id;
                tracing::warn!(id, %error, "cannot look up batches of a response");
            }
            Ok(())
        })
    }
}

impl TrackBatchesFilter {
    /// Settles the batches of a response that have ended, and replaces the names of their models.
    async fn read(
        &self,
        response: &mut ResponseView<'_>,
        body: &mut Bytes,
        format: BatchFormat,
    ) -> Result<(), StoreUnavailable> {
        let Some(caller) = response.request.caller.clone() else {
            return Ok(());
        };
        let Ok(document) = JsonDocument::parse(body.clone(), &JsonLimits::default()) else {
            return Ok(());
        };
        let records = BatchRecords {
            state: &*self.settler.state,
            caller: &caller.name,
        };
        let mut edits = JsonEdits::default();
        for batch in BatchObject::find_all(document.root(), format) {
            let is_read = batch.has_ended() || batch.model().is_some();
            let Some(id) = batch.id().filter(|_| is_read) else {
                continue;
            };
            let Some(stored) = records.find(&id).await? else {
                continue;
            };
            self.settle(response, batch, &stored, &records).await?;
            if let Some(model) = batch.model() {
                let names = PlatformModelNames::new(&stored.record);
                let index = model.as_str().and_then(|name| names.find(&name));
                if let Some(index) = index {
                    edits.replace(model.span(), names.json(index).clone());
                }
            }
        }
        if !edits.is_empty() {
            *body = edits.apply(document.body()).to_bytes();
            response.headers.remove(header::CONTENT_LENGTH);
        }
        Ok(())
    }

    async fn settle(
        &self,
        response: &mut ResponseView<'_>,
        batch: BatchObject<'_>,
        stored: &StoredBatch,
        records: &BatchRecords<'_>,
    ) -> Result<(), StoreUnavailable> {
        if !batch.has_ended() || stored.record.is_settled {
            return Ok(());
        }
        for file in batch.results_files() {
            let is_stored = records.insert_results(&file.id, file.has_responses, stored);
            if !is_stored.await? {
                tracing::warn!(
                    id = &*response.request.id,
                    batch = stored.id,
                    "the results of a batch cannot be stored: the caller has too many batches"
                );
            }
        }
        let used = match batch.usage() {
            Some(usage) => BatchUsage::from_total(usage, &stored.record),
            None if batch.has_no_response() => BatchUsage::NOTHING,
            // The results have it.
            None => return Ok(()),
        };
        let Some(candidate) = response.candidate else {
            return Ok(());
        };
        let settled = self
            .settler
            .settle(response.request, &candidate.channel, stored, used);
        settled.await
    }

    /// Forgets the file that was deleted, or settles the batch whose results nobody can read any more.
    async fn forget(&self, response: &mut ResponseView<'_>) -> Result<(), StoreUnavailable> {
        let (Some(caller), Some(candidate)) = (response.request.caller.clone(), response.candidate)
        else {
            return Ok(());
        };
        let Some(id) = response.request.param("id").map(str::to_owned) else {
            return Ok(());
        };
        let state = &*self.settler.state;
        BatchFileRecord::remove(state, &caller.name, &id).await?;
        let records = BatchRecords {
            state,
            caller: &caller.name,
        };
        match records.find(&id).await? {
            Some(stored) if !stored.record.is_settled => {
                let (channel, used) = (&candidate.channel, BatchUsage::UNKNOWN);
                let settled = self
                    .settler
                    .settle(response.request, channel, &stored, used);
                settled.await
            }
            _ => Ok(()),
        }
    }
}
