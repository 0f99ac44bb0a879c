//! A batch that was created is stored: its models, and what it counts and has reserved until its usage is known.

use super::CheckBatchFilter;
use crate::batch_record::{BatchRecord, BatchRecords};
use crate::checked_batch::CheckedBatch;
use crate::claimed_owner::ClaimedBatchOwner;
use crate::file_record::BatchFileRecord;
use crate::recorded_money::{RecordedBatchMoney, prices_on};
use bytes::Bytes;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::HookResult;
use headgate_core::filter::state::RequestTokenCount;
use headgate_core::filter::stream_info::QuotaDecision;
use headgate_core::filter::view::RequestView;
use headgate_core::state::money::ChannelCreateReservation;
use headgate_protocol::ids;

impl CheckBatchFilter {
    /// Stores what is known of a new batch. If it cannot be stored, the batch runs, its usage is not metered, and it costs
    /// what was reserved of budgets in money.
    pub(super) fn keep_batch<'a>(
        &'a self,
        request: &'a RequestView,
        candidate: Option<&Candidate>,
        body: &'a Bytes,
    ) -> HookResult<'a, ()> {
        let (Some(caller), Some(id)) = (&request.caller, ids::made_in_body(body).own) else {
            return HookResult::done();
        };
        let Some(mut record) = self.new_record(request, candidate) else {
            return HookResult::done();
        };
        record.id.clone_from(&id);
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

    fn new_record(
        &self,
        request: &RequestView,
        candidate: Option<&Candidate>,
    ) -> Option<BatchRecord> {
        let (caller, channel) = (request.caller.as_ref()?, &candidate?.channel);
        let is_counted = !caller.limits.is_empty() && request.info.quota == QuotaDecision::Admitted;
        let tokens = request.state.get().filter(|_| is_counted);
        let tokens = tokens.map_or(0, |RequestTokenCount(tokens)| *tokens);
        let of_file = request.state.get::<BatchFileRecord>();
        let mut record = match of_file {
            Some(file) => file.batch(tokens),
            None => {
                let batch = request.state.get::<CheckedBatch>()?;
                let percent = self.rules.price_percent;
                BatchFileRecord::new(batch, channel, 0, percent).batch(tokens)
            }
        };
        add_money(&mut record, request, channel);
        record.channel = channel.name.to_string();
        let api = request.protocol.map(|protocol| protocol.descriptor().path);
        record.api = api.unwrap_or_default().to_owned();
        record.poll_ms = self.poll_ms;
        Some(record)
    }
}

/// Adds the prices of the create, and what it has reserved of budgets in money.
fn add_money(record: &mut BatchRecord, request: &RequestView, channel: &Channel) {
    let state = &request.state;
    let prices = prices_on(channel, state.get());
    let of_channel = state.get::<ChannelCreateReservation>();
    record.money = RecordedBatchMoney::new(
        state.get(),
        of_channel.and_then(ChannelCreateReservation::reservation),
        &prices,
    );
    for (model, price) in record.models.iter_mut().zip(prices) {
        model.price = price;
    }
}
