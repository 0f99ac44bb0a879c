//! Paid creates: the journal that keeps each from being made twice, and idempotency keys.

pub mod feature;
pub mod filter;
mod findings;
pub mod journal;
