//! The live state of channels, which outlives a snapshot: health, load, retry budget, DNS cache; and what follows a failed
//! attempt.

pub mod active_probe;
pub mod address_cache;
pub mod attempt_statistics;
pub mod availability;
pub mod balancing;
mod caller_loads;
pub mod clock;
pub mod drain;
mod drained_channels;
pub mod evidence;
pub mod health;
pub mod health_status;
mod latency_average;
pub mod lease;
pub mod live;
pub mod outcome;
pub mod permit;
pub mod resolve;
mod retained;
pub mod retry_budget;
pub mod retry_policy;
pub mod select;
mod sole_candidate;
pub mod state_map;
pub mod unconfirmed_failures;
pub mod unusable;
