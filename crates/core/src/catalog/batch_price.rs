//! The prices of a batch as its record keeps them: its cost belongs to the prices of its create.

use super::price::{Cost, ExchangeCost, ModelPrice};
use super::token_prices::TokenPrices;
use headgate_protocol::usage::TokenUsage;
use serde::{Deserialize, Serialize};

/// The prices of a model of a batch, without those of what no batch has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchPrice {
    pub currency: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenPrices>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<u64>,
}

impl ModelPrice {
    /// What requests of a batch have cost at `percent` of these prices, each with as many input tokens as `input_length` is
    /// priced for. Rounded to the nearest billionth.
    pub fn batch_cost(&self, input_length: u64, usage: &TokenUsage, percent: u8) -> ExchangeCost {
        match self.cost_by_length(input_length, Some(usage), None) {
            ExchangeCost::Priced(Cost(nanos)) => {
                let share = (u128::from(nanos) * u128::from(percent) + 50) / 100;
                ExchangeCost::Priced(Cost::from_nanos(share))
            }
            other => other,
        }
    }
}

impl BatchPrice {
    pub fn new(price: &ModelPrice) -> Self {
        Self {
            currency: price.currency.to_string(),
            tokens: price.tokens.clone(),
            image: price.image,
        }
    }

    /// The prices as those of a model.
    pub fn to_price(&self) -> ModelPrice {
        ModelPrice {
            tokens: self.tokens.clone(),
            image: self.image,
            ..ModelPrice::none(self.currency.as_str().into())
        }
    }
}
