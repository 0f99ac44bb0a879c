//! Prices by model name, for models that are known by a pattern only.

use super::by_model_name::ByModelName;
use super::price::ModelPrice;
use std::sync::Arc;

/// Prices by platform model.
pub type PriceList = ByModelName<Arc<ModelPrice>>;

/// What models cost that a channel serves by a pattern.
#[derive(Debug, Default)]
pub struct PatternPricing {
    /// The prices of the channel.
    pub own: Arc<PriceList>,
    /// The prices of all channels.
    pub shared: Arc<PriceList>,
    /// What a model without a price costs; `None` if the configuration has no prices.
    pub unpriced: Option<Arc<ModelPrice>>,
    /// Whether models without a price are served.
    pub allows_unpriced: bool,
}

impl PatternPricing {
    /// The price of `model`: `Some(None)` if the configuration has no prices, `None` if the model is not served because it
    /// has no price.
    pub fn price(&self, model: &str) -> Option<Option<Arc<ModelPrice>>> {
        let price = self.own.find(model).or_else(|| self.shared.find(model));
        match price {
            Some(price) => Some(Some(price.clone())),
            None => self.allows_unpriced.then(|| self.unpriced.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(prices: &[(&str, u64)]) -> Arc<PriceList> {
        let price = |image: u64| ModelPrice {
            image: Some(image),
            ..ModelPrice::none("USD".into())
        };
        let prices = prices.iter();
        let prices = prices.map(|(name, image)| (name, Arc::new(price(*image))));
        Arc::new(prices.collect())
    }

    #[test]
    fn the_most_exact_price_of_the_channel_precedes_those_of_all_channels() {
        let pricing = PatternPricing {
            own: list(&[("gpt-*", 1)]),
            shared: list(&[("gpt-4o", 2), ("*", 3), ("claude-*", 4)]),
            unpriced: None,
            allows_unpriced: false,
        };
        for (model, expected) in [("gpt-4o", 1), ("claude-x", 4), ("other", 3)] {
            let price = pricing.price(model).unwrap().unwrap();
            assert_eq!(price.image, Some(expected), "{model}");
        }
    }

    #[test]
    fn a_model_without_a_price_is_served_only_if_that_is_allowed() {
        let mut pricing = PatternPricing {
            shared: list(&[("gpt-4o", 2)]),
            unpriced: Some(Arc::new(ModelPrice::none("USD".into()))),
            ..PatternPricing::default()
        };
        assert!(pricing.price("other").is_none());
        pricing.allows_unpriced = true;
        assert_eq!(pricing.price("other").unwrap().unwrap().image, None);
        assert_eq!(pricing.price("gpt-4o").unwrap().unwrap().image, Some(2));
    }
}
