//! The shipped table of error classes: rows by provider, then what providers have in common.

mod anthropic;
mod common;

use super::rule::ErrorRule;

pub use common::{BY_STATUS, CALLERS_CODES};

/// Rows with a code or a message, in the order in which they are tried.
pub const SHIPPED: &[&[ErrorRule]] = &[anthropic::RULES, common::CODES];
