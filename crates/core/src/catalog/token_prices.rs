//! Prices of tokens as built: those of a model, and others for requests with a long input.

use headgate_protocol::usage::TokenUsage;
use serde::{Deserialize, Serialize};

/// Tokens that a price of tokens is the price of.
pub(super) const TOKENS_PER_PRICE: u128 = 1_000_000;

/// Prices of a million tokens, in billionths of the currency's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRates {
    pub input: u64,
    pub cached_input: u64,
    pub cache_write: u64,
    pub output: u64,
    pub reasoning: u64,
}

/// What the tokens of a model cost, by the length of the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenPrices {
    pub base: TokenRates,
    /// In ascending order of `above`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub long_input: Vec<LongInputRates>,
}

/// What all tokens of a request cost whose input is longer than a number of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongInputRates {
    /// Input tokens that a request has more of, those of the provider's cache included.
    pub above: u64,
    pub rates: TokenRates,
}

impl TokenPrices {
    /// Prices that do not depend on the length of the input.
    pub fn flat(base: TokenRates) -> Self {
        Self {
            base,
            long_input: Vec::new(),
        }
    }

    /// The prices of a request with so many input tokens.
    pub fn for_input(&self, tokens: u64) -> &TokenRates {
        self.up_to(tokens).last().unwrap_or(&self.base)
    }

    /// The fewest input tokens with the same prices as so many: 0, unless those of a long input hold.
    pub fn shortest_input(&self, tokens: u64) -> u64 {
        let mut passed = self.long_input.iter().rev();
        let last = passed.find(|long| long.above < tokens);
        last.map_or(0, |long| long.above + 1)
    }

    /// All prices of requests with at most so many input tokens.
    pub fn up_to(&self, tokens: u64) -> impl Iterator<Item = &TokenRates> {
        let passed = self.long_input.iter();
        let passed = passed.take_while(move |long| long.above < tokens);
        std::iter::once(&self.base).chain(passed.map(|long| &long.rates))
    }

    /// All prices, whatever the length of the input.
    pub fn all(&self) -> impl Iterator<Item = &TokenRates> {
        self.up_to(u64::MAX)
    }

    /// Whether output costs anything, at any length of the input.
    pub fn charges_output(&self) -> bool {
        self.all().any(|rates| rates.dearest_output() > 0)
    }
}

impl TokenRates {
    /// In billionths, rounded to the nearest one.
    pub(super) fn cost(&self, usage: &TokenUsage) -> u128 {
        let cached = usage.cached_input_tokens.unwrap_or(0);
        let written = usage.cache_write_tokens.unwrap_or(0);
        let all_input = usage.input_with_cache().unwrap_or(0);
        let input = all_input.saturating_sub(cached).saturating_sub(written);
        let reasoning = usage.reasoning_tokens.unwrap_or(0);
        let output = usage.output_tokens.unwrap_or(0).saturating_sub(reasoning);
        let sum: u128 = [
            (self.input, input),
            (self.cached_input, cached),
            (self.cache_write, written),
            (self.output, output),
            (self.reasoning, reasoning),
        ]
        .into_iter()
        .map(|(price, tokens)| u128::from(price) * u128::from(tokens))
        .sum();
        (sum + TOKENS_PER_PRICE / 2) / TOKENS_PER_PRICE
    }

    /// In billionths, rounded to the nearest one.
    pub(super) fn miss_cost(&self, usage: &TokenUsage) -> u128 {
        let cached = usage.cached_input_tokens.unwrap_or(0);
        let written = usage.cache_write_tokens.unwrap_or(0);
        let all_input = usage.input_with_cache().unwrap_or(0);
        let missed = all_input.saturating_sub(cached);
        let written = written.min(missed);
        let more = |price: u64| u128::from(price.saturating_sub(self.cached_input));
        let sum = more(self.input) * u128::from(missed - written)
            + more(self.cache_write) * u128::from(written);
        (sum + TOKENS_PER_PRICE / 2) / TOKENS_PER_PRICE
    }

    /// The highest price of an input token.
    pub fn dearest_input(&self) -> u64 {
        self.input.max(self.cached_input).max(self.cache_write)
    }

    /// The highest price of an output token.
    pub fn dearest_output(&self) -> u64 {
        self.output.max(self.reasoning)
    }
}
