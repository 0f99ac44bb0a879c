//! Who a request comes from: keys of callers, and what is known of their use.

pub mod feature;
mod filter;
mod findings;
mod key_metrics;
mod key_usage;
