//! A callout as `headgate explain` prints it.

use std::sync::Arc;

/// Which service a filter calls, and when; learned without a call.
#[derive(Debug, PartialEq, Eq)]
pub struct PlannedCallout {
    pub service: Arc<str>,
    /// The phases that the service is called in: `request`, `response`, `stream`.
    pub phases: &'static [&'static str],
    /// What happens without a usable response of the service: `deny` or `allow`.
    pub on_failure: &'static str,
}
