//! Issuers of tokens: their settings, their keys, and the callers that their tokens claim to be.

pub(crate) mod admission;
pub(crate) mod build;
pub(crate) mod claim_expression;
pub(crate) mod claimed_names;
pub(crate) mod config;
pub(crate) mod findings;
pub(crate) mod issuer_keys;
pub(crate) mod key_fetch;
pub(crate) mod key_source;
pub(crate) mod metrics;
pub(crate) mod token_cache;
pub(crate) mod token_issuer;
