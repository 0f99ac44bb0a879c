//! Who a request comes from: keys of callers and what is known of their use, and tokens of issuers.

pub mod feature;
mod filter;
mod findings;
mod issuer;
mod key_metrics;
mod key_usage;
mod token;
