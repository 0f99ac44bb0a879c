//! The most that something can cost, and the prices by which it costs that.

use headgate_core::catalog::price::ModelPrice;
use std::sync::Arc;

/// The most that a request can cost.
#[derive(Debug)]
pub struct CostMaximum {
    /// In billionths of the currency's unit; 0 if all prices are 0.
    pub nanos: u64,
    /// The prices of the channel on which it costs that.
    pub price: Arc<ModelPrice>,
}

impl CostMaximum {
    pub fn currency(&self) -> &Arc<str> {
        &self.price.currency
    }
}
