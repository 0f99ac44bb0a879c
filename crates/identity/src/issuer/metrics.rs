//! Metrics of issuers: their tokens, and the fetches of their keys.

use super::token_issuer::{IssuerTokenCounts, TokenIssuer};
use headgate_core::feature::metrics::{FeatureMetrics, raise, registered};
use headgate_core::state::lock::lock;
use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The counts of all issuers, and those of the configuration in use. Outlives snapshots.
#[derive(Default)]
pub(crate) struct IssuerCounts {
    by_name: Mutex<HashMap<Arc<str>, Arc<IssuerTokenCounts>>>,
    adopted: Mutex<Vec<Arc<TokenIssuer>>>,
}

/// The metrics of issuers.
pub(crate) struct IssuerMetrics {
    counts: Arc<IssuerCounts>,
    tokens: IntCounterVec,
    fetches: IntCounterVec,
    usable: IntGaugeVec,
}

impl IssuerCounts {
    /// The counts of an issuer.
    pub fn find(&self, issuer: &Arc<str>) -> Arc<IssuerTokenCounts> {
        let mut all = lock(&self.by_name);
        all.entry(issuer.clone()).or_default().clone()
    }

    /// Takes the issuers of a configuration.
    pub fn adopt(&self, issuers: Vec<Arc<TokenIssuer>>) {
        *lock(&self.adopted) = issuers;
    }
}

impl IssuerMetrics {
    pub fn new(registry: &Registry, counts: Arc<IssuerCounts>) -> Self {
        let counter = |name: &str, help: &str| {
            let counter = IntCounterVec::new(Opts::new(name, help), &["issuer", "outcome"]);
            registered(registry, counter)
        };
        let usable = Opts::new(
            "headgate_issuer_keys_usable",
            "1 if there are keys to verify tokens of the issuer with, else 0.",
        );
        Self {
            counts,
            tokens: counter(
                "headgate_issuer_tokens_total",
                "Requests with a token of an issuer: accepted, refused, or without_keys to verify it.",
            ),
            fetches: counter(
                "headgate_issuer_key_fetches_total",
                "Fetches of the keys of an issuer: succeeded or failed.",
            ),
            usable: registered(registry, IntGaugeVec::new(usable, &["issuer"])),
        }
    }
}

impl FeatureMetrics for IssuerMetrics {
    fn update(&self) {
        self.usable.reset();
        for issuer in &*lock(&self.counts.adopted) {
            let name = &*issuer.name;
            let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
            let counts = &issuer.counts;
            for (outcome, total) in [
                ("accepted", count(&counts.accepted)),
                ("refused", count(&counts.refused)),
                ("without_keys", count(&counts.without_keys)),
            ] {
                raise(&self.tokens.with_label_values(&[name, outcome]), total);
            }
            let status = issuer.keys.status();
            for (outcome, total) in [("succeeded", status.succeeded), ("failed", status.failed)] {
                raise(&self.fetches.with_label_values(&[name, outcome]), total);
            }
            let usable = self.usable.with_label_values(&[name]);
            usable.set(status.is_usable.into());
        }
    }
}
