//! Settles the usage of a batch that has ended: once, by model, and against the limits of its caller.

use crate::batch_charge::{BatchCharge, settle_money};
use crate::batch_record::{BatchRecord, BatchRecords, RecordedModel, StoredBatch};
use crate::batch_usage::BatchUsage;
use crate::counters::BatchCounters;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::caller::Caller;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::{Candidate, Model};
use headgate_core::catalog::price::ModelPrice;
use headgate_core::filter::descriptor::BuildContext;
use headgate_core::filter::stream_info::{SettledUsage, SettledUsages, UsageReport};
use headgate_core::filter::view::RequestView;
use headgate_core::state::admission::AdmissionTicket;
use headgate_core::state::budget_levels::BudgetLevels;
use headgate_core::state::clock::ClockReading;
use headgate_core::state::{StateStore, StoreUnavailable};
use headgate_protocol::{ChannelProtocol, Protocol};
use std::sync::Arc;

/// Settles the usage of batches.
#[derive(Clone)]
pub struct UsageSettler {
    pub state: Arc<dyn StateStore>,
    pub catalog: Arc<Catalog>,
    pub counters: Arc<BatchCounters>,
    pub levels: Arc<BudgetLevels>,
}

/// A batch, the caller whom it counts for, and the channel that has it, if the configuration has them.
#[derive(Clone, Copy)]
pub struct EndedBatch<'b> {
    pub stored: &'b StoredBatch,
    pub owner: &'b Arc<str>,
    pub caller: Option<&'b Caller>,
    pub channel: Option<&'b Arc<Channel>>,
}

/// What a batch has used that was settled now.
pub struct SettledBatch {
    pub report: UsageReport,
    pub usages: Vec<SettledUsage>,
}

impl UsageSettler {
    pub fn new(context: &BuildContext<'_>) -> Self {
        Self {
            state: context.state.clone(),
            catalog: context.catalog.clone(),
            counters: context.features.get(),
            levels: context.features.get(),
        }
    }

    /// The protocol of a batch's requests, if its channel still has it.
    pub fn protocol(channel: &Channel, batch: &BatchRecord) -> Option<Protocol> {
        let mut protocols = channel.protocols.iter().copied();
        protocols.find(|protocol| protocol.descriptor().path == batch.endpoint)
    }

    /// Settles a batch, unless any gateway has done so. What it has used counts for this request, which is the first to show it.
    ///
    /// # Errors
    /// The store is unreachable. It may have marked the batch as settled; then it stays at its estimate.
    pub async fn settle(
        &self,
        request: &mut RequestView,
        channel: &Arc<Channel>,
        batch: &StoredBatch,
        used: BatchUsage,
    ) -> Result<(), StoreUnavailable> {
        let Some(caller) = request.caller.clone() else {
            return Ok(());
        };
        let ended = EndedBatch {
            stored: batch,
            owner: &caller.name,
            caller: Some(&caller),
            channel: Some(channel),
        };
        let Some(settled) = self.settle_once(ended, used, Some(&request.id)).await? else {
            return Ok(());
        };
        let info = &mut request.info;
        info.usage = match (settled.report, info.usage) {
            (UsageReport::Counted(sum), UsageReport::Counted(others)) => {
                UsageReport::Counted(others.plus(sum))
            }
            (UsageReport::Counted(sum), _) => UsageReport::Counted(sum),
            (report, UsageReport::NotMetered) => report,
            (_, before) => before,
        };
        let SettledUsages(all) = request.state.get_or_default();
        all.extend(settled.usages);
        Ok(())
    }

    /// Settles a batch; `None` if any gateway has done so. `id` is that of the request that shows its end, if a caller sent it.
    ///
    /// # Errors
    /// The store is unreachable. It may have marked the batch as settled; then it stays at its estimate.
    pub async fn settle_once(
        &self,
        ended: EndedBatch<'_>,
        used: BatchUsage,
        id: Option<&str>,
    ) -> Result<Option<SettledBatch>, StoreUnavailable> {
        let EndedBatch { stored, owner, .. } = ended;
        let records = BatchRecords {
            state: &*self.state,
            caller: owner,
        };
        if !records.settle(stored).await? {
            return Ok(None);
        }
        let record = &stored.record;
        if let Some(caller) = ended.caller {
            self.correct_limits(caller, record, &used);
        }
        let money = record.money.as_ref();
        let charge = money.and_then(|money| {
            let charge = settle_money(money, (&*self.state, &self.levels), record, &used)?;
            let changes = charge.changes(owner, record);
            self.counters.add_charges(changes);
            Some(charge)
        });
        self.counters.count(used.outcome());
        log(ended, &used, charge.as_ref(), id);
        let report = used.report();
        let models = record.models.iter().zip(used.by_model);
        let mut usages = Vec::new();
        for (recorded, by_length) in models {
            let Some(channel) = ended.channel else {
                break;
            };
            let (model, candidate) = self.candidate(channel, record, &recorded.name);
            let price = price(recorded, &candidate);
            usages.extend(
                by_length
                    .into_iter()
                    .map(|(input_length, usage)| SettledUsage {
                        model: model.clone(),
                        candidate: candidate.clone(),
                        price: price.clone(),
                        usage,
                        input_length,
                        price_percent: record.price_percent,
                    }),
            );
        }
        Ok(Some(SettledBatch { report, usages }))
    }

