//! Settles the usage of a batch that has ended: once, by model, and against the limits of its caller.

use crate::batch_record::{BatchRecord, BatchRecords, StoredBatch};
use crate::counters::{BatchCounters, BatchOutcome};
use headgate_core::catalog::Catalog;
use headgate_core::catalog::caller::Caller;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::{Candidate, Model};
use headgate_core::catalog::price::ModelPrice;
use headgate_core::filter::descriptor::BuildContext;
use headgate_core::filter::stream_info::{SettledUsage, SettledUsages, UsageReport};
use headgate_core::filter::view::RequestView;
use headgate_core::state::admission::AdmissionTicket;
use headgate_core::state::clock::ClockReading;
use headgate_core::state::{StateStore, StoreUnavailable};
use headgate_protocol::usage::TokenUsage;
use headgate_protocol::{ChannelProtocol, Protocol};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most requests of a batch whose record has no number of them.
const REQUESTS_MAX: u64 = 1_000_000;

/// Settles the usage of batches.
#[derive(Clone)]
pub struct UsageSettler {
    pub state: Arc<dyn StateStore>,
    pub catalog: Arc<Catalog>,
    pub counters: Arc<BatchCounters>,
}

/// The sums of the requests for a model, by the input tokens of each as far as the prices depend on them.
pub type UsageByLength = BTreeMap<u64, TokenUsage>;

/// What is known of the usage of a batch that has ended.
#[derive(Debug)]
pub struct BatchUsage {
    /// For each model of the batch.
    pub by_model: Vec<UsageByLength>,
    /// Whether that is all.
    pub is_complete: bool,
    /// A count that the provider reports and that cannot be true; it is not among the others.
    pub implausible: Option<&'static str>,
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

impl BatchUsage {
    /// No usage is known, although requests were processed.
    pub const UNKNOWN: Self = Self {
        by_model: Vec::new(),
        is_complete: false,
        implausible: None,
    };

    /// No request was processed.
    pub const NOTHING: Self = Self {
        by_model: Vec::new(),
        is_complete: true,
        implausible: None,
    };

    /// The usage of all requests, shared out among the models by their estimates, unless it cannot be true.
    pub fn from_total(total: TokenUsage, record: &BatchRecord) -> Self {
        let requests = match record.requests {
            0 => REQUESTS_MAX,
            known => known,
        };
        if let Some(count) = total.implausible_count(requests) {
            return Self {
                implausible: Some(count),
                ..Self::UNKNOWN
            };
        }
        // How long each of them was is not known.
        let input = total.input_with_cache().unwrap_or(0);
        let length = match record.requests {
            0 => 0,
            known => input.div_ceil(known),
        };
        let models = record.models.iter();
        let whole: u64 = models.clone().map(|model| model.tokens).sum();
        let shares = models.map(|model| match record.models.len() {
            1 => total,
            _ => share(total, model.tokens, whole),
        });
        Self {
            by_model: shares.map(|share| [(length, share)].into()).collect(),
            ..Self::NOTHING
        }
    }

    fn sum(&self) -> Option<TokenUsage> {
        let known = self.by_model.iter().flat_map(BTreeMap::values).copied();
        known.reduce(TokenUsage::plus)
    }

    fn outcome(&self) -> BatchOutcome {
        match (self.sum(), self.implausible) {
            (_, Some(_)) => BatchOutcome::Implausible,
            (Some(_), None) => BatchOutcome::Reported,
            (None, None) if self.is_complete => BatchOutcome::Unused,
            (None, None) => BatchOutcome::Estimated,
        }
    }

    fn report(&self) -> UsageReport {
        match (self.sum(), self.outcome()) {
            (Some(sum), _) => UsageReport::Counted(sum),
            (None, BatchOutcome::Implausible) => UsageReport::Implausible,
            (None, BatchOutcome::Estimated) => UsageReport::Missing,
            (None, _) => UsageReport::NotMetered,
        }
    }
}

impl UsageSettler {
    pub fn new(context: &BuildContext<'_>) -> Self {
        Self {
            state: context.state.clone(),
            catalog: context.catalog.clone(),
            counters: context.features.get(),
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
        self.counters.count(used.outcome());
        log(ended, &used, id);
        let report = used.report();
        let models = record.models.iter().zip(used.by_model);
        let mut usages = Vec::new();
        for (model, by_length) in models {
            let Some(channel) = ended.channel else {
                break;
            };
            let (model, candidate) = self.candidate(channel, record, &model.name);
            usages.extend(
                by_length
                    .into_iter()
                    .map(|(input_length, usage)| SettledUsage {
                        model: model.clone(),
                        candidate: candidate.clone(),
                        usage,
                        input_length,
                        price_percent: record.price_percent,
                    }),
            );
        }
        Ok(Some(SettledBatch { report, usages }))
    }

    /// The prices of each model of a batch, if its channel has any.
    pub fn prices(
        &self,
        channel: &Arc<Channel>,
        record: &BatchRecord,
    ) -> Vec<Option<Arc<ModelPrice>>> {
        let models = record.models.iter();
        let prices = models.map(|model| {
            let (_, candidate) = self.candidate(channel, record, &model.name);
            candidate.model?.price.clone()
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

/// A share of the counts, `part` of `whole`, rounded down.
fn share(total: TokenUsage, part: u64, whole: u64) -> TokenUsage {
    let share = |count: u64| {
        let product = u128::from(count) * u128::from(part);
        u64::try_from(product / u128::from(whole.max(1))).unwrap_or(u64::MAX)
    };
    TokenUsage {
        input_tokens: total.input_tokens.map(share),
        output_tokens: total.output_tokens.map(share),
        total_tokens: total.total_tokens.map(share),
        cached_input_tokens: total.cached_input_tokens.map(share),
        cache_write_tokens: total.cache_write_tokens.map(share),
        reasoning_tokens: total.reasoning_tokens.map(share),
        ..total
    }
}

fn log(ended: EndedBatch<'_>, used: &BatchUsage, id: Option<&str>) {
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
    match (sum, used.is_complete) {
        (None, false) => tracing::warn!(
            id,
            batch,
            caller,
            channel,
            counted_tokens,
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
            is_complete = used.is_complete,
            "usage of a batch settled"
        ),
    }
}
