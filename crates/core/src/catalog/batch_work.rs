//! The most that the requests of a batch can cost, from what each of them can have a provider do.

use super::channel::Channel;
use super::model::Model;
use super::price::{Cost, ModelPrice};
use super::price_maximum::WorkMaximum;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The most that the requests of a batch for one model can have a provider do, without their prices: these are those of the
/// create.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchWork {
    /// Requests whose inputs are at most twice as long as others of them: prices may depend on the length of each.
    by_length: Vec<WorkOfLength>,
    /// The place of the first request whose output nothing limits, as errors name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open_output: Option<String>,
}

/// What requests may use together whose inputs are about as long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct WorkOfLength {
    longest_input: u64,
    input_tokens: u64,
    output_tokens: u64,
    #[serde(default)]
    images: u64,
}

/// What a batch that is created needs of budgets in money; in
/// [`RequestFilterValues`](crate::filter::state::RequestFilterValues).
#[derive(Clone)]
pub struct BatchDemand {
    /// `None` if it is not known, because an earlier version of the program has checked the requests.
    pub models: Option<Vec<BatchModelDemand>>,
    /// What it costs, in percent of the prices.
    pub price_percent: u8,
    /// The member of the create that has the requests.
    pub param: &'static str,
}

/// What the requests of a batch for one model need.
#[derive(Clone)]
pub struct BatchModelDemand {
    pub model: Arc<Model>,
    pub work: BatchWork,
}

/// The most that the requests of a batch for one model cost.
#[derive(Clone, Debug)]
pub struct BatchModelMaximum {
    /// In billionths of the currency's unit.
    pub nanos: u64,
    /// The prices by which it is that; `None` if the model has none.
    pub price: Option<Arc<ModelPrice>>,
}

/// The place of a request of a batch whose cost has no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOutput(pub String);

impl BatchWork {
    /// Adds a request; `place` is how errors name it.
    pub fn add(&mut self, work: &WorkMaximum, place: impl Fn() -> String) {
        if work.output_tokens.is_none() && self.open_output.is_none() {
            self.open_output = Some(place());
        }
        let bits = |tokens: u64| tokens.checked_ilog2();
        let length = bits(work.input_tokens);
        let mut known = self.by_length.iter_mut();
        let output_tokens = work.output_tokens.unwrap_or(0);
        match known.find(|one| bits(one.longest_input) == length) {
            Some(one) => {
                one.longest_input = one.longest_input.max(work.input_tokens);
                one.input_tokens = one.input_tokens.saturating_add(work.input_tokens);
                one.output_tokens = one.output_tokens.saturating_add(output_tokens);
                one.images = one.images.saturating_add(work.images);
            }
            None => self.by_length.push(WorkOfLength {
                longest_input: work.input_tokens,
                input_tokens: work.input_tokens,
                output_tokens,
                images: work.images,
            }),
        }
    }

    /// The most that the requests cost at `percent` of these prices, in billionths.
    ///
    /// # Errors
    /// The output of a request has no limit, and a price.
    pub fn bound(&self, price: &ModelPrice, percent: u8) -> Result<u64, OpenOutput> {
        let open = |place: &String| OpenOutput(place.clone());
        let is_output_priced = price.tokens.as_ref().is_some_and(|it| it.charges_output());
        if let Some(place) = self.open_output.as_ref().filter(|_| is_output_priced) {
            return Err(open(place));
        }
        let mut sum = 0_u128;
        for of_length in &self.by_length {
            let work = WorkMaximum {
                input_tokens: of_length.input_tokens,
                output_tokens: Some(of_length.output_tokens),
                images: of_length.images,
                ..WorkMaximum::default()
            };
            // Nothing else of a request in a batch is without a limit.
            let bound = price.bound_together(&work, of_length.longest_input);
            sum += u128::from(bound.unwrap_or(u64::MAX));
        }
        if sum == 0 {
            return Ok(0);
        }
        // The usage at each price is rounded by itself when the batch is settled.
        let tiers = price.tokens.as_ref().map_or(0, |it| it.long_input.len());
        let share = (sum * u128::from(percent)).div_ceil(100) + tiers as u128;
        Ok(Cost::from_nanos(share).0)
    }
}

