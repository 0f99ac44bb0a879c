//! A batch that was created is stored: its models, and what it counts until its usage is known.

use super::CheckBatchFilter;
use crate::batch_record::BatchRecords;
use crate::checked_batch::CheckedBatch;
use crate::claimed_owner::ClaimedBatchOwner;
use crate::file_record::BatchFileRecord;
use bytes::Bytes;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::HookResult;
use headgate_core::filter::state::RequestTokenCount;
use headgate_core::filter::stream_info::QuotaDecision;
use headgate_core::filter::view::RequestView;
use headgate_protocol::ids;

impl CheckBatchFilter {
    /// Stores what is known of a new batch. If it cannot be stored, the batch runs, and its usage is not metered.
    pub(super) fn keep_batch<'a>(
        &'a self,
        request: &'a RequestView,
        candidate: Option<&Candidate>,
        body: &'a Bytes,
    ) -> HookResult<'a, ()> {
        let (Some(caller), Some(id)) = (&request.caller, ids::made_in_body(body).own) else {
            return HookResult::done();
        };
        let is_counted = !caller.limits.is_empty() && request.info.quota == QuotaDecision::Admitted;
        let tokens = request.state.get().filter(|_| is_counted);
        let tokens = tokens.map_or(0, |RequestTokenCount(tokens)| *tokens);
        let of_list = || {
            let batch = request.state.get::<CheckedBatch>()?;
            let (channel, percent) = (&candidate?.channel, self.rules.price_percent);
            Some(BatchFileRecord::new(batch, channel, 0, percent).batch(tokens))
        };
        let of_file = request.state.get::<BatchFileRecord>();
        let record = of_file.map(|file| file.batch(tokens)).or_else(of_list);
        let (Some(mut record), Some(candidate)) = (record, candidate) else {
            return HookResult::done();
        };
        record.id.clone_from(&id);
        record.channel = candidate.channel.name.to_string();
        let api = request.protocol.map(|protocol| protocol.descriptor().path);
        record.api = api.unwrap_or_default().to_owned();
        record.poll_ms = self.poll_ms;
        record.claimed = ClaimedBatchOwner::find(caller);
        HookResult::later(async move {
            let records = BatchRecords {
                state: &*self.state,
                caller: &caller.name,
            };
            let reason = match records.insert(&id, record).await {
                Ok(true) => return Ok(()),
                Ok(false) => "the caller has too many batches".to_owned(),
                Err(unavailable) => unavailable.to_string(),
            };
            tracing::warn!(
                id = &*request.id,
                reason,
                "cannot store a batch; its usage is not counted"
            );
            Ok(())
        })
    }
}
