//! Metrics of the credentials that servers issue for channels.

use headgate_core::feature::metrics::registered;
use prometheus::{IntGaugeVec, Opts, Registry};
use std::time::Duration;

/// How long credentials are valid, and whether they can be fetched.
pub struct CredentialMetrics {
    valid: IntGaugeVec,
    failing: IntGaugeVec,
}

/// A credential as it is now.
pub struct CredentialSample<'c> {
    pub channel: &'c str,
    /// The index in the channel, from 1.
    pub index: usize,
    /// `None` if there is no valid one.
    pub valid_for: Option<Duration>,
    /// Whether the last fetch failed.
    pub is_failing: bool,
}

impl CredentialMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        let gauge = |name, help| {
            let labels = &["channel", "credential"];
            registered(registry, IntGaugeVec::new(Opts::new(name, help), labels))
        };
        Self {
            valid: gauge(
                "headgate_credential_valid_seconds",
                "Seconds for which a credential that a server issued is still valid, by the index of the credential in the channel; 0 if there is none.",
            ),
            failing: gauge(
                "headgate_credential_fetch_failing",
                "1 while the server of a credential issues none, by the index of the credential in the channel, else 0.",
            ),
        }
    }

    /// Sets the credentials of all channels; others have none then.
    pub fn update<'c>(&self, credentials: impl IntoIterator<Item = CredentialSample<'c>>) {
        self.valid.reset();
        self.failing.reset();
        for sample in credentials {
            let index = sample.index.to_string();
            let labels = [sample.channel, &index];
            let seconds = sample.valid_for.unwrap_or_default().as_secs();
            let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
            self.valid.with_label_values(&labels).set(seconds);
            let failing = self.failing.with_label_values(&labels);
            failing.set(i64::from(sample.is_failing));
        }
    }
}
