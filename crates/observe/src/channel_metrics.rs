//! Metrics of channels: availability, cool-downs, probes, refused credentials, and retries denied by the retry budget.

use super::metric_labels::label;
use headgate_core::catalog::affinity::AffinityOutcome;
use headgate_core::feature::metrics::registered;
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Metrics of channels, for alerts.
pub struct ChannelMetrics {
    affinity: IntCounterVec,
    cool_downs: IntCounterVec,
    credentials: FlagGauges,
    retries_denied: IntCounter,
    probes: IntCounterVec,
    usable: FlagGauges,
    available_models: FlagGauges,
}

/// A gauge of 0 or 1 for each member of a changing set.
struct FlagGauges {
    gauges: IntGaugeVec,
    /// The label values that are exported now.
    shown_labels: Mutex<BTreeSet<Vec<String>>>,
}

impl ChannelMetrics {
    /// The counters that findings are made of.
    pub(super) fn fault_counters(&self) -> Vec<MetricFamily> {
        self.retries_denied.collect()
    }

    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            affinity: registered(
                registry,
                IntCounterVec::new(
                    Opts::new(
                        "headgate_affinity_requests_total",
                        "Finished requests with an affinity key, by whether their own channel served them, or why another one did.",
                    ),
                    &["model", "channel", "result"],
                ),
            ),
            cool_downs: registered(
                registry,
                IntCounterVec::new(
                    Opts::new(
                        "headgate_cool_downs_total",
                        "Cool-downs of a channel, of a model on it or of one of its credentials, by reason.",
                    ),
                    &["channel", "reason"],
                ),
            ),
            credentials: FlagGauges::new(
                registry,
                "headgate_credential_refused",
                "1 while the provider refuses a credential or its account, by the index of the credential in the channel, else 0.",
                &["channel", "credential"],
            ),
            retries_denied: registered(
                registry,
                IntCounter::new(
                    "headgate_retries_denied_total",
                    "Retries that the retry budget did not allow.",
                ),
            ),
            probes: registered(
                registry,
                IntCounterVec::new(
                    Opts::new(
                        "headgate_probes_total",
                        "Health probes of channels, by outcome.",
                    ),
                    &["channel", "outcome"],
                ),
            ),
            usable: FlagGauges::new(
                registry,
                "headgate_channel_usable",
                "1 if the channel can take a request for at least one model now, else 0.",
                &["channel"],
            ),
            available_models: FlagGauges::new(
                registry,
                "headgate_model_available",
                "1 if at least one channel can take a request for the model now, else 0.",
                &["model"],
            ),
        }
    }

    /// Counts a finished request with an affinity key. Model and channel are names of the configuration.
    pub fn affinity(&self, model: &str, channel: &str, outcome: AffinityOutcome) {
        self.affinity
            .with_label_values(&[model, channel, outcome.name()])
            .inc();
    }

    /// The finished requests with an affinity key, by model and channel, and by result.
    pub fn affinity_results(&self) -> BTreeMap<[String; 2], BTreeMap<String, u64>> {
        let mut results: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for family in self.affinity.collect() {
            for metric in family.get_metric() {
                let [model, channel, result] =
                    ["model", "channel", "result"].map(|name| label(metric, name).to_owned());
                let requests = metric.get_counter().get_value() as u64;
                let row = results.entry([model, channel]).or_default();
                row.insert(result, requests);
            }
        }
        results
    }

    pub fn cool_down(&self, channel: &str, why: &str) {
        self.cool_downs.with_label_values(&[channel, why]).inc();
    }

    /// Sets one gauge for each credential, by channel and index: 1 if the provider refuses it. Removes the gauges of
    /// all other credentials.
    pub fn refused_credentials(&self, keys: impl IntoIterator<Item = ((Arc<str>, usize), bool)>) {
        let labelled = |((channel, place), is_refused): ((Arc<str>, usize), bool)| {
            (vec![channel.to_string(), place.to_string()], is_refused)
        };
        self.credentials.set_all(keys.into_iter().map(labelled));
    }

    /// Counts a probe. `outcome` is one of the gateway's fixed values.
    pub fn probe(&self, channel: &str, outcome: &str) {
        self.probes.with_label_values(&[channel, outcome]).inc();
    }

    /// Sets one gauge for each channel: 1 if it is usable now. Removes the gauges of all other channels.
    pub fn usable(&self, channels: impl IntoIterator<Item = (Arc<str>, bool)>) {
        let labelled =
            |(channel, is_usable): (Arc<str>, bool)| (vec![channel.to_string()], is_usable);
        self.usable.set_all(channels.into_iter().map(labelled));
    }

    /// Sets the gauge of every model; other models have none then.
    pub fn available_models(&self, models: impl IntoIterator<Item = (Arc<str>, bool)>) {
        let labelled =
            |(model, is_available): (Arc<str>, bool)| (vec![model.to_string()], is_available);
        self.available_models
            .set_all(models.into_iter().map(labelled));
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

    /// Sets the gauges of all members, and removes the others.
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
            // Never fails, because the gauge exists.
            let _ = self.gauges.remove_label_values(&labels);
        }
    }
}