    /// The prices of each model of a batch, if it has any.
    pub fn prices(
        &self,
        channel: &Arc<Channel>,
        record: &BatchRecord,
    ) -> Vec<Option<Arc<ModelPrice>>> {
        let models = record.models.iter();
        let prices = models.map(|model| {
            let (_, candidate) = self.candidate(channel, record, &model.name);
            price(model, &candidate)
        });
        prices.collect()
    }

    /// A model of a batch, if the configuration has it, and the channel that serves it.
    fn candidate(
        &self,
        channel: &Arc<Channel>,
        record: &BatchRecord,
        model: &str,
    ) -> (Option<Arc<Model>>, Candidate) {
        let protocol = Self::protocol(channel, record);
        let model = self.catalog.get(model);
        let candidates = model.as_ref().zip(protocol);
        let candidates = candidates.map(|(model, protocol)| model.candidates(protocol));
        let candidate = candidates.and_then(|all| {
            let mut all = all.iter();
            all.find(|one| one.channel.name == channel.name).cloned()
        });
        let protocol = protocol.map(ChannelProtocol::for_caller);
        let candidate = candidate.unwrap_or_else(|| Candidate::bound_to(channel.clone(), protocol));
        (model, candidate)
    }

    /// Corrects what the create of the batch has counted. Minutes are over by then.
    fn correct_limits(&self, caller: &Caller, record: &BatchRecord, used: &BatchUsage) {
        let tokens = used.sum().map_or(0, |sum| sum.total());
        let tokens = u128::from(tokens) * u128::from(record.price_percent);
        let tokens = u64::try_from(tokens.div_ceil(100)).unwrap_or(u64::MAX);
        let tokens = match used.is_complete {
            true => tokens,
            false => tokens.max(record.counted),
        };
        let limits = caller.limits.for_model(None);
        let budgets = limits.iter();
        let budgets = budgets.filter(|limit| limit.measure().is_budget());
        let limits: Vec<_> = budgets.cloned().collect();
        if limits.is_empty() || record.counted == 0 || tokens == record.counted {
            return;
        }
        let taken_at = ClockReading {
            steady_ms: 0,
            unix_ms: record.created_ms,
        };
        let ticket = AdmissionTicket {
            limits,
            tokens: record.counted,
            taken_at,
            lease: 0,
        };
        self.state.correct(ticket, tokens);
    }
}

/// The prices of a model as of the create of its batch; those of today if the record has none.
fn price(model: &RecordedModel, candidate: &Candidate) -> Option<Arc<ModelPrice>> {
    let recorded = model.price.as_ref();
    let recorded = recorded.map(|price| Arc::new(price.to_price()));
    recorded.or_else(|| candidate.model.as_ref()?.price.clone())
}

fn log(ended: EndedBatch<'_>, used: &BatchUsage, charge: Option<&BatchCharge>, id: Option<&str>) {
    let (batch, record) = (&*ended.stored.id, &ended.stored.record);
    let caller = &**ended.owner;
    let channel = ended
        .channel
        .map_or(&*record.channel, |channel| &*channel.name);
    if let Some(count) = used.implausible {
        tracing::warn!(
            id,
            batch,
            channel,
            count,
            "the provider reports usage of a batch that cannot be true, which is not counted"
        );
    }
    let sum = used.sum();
    let counted_tokens = record.counted;
    let reserved = charge.map(|it| tracing::field::display(it.reserved()));
    let charge = charge.map(|it| tracing::field::display(it.charge()));
    match (sum, used.is_complete) {
        (None, false) => tracing::warn!(
            id,
            batch,
            caller,
            channel,
            counted_tokens,
            charge,
            reserved,
            "a batch stays at its estimate and has no cost: its usage is not known"
        ),
        _ => tracing::info!(
            id,
            batch,
            caller,
            channel,
            input_tokens = sum.and_then(|sum| sum.input_with_cache()),
            output_tokens = sum.and_then(|sum| sum.output_tokens),
            counted_tokens,
            charge,
            reserved,
            is_complete = used.is_complete,
            "usage of a batch settled"
        ),
    }
}
