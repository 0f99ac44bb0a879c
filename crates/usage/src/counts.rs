//! What is counted of the requests with one caller, model and channel.

use headgate_core::catalog::price::{Cost, NANOS};
use headgate_core::feature::exchange_recorder::{RecordedOutcome, RecordedUse};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Sums of one row. Tokens of the input include those that the provider read from its cache and wrote to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct UsageCounts {
    pub requests: u64,
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub cache_write_tokens: u64,
    /// Includes thoughts.
    pub output_tokens: u64,
    pub reasoning_tokens: u64,
    pub audio_ms: u64,
    /// Billionths of the currency's unit. Below zero if more was refunded on a day than was spent.
    pub cost: i64,
    /// What budgets in money were charged, in the same unit. Absent in rows of earlier versions.
    pub charged: i64,
    /// Failed requests by cause.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
}

impl UsageCounts {
    /// Adds a use.
    pub fn add_use(&mut self, used: &RecordedUse<'_>) {
        match used.outcome {
            None => {}
            Some(RecordedOutcome::Served) => self.requests += 1,
            Some(RecordedOutcome::Failed(cause)) => {
                self.requests += 1;
                match self.errors.get_mut(cause) {
                    Some(count) => *count += 1,
                    None => drop(self.errors.insert(cause.to_owned(), 1)),
                }
            }
        }
        if let Some(usage) = used.usage {
            for (sum, count) in [
                (&mut self.input_tokens, usage.input_with_cache()),
                (&mut self.cached_input_tokens, usage.cached_input_tokens),
                (&mut self.cache_write_tokens, usage.cache_write_tokens),
                (&mut self.output_tokens, usage.output_tokens),
                (&mut self.reasoning_tokens, usage.reasoning_tokens),
                (&mut self.audio_ms, usage.audio_ms.map(|ms| ms.get().into())),
            ] {
                *sum = sum.saturating_add(count.unwrap_or(0));
            }
        }
        if let Some((Cost(nanos), _)) = used.cost {
            self.add_cost(nanos, 0);
        }
    }

    /// Adds and takes away billionths.
    pub fn add_cost(&mut self, added: u64, refunded: u64) {
        self.cost = saturating_sum(self.cost, added, refunded);
    }

    /// Adds to what budgets were charged, and takes away.
    pub fn add_charge(&mut self, added: u64, refunded: u64) {
        self.charged = saturating_sum(self.charged, added, refunded);
    }

    /// Adds the counts of another row.
    pub fn add(&mut self, other: &Self) {
        for (sum, count) in [
            (&mut self.requests, other.requests),
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.cached_input_tokens, other.cached_input_tokens),
            (&mut self.cache_write_tokens, other.cache_write_tokens),
            (&mut self.output_tokens, other.output_tokens),
            (&mut self.reasoning_tokens, other.reasoning_tokens),
            (&mut self.audio_ms, other.audio_ms),
        ] {
            *sum = sum.saturating_add(count);
        }
        self.cost = self.cost.saturating_add(other.cost);
        self.charged = self.charged.saturating_add(other.charged);
        for (cause, count) in &other.errors {
            *self.errors.entry(cause.clone()).or_default() += count;
        }
    }

    /// Adds the counts but the amounts to a row of a report.
    pub fn write(&self, row: &mut Map<String, Value>) {
        let errors: u64 = self.errors.values().sum();
        for (name, count) in [
            ("requests", self.requests),
            ("errors", errors),
            ("input_tokens", self.input_tokens),
            ("cached_input_tokens", self.cached_input_tokens),
            ("cache_write_tokens", self.cache_write_tokens),
            ("output_tokens", self.output_tokens),
            ("reasoning_tokens", self.reasoning_tokens),
            ("audio_ms", self.audio_ms),
        ] {
            row.insert(name.to_owned(), count.into());
        }
        row.insert("errors_by_cause".to_owned(), json!(self.errors));
    }
}

fn saturating_sum(amount: i64, added: u64, refunded: u64) -> i64 {
    let sum = i128::from(amount) + i128::from(added) - i128::from(refunded);
    i64::try_from(sum).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX })
}

/// Billionths as an exact decimal, such as `0.009795`.
pub(crate) fn decimal(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    format!("{sign}{}", Cost(nanos.unsigned_abs()))
}

const _: () = assert!(
    NANOS == 1_000_000_000,
    "costs are billionths in stored rows"
);

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::usage::TokenUsage;

    fn used(usage: &TokenUsage, outcome: RecordedOutcome) -> RecordedUse<'_> {
        RecordedUse {
            time_ms: 0,
            caller: None,
            model: None,
            channel: None,
            outcome: Some(outcome),
            usage: Some(usage),
            cost: Some((Cost(9_795_000), "USD")),
            charges: &[],
        }
    }

    #[test]
    fn uses_add_up_with_the_cache_in_the_input() {
        let usage = TokenUsage {
            input_tokens: Some(10),
            cached_input_tokens: Some(5),
            output_tokens: Some(7),
            input_excludes_cache: true,
            ..TokenUsage::default()
        };
        let mut counts = UsageCounts::default();
        counts.add_use(&used(&usage, RecordedOutcome::Served));
        counts.add_use(&used(&usage, RecordedOutcome::Failed("upstream_cut")));
        let mut twice = counts.clone();
        twice.add(&counts);
        let mut row = Map::new();
        twice.write(&mut row);
        assert_eq!(decimal(twice.cost), "0.03918");
        assert_eq!(
            Value::Object(row),
            json!({
                "requests": 4, "errors": 2, "input_tokens": 60, "cached_input_tokens": 20, "cache_write_tokens": 0,
                "output_tokens": 28, "reasoning_tokens": 0, "audio_ms": 0,
                "errors_by_cause": {"upstream_cut": 2},
            })
        );
    }

    #[test]
    fn a_row_of_an_earlier_version_has_charged_nothing() {
        let stored = json!({"requests": 3, "cost": 7});
        let counts: UsageCounts = serde_json::from_value(stored).unwrap();
        assert_eq!((counts.requests, counts.cost, counts.charged), (3, 7, 0));
        let stored = serde_json::to_value(UsageCounts {
            charged: -5,
            ..counts
        });
        let read: UsageCounts = serde_json::from_value(stored.unwrap()).unwrap();
        assert_eq!(read.charged, -5);
    }

    #[test]
    fn a_refund_of_an_earlier_day_makes_a_cost_below_zero() {
        let mut counts = UsageCounts::default();
        counts.add_cost(0, 1_500_000_000);
        assert_eq!(decimal(counts.cost), "-1.5");
        counts.add_cost(u64::MAX, 0);
        assert_eq!(counts.cost, i64::MAX);
    }
}
