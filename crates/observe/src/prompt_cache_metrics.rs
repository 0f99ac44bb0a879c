//! What providers read of prompts from their caches, by caller, model and channel, and what the rest costs more.

use super::cost_metrics::{CostLabels, CostSums, OTHER};
use super::metric_labels::label;
use headgate_core::catalog::price::Cost;
use headgate_core::feature::metrics::registered;
use headgate_protocol::usage::TokenUsage;
use prometheus::core::Collector;
use prometheus::{IntCounterVec, Opts, Registry};
use std::collections::BTreeMap;
use std::sync::Arc;

const HIT: &str = "hit";
const MISS: &str = "miss";

/// Tokens of prompts by whether a provider's cache had them.
pub struct PromptCacheMetrics {
    tokens: IntCounterVec,
    missed: Arc<CostSums>,
}

/// The prompts of one caller for one model on one channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptCacheUse {
    pub cached_tokens: u64,
    pub missed_tokens: u64,
    /// What the missed tokens cost more than cached ones would have, by currency.
    pub miss_costs: BTreeMap<String, Cost>,
}

/// Caller, model and channel.
pub type PromptCacheLabels = [String; 3];

impl PromptCacheUse {
    /// The share of the tokens that was cached, in percent; `None` without tokens.
    pub fn cached_percent(&self) -> Option<f64> {
        let all = self.cached_tokens.saturating_add(self.missed_tokens);
        (all > 0).then(|| self.cached_tokens as f64 * 100.0 / all as f64)
    }

    /// Adds what `other` counts.
    pub fn merge(&mut self, other: &Self) {
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.missed_tokens = self.missed_tokens.saturating_add(other.missed_tokens);
        for (currency, cost) in &other.miss_costs {
            let sum = self.miss_costs.entry(currency.clone()).or_insert(Cost(0));
            *sum = Cost(sum.0.saturating_add(cost.0));
        }
    }
}

impl PromptCacheMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        let tokens = Opts::new(
            "headgate_prompt_cache_tokens_total",
            "Tokens of prompts by whether the provider's cache had them: hit or miss. Of models with affinity or with a price of cached tokens.",
        );
        let labels = ["caller", "model", "channel", "result"];
        Self {
            tokens: registered(registry, IntCounterVec::new(tokens, &labels)),
            missed: CostSums::new(
                registry,
                "headgate_prompt_cache_miss_cost_total",
                "What tokens of prompts that the provider's cache did not have cost more than cached ones, in the currency of the label.",
            ),
        }
    }

    /// Counts the prompt of a finished exchange. `miss_cost` is the cost of its misses in the currency of the labels.
    pub fn count(&self, labels: CostLabels<'_>, usage: &TokenUsage, miss_cost: Option<Cost>) {
        let Some(all) = usage.input_with_cache() else {
            return;
        };
        let cached = usage.cached_input_tokens.unwrap_or(0).min(all);
        let caller = labels.caller.unwrap_or(OTHER);
        for (result, tokens) in [(HIT, cached), (MISS, all - cached)] {
            if tokens > 0 {
                self.tokens
                    .with_label_values(&[caller, labels.model, labels.channel, result])
                    .inc_by(tokens);
            }
        }
        if let Some(cost) = miss_cost.filter(|cost| cost.0 > 0) {
            self.missed.add(labels, cost);
        }
    }

    /// The prompts since the start of the process.
    pub fn by_labels(&self) -> BTreeMap<PromptCacheLabels, PromptCacheUse> {
        let mut rows: BTreeMap<PromptCacheLabels, PromptCacheUse> = BTreeMap::new();
        for family in self.tokens.collect() {
            for metric in family.get_metric() {
                let labels = ["caller", "model", "channel"];
                let labels = labels.map(|name| label(metric, name).to_owned());
                let row = rows.entry(labels).or_default();
                // Sums below 2^53 are exact.
                let tokens = metric.get_counter().get_value() as u64;
                match label(metric, "result") {
                    HIT => row.cached_tokens = tokens,
                    _ => row.missed_tokens = tokens,
                }
            }
        }
        self.missed.each(|labels, cost| {
            let caller = labels.caller.unwrap_or(OTHER);
            let key = [caller, labels.model, labels.channel].map(str::to_owned);
            let row = rows.entry(key).or_default();
            row.miss_costs.insert(labels.currency.to_owned(), cost);
        });
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_tokens_and_what_misses_cost() {
        let metrics = PromptCacheMetrics::new(&Registry::new());
        let labels = |caller, currency| CostLabels {
            caller,
            model: "m",
            channel: "c",
            currency,
        };
        let usage = |input, cached, input_excludes_cache| TokenUsage {
            input_tokens: input,
            cached_input_tokens: cached,
            input_excludes_cache,
            ..TokenUsage::default()
        };
        let ann = || labels(Some("ann"), "USD");
        metrics.count(ann(), &usage(Some(100), Some(75), false), Some(Cost(5)));
        // As the messages protocol counts.
        metrics.count(ann(), &usage(Some(25), Some(75), true), Some(Cost(6)));
        metrics.count(labels(None, ""), &usage(Some(10), None, false), None);
        metrics.count(ann(), &usage(None, None, false), None);
        // More cached tokens than tokens are what no provider should report.
        metrics.count(
            labels(Some("bob"), ""),
            &usage(Some(1), Some(9), false),
            None,
        );
        let rows = metrics.by_labels();
        let row = |caller: &str| &rows[&[caller, "m", "c"].map(str::to_owned)];
        assert_eq!(rows.len(), 3);
        assert_eq!(
            (row("ann").cached_tokens, row("ann").missed_tokens),
            (150, 50)
        );
        assert_eq!(row("ann").cached_percent(), Some(75.0));
        assert_eq!(row("ann").miss_costs["USD"], Cost(11));
        assert_eq!(row("other").cached_percent(), Some(0.0));
        assert_eq!((row("bob").cached_tokens, row("bob").missed_tokens), (1, 0));
        let mut sum = row("ann").clone();
        sum.merge(row("other"));
        assert_eq!((sum.cached_tokens, sum.missed_tokens), (150, 60));
        assert_eq!(PromptCacheUse::default().cached_percent(), None);
    }
}
