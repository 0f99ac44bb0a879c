//! Settles the usage of a batch that has ended: once, by model, and against the limits of its caller.

use crate::batch_record::{BatchRecord, BatchRecords, StoredBatch};
use crate::rules::BatchEndpoint;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::caller::Caller;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::descriptor::BuildContext;
use headgate_core::filter::stream_info::{SettledUsage, SettledUsages, UsageReport};
use headgate_core::filter::view::RequestView;
use headgate_core::state::admission::AdmissionTicket;
use headgate_core::state::clock::ClockReading;
use headgate_core::state::{StateStore, StoreUnavailable};
use headgate_protocol::usage::TokenUsage;
use headgate_protocol::{ChannelProtocol, Protocol};
use std::sync::Arc;

/// Settles the usage of batches.
pub struct UsageSettler {
    pub state: Arc<dyn StateStore>,
    catalog: Arc<Catalog>,
    endpoints: Vec<BatchEndpoint>,
}

/// What is known of the usage of a batch that has ended.
pub struct BatchUsage {
    /// For each model of the batch.
    pub by_model: Vec<Option<TokenUsage>>,
    /// Whether that is all.
    pub is_complete: bool,
}

impl BatchUsage {
    /// No usage is known, although requests were processed.
    pub const UNKNOWN: Self = Self {
        by_model: Vec::new(),
        is_complete: false,
    };

    /// No request was processed.
    pub const NOTHING: Self = Self {
        by_model: Vec::new(),
        is_complete: true,
    };

    /// The usage of all requests, shared out among the models by their estimates.
    pub fn from_total(total: TokenUsage, record: &BatchRecord) -> Self {
        let models = record.models.iter();
        let whole: u64 = models.clone().map(|model| model.tokens).sum();
        let shares = models.map(|model| match record.models.len() {
            1 => total,
            _ => total.share(model.tokens, whole),
        });
        Self {
            by_model: shares.map(Some).collect(),
            is_complete: true,
        }
    }

    fn sum(&self) -> Option<TokenUsage> {
        let known = self.by_model.iter().flatten().copied();
        known.reduce(TokenUsage::plus)
    }
}

impl UsageSettler {
    pub fn new(context: &BuildContext<'_>) -> Self {
        let mut endpoints = BatchEndpoint::with_routes(context);
        let versioned = Protocol::find_versioned();
        endpoints.extend(versioned.and_then(|protocol| BatchEndpoint::new(protocol, context)));
        Self {
            state: context.state.clone(),
            catalog: context.catalog.clone(),
            endpoints,
        }
    }

    /// The protocol of a batch's requests, if this gateway has it.
    pub fn protocol(&self, batch: &BatchRecord) -> Option<Protocol> {
        let mut endpoints = self.endpoints.iter();
        let endpoint = endpoints.find(|endpoint| *endpoint.url == *batch.endpoint);
        endpoint.map(|endpoint| endpoint.protocol)
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
        let records = BatchRecords {
            state: &*self.state,
            caller: &caller.name,
        };
        if !records.settle(batch).await? {
            return Ok(());
        }
        let record = &batch.record;
        let sum = used.sum();
        self.correct_limits(&caller, record, &used);
        tracing::info!(
            id = &*request.id,
            batch = batch.id,
            caller = &*caller.name,
            channel = &*channel.name,
            input_tokens = sum.and_then(|sum| sum.input_with_cache()),
            output_tokens = sum.and_then(|sum| sum.output_tokens),
            counted_tokens = record.counted,
            is_complete = used.is_complete,
            "usage of a batch settled"
        );
        match (sum, request.info.usage) {
            (Some(sum), UsageReport::Counted(others)) => {
                request.info.usage = UsageReport::Counted(others.plus(sum));
            }
            (Some(sum), _) => request.info.usage = UsageReport::Counted(sum),
            (None, UsageReport::NotMetered) if !used.is_complete => {
                request.info.usage = UsageReport::Missing;
            }
            (None, _) => {}
        }
        let SettledUsages(settled) = request.state.get_or_default();
        let models = record.models.iter().zip(used.by_model);
        settled.extend(models.filter_map(|(model, usage)| {
            Some(self.settled_usage(channel, record, &model.name, usage?))
        }));
        Ok(())
    }

    fn settled_usage(
        &self,
        channel: &Arc<Channel>,
        record: &BatchRecord,
        model: &str,
        usage: TokenUsage,
    ) -> SettledUsage {
        let protocol = self.protocol(record);
        let model = self.catalog.get(model);
        let candidates = model.as_ref().zip(protocol);
        let candidates = candidates.map(|(model, protocol)| model.candidates(protocol));
        let candidate = candidates.and_then(|all| {
            let mut all = all.iter();
            all.find(|one| one.channel.name == channel.name).cloned()
        });
        let protocol = protocol.map(ChannelProtocol::for_caller);
        SettledUsage {
            model,
            candidate: candidate.unwrap_or_else(|| Candidate::bound_to(channel.clone(), protocol)),
            usage,
            price_percent: record.price_percent,
        }
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
        let limits = caller.limits.for_model(None).iter();
        let budgets = limits.filter(|limit| limit.measure().is_budget());
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
