//! Builds the prices of tokens, also those of requests with a long input, and reports those that would never apply.

use super::ProblemCollector;
use crate::prices::{LongInputPriceConfig, ModelPriceConfig};
use headgate_core::catalog::token_prices::{LongInputRates, TokenPrices, TokenRates};
use headgate_core::pointer::child;
use headgate_core::scalar::UnitPrice;

/// Prices of tokens as they are written.
#[derive(Clone, Copy)]
struct WrittenRates {
    input: Option<UnitPrice>,
    cached_input: Option<UnitPrice>,
    cache_write: Option<UnitPrice>,
    output: Option<UnitPrice>,
    reasoning: Option<UnitPrice>,
}

/// The prices of tokens; `None` if they have none.
pub(super) fn build(config: &ModelPriceConfig) -> Option<TokenPrices> {
    let base = WrittenRates::from(config);
    let has_tokens = base.input.is_some() || base.output.is_some();
    let long_input = config.long_input.iter().map(|long| LongInputRates {
        above: long.above.get(),
        rates: WrittenRates::from(long).or(base).rates(),
    });
    has_tokens.then(|| TokenPrices {
        base: base.rates(),
        long_input: long_input.collect(),
    })
}

/// Reports prices of tokens that lack the one that they differ from, and prices of a long input that no request gets.
pub(super) fn check(config: &ModelPriceConfig, at: &str, problems: &mut ProblemCollector<'_>) {
    let base = WrittenRates::from(config);
    for (key, is_set, required, is_there) in base.parts() {
        if is_set && required != key && !is_there {
            report_missing(&child(at, key), key, required, problems);
        }
    }
    let mut before = 0;
    for (index, long) in config.long_input.iter().enumerate() {
        let at = child(&child(at, "long_input"), index.to_string());
        let parts = WrittenRates::from(long).parts();
        if !parts.iter().any(|(_, is_set, ..)| *is_set) {
            let hint = "write the prices that differ, as `{above: 200000, input: 6, output: 22.5}`";
            problems.error(&at, "the entry has no price", Some(hint));
        }
        for ((key, is_set, required, _), (.., is_there)) in parts.into_iter().zip(base.parts()) {
            if is_set && !is_there {
                let key_at = child(&at, key);
                let reason = format!("`{key}` requires `{required}` of the model");
                let hint = format!("add `{required}` beside `long_input`, or remove `{key}`");
                problems.error(&key_at, reason, Some(&hint));
            }
        }
        let above = long.above.get();
        if above <= before {
            let reason = format!("`above` must be more than {before}, that of the entry before");
            let hint = "write each number of tokens once, in ascending order";
            problems.error(&child(&at, "above"), reason, Some(hint));
        }
        before = above;
    }
}

/// Reports a price that means nothing without another one.
pub(super) fn report_missing(
    at: &str,
    key: &str,
    required: &str,
    problems: &mut ProblemCollector<'_>,
) {
    let reason = format!("`{key}` requires `{required}`");
    let hint = format!("add `{required}`, or remove `{key}`");
    problems.error(at, reason, Some(&hint));
}

impl WrittenRates {
    /// These prices, with those of `base` in place of missing ones.
    fn or(self, base: Self) -> Self {
        Self {
            input: self.input.or(base.input),
            cached_input: self.cached_input.or(base.cached_input),
            cache_write: self.cache_write.or(base.cache_write),
            output: self.output.or(base.output),
            reasoning: self.reasoning.or(base.reasoning),
        }
    }

    fn rates(self) -> TokenRates {
        let nanos = |price: Option<UnitPrice>| price.map_or(0, UnitPrice::nanos);
        TokenRates {
            input: nanos(self.input),
            cached_input: nanos(self.cached_input.or(self.input)),
            cache_write: nanos(self.cache_write.or(self.input)),
            output: nanos(self.output),
            reasoning: nanos(self.reasoning.or(self.output)),
        }
    }

    /// Each price by its key, whether it is written, the key of the price that it requires, and whether that is written.
    fn parts(self) -> [(&'static str, bool, &'static str, bool); 5] {
        let has_input = self.input.is_some();
        let has_output = self.output.is_some();
        [
            ("input", has_input, "input", has_input),
            (
                "cached_input",
                self.cached_input.is_some(),
                "input",
                has_input,
            ),
            (
                "cache_write",
                self.cache_write.is_some(),
                "input",
                has_input,
            ),
            ("output", has_output, "output", has_output),
            ("reasoning", self.reasoning.is_some(), "output", has_output),
        ]
    }
}

impl From<&ModelPriceConfig> for WrittenRates {
    fn from(config: &ModelPriceConfig) -> Self {
        Self {
            input: config.input,
            cached_input: config.cached_input,
            cache_write: config.cache_write,
            output: config.output,
            reasoning: config.reasoning,
        }
    }
}

impl From<&LongInputPriceConfig> for WrittenRates {
    fn from(config: &LongInputPriceConfig) -> Self {
        Self {
            input: config.input,
            cached_input: config.cached_input,
            cache_write: config.cache_write,
            output: config.output,
            reasoning: config.reasoning,
        }
    }
}
