//! What is known of the usage of a batch that has ended, by model.

use crate::batch_record::BatchRecord;
use crate::counters::BatchOutcome;
use headgate_core::filter::stream_info::UsageReport;
use headgate_protocol::usage::TokenUsage;
use std::collections::BTreeMap;

/// The most requests of a batch whose record has no number of them.
const REQUESTS_MAX: u64 = 1_000_000;

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

    pub fn sum(&self) -> Option<TokenUsage> {
        let known = self.by_model.iter().flat_map(BTreeMap::values).copied();
        known.reduce(TokenUsage::plus)
    }

    pub fn outcome(&self) -> BatchOutcome {
        match (self.sum(), self.implausible) {
            (_, Some(_)) => BatchOutcome::Implausible,
            (Some(_), None) => BatchOutcome::Reported,
            (None, None) if self.is_complete => BatchOutcome::Unused,
            (None, None) => BatchOutcome::Estimated,
        }
    }

    pub fn report(&self) -> UsageReport {
        match (self.sum(), self.outcome()) {
            (Some(sum), _) => UsageReport::Counted(sum),
            (None, BatchOutcome::Implausible) => UsageReport::Implausible,
            (None, BatchOutcome::Estimated) => UsageReport::Missing,
            (None, _) => UsageReport::NotMetered,
        }
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
