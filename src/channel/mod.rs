//! Live state of channels, which outlives a snapshot: health, load, budget of retries, resolved addresses.

pub mod addresses;
mod alone;
pub mod budget;
pub mod chance;
pub mod clock;
pub mod health;
pub mod lease;
pub mod live;
pub mod outcome;
pub mod probed;
pub mod resolve;
mod retained;
pub mod select;
pub mod usable;
