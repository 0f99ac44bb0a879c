//! Live state of channels, which outlives a snapshot: health, load, budget of retries, resolved addresses.

pub mod active_probe;
pub mod address_cache;
pub mod availability;
pub mod clock;
pub mod health;
pub mod lease;
pub mod live;
pub mod outcome;
pub mod random;
pub mod resolve;
mod retained;
pub mod retry_budget;
pub mod select;
mod sole_candidate;
