//! Metrics of translations between protocols.

use headgate_core::feature::metrics::registered;
use prometheus::{IntCounterVec, Opts, Registry};

/// Translations, and what they did not carry exactly, by the protocols of caller and channel.
pub struct TranslationMetrics {
    exchanges: IntCounterVec,
    losses: IntCounterVec,
}

impl TranslationMetrics {
    pub fn new(registry: &Registry) -> Self {
        let exchanges = Opts::new(
            "headgate_translations_total",
            "Requests that were translated into the protocol of their channel.",
        );
        let losses = Opts::new(
            "headgate_translation_losses_total",
            "Members of requests and responses that a translation did not carry exactly, by what became of them.",
        );
        Self {
            exchanges: registered(registry, IntCounterVec::new(exchanges, &["pair"])),
            losses: registered(
                registry,
                IntCounterVec::new(losses, &["pair", "side", "outcome"]),
            ),
        }
    }

    /// Counts a finished exchange; of `losses`, each has a side, an outcome and a number of members.
    pub fn count<'l>(&self, pair: &str, losses: impl Iterator<Item = (&'l str, &'l str, u64)>) {
        self.exchanges.with_label_values(&[pair]).inc();
        for (side, outcome, members) in losses {
            let labels = [pair, side, outcome];
            self.losses.with_label_values(&labels).inc_by(members);
        }
    }
}
