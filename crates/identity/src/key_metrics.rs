//! Metrics of named keys: their use, and when they expire.

use crate::key_usage::KeyUsages;
use headgate_core::feature::metrics::{FeatureMetrics, raise, registered};
use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

const LABELS: &[&str] = &["caller", "key"];

/// The metrics of named keys.
pub struct KeyMetrics {
    usages: Arc<KeyUsages>,
    requests: IntCounterVec,
    last_used: IntGaugeVec,
    expiries: IntGaugeVec,
    /// The labels of the keys that are exported now.
    exported: Mutex<BTreeSet<[Arc<str>; 2]>>,
}

impl KeyMetrics {
    pub fn new(registry: &Registry, usages: Arc<KeyUsages>) -> Self {
        let gauge = |name: &str, help: &str| {
            registered(registry, IntGaugeVec::new(Opts::new(name, help), LABELS))
        };
        let requests = Opts::new(
            "headgate_key_requests_total",
            "Requests that a key with a label has authenticated.",
        );
        Self {
            usages,
            requests: registered(registry, IntCounterVec::new(requests, LABELS)),
            last_used: gauge(
                "headgate_key_last_used_timestamp_seconds",
                "Unix time of the last request with a key; none since the process started if there is no series.",
            ),
            expiries: gauge(
                "headgate_key_expiry_timestamp_seconds",
                "Unix time at which a key expires.",
            ),
            exported: Mutex::default(),
        }
    }
}

impl FeatureMetrics for KeyMetrics {
    fn update(&self) {
        let exported = self.exported.lock();
        let mut exported = exported.unwrap_or_else(PoisonError::into_inner);
        let mut gone = std::mem::take(&mut *exported);
        for (name, usage) in self.usages.list() {
            if !usage.is_named() {
                continue;
            }
            let labels = [&*name.caller, &*name.label];
            raise(&self.requests.with_label_values(&labels), usage.requests());
            let times = [
                (&self.last_used, usage.last_used()),
                (&self.expiries, usage.expiry()),
            ];
            for (gauge, time) in times {
                match time {
                    Some(time) => gauge.with_label_values(&labels).set(time as i64),
                    // An error says that there is none.
                    None => drop(gauge.remove_label_values(&labels)),
                }
            }
            let labels = [name.caller, name.label];
            gone.remove(&labels);
            exported.insert(labels);
        }
        for [caller, label] in gone {
            let labels = [&*caller, &*label];
            let _ = self.requests.remove_label_values(&labels);
            let _ = self.last_used.remove_label_values(&labels);
            let _ = self.expiries.remove_label_values(&labels);
        }
    }
}
