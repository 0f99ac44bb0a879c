//! Receivers of alerts as built.

use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::catalog::webhook_secret::CallerDeliverySigningKey;
use headgate_core::finding::FindingSeverity;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All receivers, by name.
#[derive(Default)]
pub(crate) struct AlertReceivers(pub BTreeMap<String, Arc<AlertReceiver>>);

/// Who gets alerts.
pub(crate) struct AlertReceiver {
    /// May contain a secret.
    pub url: String,
    pub secret: Option<CallerDeliverySigningKey>,
    /// The least severe finding that is sent.
    pub severity: FindingSeverity,
    /// Codes of the findings that are sent; empty for all.
    pub codes: Vec<String>,
    /// Lets the gateway connect to the host of the URL, and nowhere else: the operator has written it.
    pub egress: EgressPolicy,
}

impl AlertReceiver {
    /// Whether it gets findings of a code and a severity.
    pub fn wants(&self, code: &str, severity: FindingSeverity) -> bool {
        let has_code = self.codes.is_empty() || self.codes.iter().any(|wanted| wanted == code);
        // The most severe one is the least.
        has_code && severity <= self.severity
    }
}
