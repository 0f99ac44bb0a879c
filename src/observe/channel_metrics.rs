//! Metrics of channels: whether they are usable, cool-downs, probes, keys that are refused, attempts
//! that the budget did not allow.

use super::metrics::registered;
use prometheus::{IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// What an operator is alerted by.
pub struct ChannelMetrics {
    cool_downs: IntCounterVec,
    credentials: IntGaugeVec,
    retries_denied: IntCounter,
    probes: IntCounterVec,
    usable: IntGaugeVec,
    /// The channels that `usable` tells of.
    told: Mutex<BTreeSet<Arc<str>>>,
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
            probes: registered(
                registry,
                IntCounterVec::new(
                    Opts::new(
                        "headgate_probes_total",
                        "Probes of channels, by what came of them.",
                    ),
                    &["channel", "outcome"],
                ),
            ),
            usable: registered(
                registry,
                IntGaugeVec::new(
                    Opts::new(
                        "headgate_channel_usable",
                        "1 if a request could be given to the channel now, else 0.",
                    ),
                    &["channel"],
                ),
            ),
            told: Mutex::default(),
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

    /// Counts a probe; `outcome` is the gateway's own word.
    pub fn probe(&self, channel: &str, outcome: &str) {
        self.probes.with_label_values(&[channel, outcome]).inc();
    }

    /// Tells of every channel whether it is usable now; of no other channel anything is told then.
    pub fn usable(&self, channels: impl IntoIterator<Item = (Arc<str>, bool)>) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gone = std::mem::take(&mut *told);
        for (channel, usable) in channels {
            let gauge = self.usable.with_label_values(&[&*channel]);
            gauge.set(i64::from(usable));
            gone.remove(&channel);
            told.insert(channel);
        }
        for channel in gone {
            // It cannot fail: the channel was told of.
            let _ = self.usable.remove_label_values(&[&*channel]);
        }
    }

    pub fn retry_denied(&self) {
        self.retries_denied.inc();
    }
}
