//! Metrics of channels: cool-downs, keys that are refused, attempts that the budget did not allow.

use super::metrics::registered;
use prometheus::{IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry};

/// What an operator is alerted by.
pub struct ChannelMetrics {
    cool_downs: IntCounterVec,
    credentials: IntGaugeVec,
    retries_denied: IntCounter,
}

impl ChannelMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            cool_downs: registered(
                registry,
                IntCounterVec::new(
                    Opts::new(
                        "headgate_cool_downs_total",
                        "How often a channel, a model on it or one of its keys was left alone, and why.",
                    ),
                    &["channel", "why"],
                ),
            ),
            credentials: registered(
                registry,
                IntGaugeVec::new(
                    Opts::new(
                        "headgate_credential_refused",
                        "1 while the provider refuses a key or its account, by the key's place in the list.",
                    ),
                    &["channel", "credential"],
                ),
            ),
            retries_denied: registered(
                registry,
                IntCounter::new(
                    "headgate_retries_denied_total",
                    "Further attempts that the budget did not allow.",
                ),
            ),
        }
    }

    pub fn cool_down(&self, channel: &str, why: &str) {
        self.cool_downs.with_label_values(&[channel, why]).inc();
    }

    /// `key` is the place in the channel's list, from 0.
    pub fn credential(&self, channel: &str, key: Option<usize>, accepted: bool) {
        let place = key.map_or(1, |key| key + 1).to_string();
        self.credentials
            .with_label_values(&[channel, &place])
            .set(i64::from(!accepted));
    }

    pub fn retry_denied(&self) {
        self.retries_denied.inc();
    }
}
