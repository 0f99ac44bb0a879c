//! Metrics of channels: whether they are usable, cool-downs, probes, keys that are refused, attempts
//! that the budget did not allow.

use super::registration::registered;
use prometheus::{IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// What an operator is alerted by.
pub struct ChannelMetrics {
    cool_downs: IntCounterVec,
    credentials: FlagGauges,
    retries_denied: IntCounter,
    probes: IntCounterVec,
    usable: FlagGauges,
}

/// 1 or 0 for each of a changing set of things.
struct FlagGauges {
    gauges: IntGaugeVec,
    /// The labels of those that are told of.
    shown_labels: Mutex<BTreeSet<Vec<String>>>,
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
            credentials: FlagGauges::new(
                registry,
                "headgate_credential_refused",
                "1 while the provider refuses a key or its account, by the key's place in the list.",
                &["channel", "credential"],
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
            usable: FlagGauges::new(
                registry,
                "headgate_channel_usable",
                "1 if a request could be given to the channel now, else 0.",
                &["channel"],
            ),
        }
    }

    pub fn cool_down(&self, channel: &str, why: &str) {
        self.cool_downs.with_label_values(&[channel, why]).inc();
    }

    /// Tells of every key, by channel and place in its list, whether the provider refuses it; of no other
    /// key anything is told then.
    pub fn refused_credentials(&self, keys: impl IntoIterator<Item = ((Arc<str>, usize), bool)>) {
        let labelled = |((channel, place), is_refused): ((Arc<str>, usize), bool)| {
            (vec![channel.to_string(), place.to_string()], is_refused)
        };
        self.credentials.set_all(keys.into_iter().map(labelled));
    }

    /// Counts a probe; `outcome` is the gateway's own word.
    pub fn probe(&self, channel: &str, outcome: &str) {
        self.probes.with_label_values(&[channel, outcome]).inc();
    }

    /// Tells of every channel whether it is usable now; of no other channel anything is told then.
    pub fn usable(&self, channels: impl IntoIterator<Item = (Arc<str>, bool)>) {
        let labelled =
            |(channel, is_usable): (Arc<str>, bool)| (vec![channel.to_string()], is_usable);
        self.usable.set_all(channels.into_iter().map(labelled));
    }

    pub fn retry_denied(&self) {
        self.retries_denied.inc();
    }
}

impl FlagGauges {
    fn new(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> Self {
        Self {
            gauges: registered(registry, IntGaugeVec::new(Opts::new(name, help), labels)),
            shown_labels: Mutex::default(),
        }
    }

    /// Tells of all there are now, and forgets the others.
    fn set_all(&self, flags: impl Iterator<Item = (Vec<String>, bool)>) {
        let mut shown_labels = self
            .shown_labels
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut gone = std::mem::take(&mut *shown_labels);
        for (labels, is_set) in flags {
            self.gauges
                .with_label_values(&labels)
                .set(i64::from(is_set));
            gone.remove(&labels);
            shown_labels.insert(labels);
        }
        for labels in gone {
            // It cannot fail: it was told of.
            let _ = self.gauges.remove_label_values(&labels);
        }
    }
}