impl BatchModelDemand {
    /// The prices of the model on a channel, if it has any there.
    pub fn price_on(&self, channel: &Channel) -> Option<&Arc<ModelPrice>> {
        let mut candidates = self.model.all_candidates.iter();
        let candidate = candidates.find(|one| one.channel.name == channel.name)?;
        let price = candidate.model.as_ref()?.price.as_ref();
        price.filter(|price| price.is_priced())
    }

    /// The most that the requests cost on the dearest of these channels.
    ///
    /// # Errors
    /// The output of a request has no limit, and a price.
    pub fn bound<'c>(
        &self,
        channels: impl Iterator<Item = &'c Arc<Channel>>,
        percent: u8,
    ) -> Result<BatchModelMaximum, OpenOutput> {
        let mut most = BatchModelMaximum {
            nanos: 0,
            price: None,
        };
        for price in channels.filter_map(|channel| self.price_on(channel)) {
            let nanos = self.work.bound(price, percent)?;
            if most.price.is_none() || most.nanos < nanos {
                let price = Some(price.clone());
                most = BatchModelMaximum { nanos, price };
            }
        }
        Ok(most)
    }
}

#[cfg(test)]
mod tests {
    use super::super::token_prices::{LongInputRates, TokenPrices, TokenRates};
    use super::*;

    const RATES: TokenRates = TokenRates {
        input: 2_000_000,
        cached_input: 1_000_000,
        cache_write: 2_000_000,
        output: 10_000_000,
        reasoning: 10_000_000,
    };

    fn price(long_input: Vec<LongInputRates>) -> ModelPrice {
        ModelPrice {
            tokens: Some(TokenPrices {
                base: RATES,
                long_input,
            }),
            ..ModelPrice::none("USD".into())
        }
    }

    fn work(requests: &[(u64, Option<u64>)]) -> BatchWork {
        let mut all = BatchWork::default();
        for (index, (input_tokens, output_tokens)) in requests.iter().enumerate() {
            let work = WorkMaximum {
                input_tokens: *input_tokens,
                output_tokens: *output_tokens,
                ..WorkMaximum::default()
            };
            all.add(&work, || format!("line {}", index + 1));
        }
        all
    }

    #[test]
    fn the_requests_of_a_batch_cost_their_share_of_the_prices_together() {
        let one = work(&[(100, Some(10))]);
        // 100 tokens of 2 and 10 of 10 billionths.
        assert_eq!(one.bound(&price(Vec::new()), 100), Ok(300));
        assert_eq!(one.bound(&price(Vec::new()), 50), Ok(150));
        assert_eq!(one.bound(&price(Vec::new()), 33), Ok(99));
        let many = work(&[(100, Some(10)), (3, Some(1)), (90_000, Some(0))]);
        assert_eq!(
            many.bound(&price(Vec::new()), 50),
            Ok((300 + 16 + 180_000) / 2)
        );
        assert_eq!(work(&[]).bound(&price(Vec::new()), 50), Ok(0));
        assert_eq!(one.bound(&ModelPrice::none("USD".into()), 50), Ok(0));
    }

    #[test]
    fn a_long_input_has_its_price_and_short_ones_have_theirs() {
        let long = price(vec![LongInputRates {
            above: 200_000,
            rates: TokenRates {
                input: 4_000_000,
                ..RATES
            },
        }]);
        let mixed = work(&[(300_000, Some(0)), (1_000, Some(0))]);
        let expected = 300_000 * 4 + 1_000 * 2;
        assert_eq!(mixed.bound(&long, 100), Ok(expected + 1));
        let stored = serde_json::to_vec(&mixed).unwrap();
        let read: BatchWork = serde_json::from_slice(&stored).unwrap();
        assert_eq!(read, mixed);
    }

    #[test]
    fn output_without_a_limit_is_named_by_its_place_where_it_has_a_price() {
        let open = work(&[(5, Some(1)), (5, None), (5, None)]);
        let refused = Err(OpenOutput("line 2".to_owned()));
        assert_eq!(open.bound(&price(Vec::new()), 50), refused);
        let embedding = ModelPrice {
            tokens: Some(TokenPrices::flat(TokenRates {
                output: 0,
                reasoning: 0,
                ..RATES
            })),
            ..ModelPrice::none("USD".into())
        };
        assert_eq!(open.bound(&embedding, 100), Ok(30));
    }
}
