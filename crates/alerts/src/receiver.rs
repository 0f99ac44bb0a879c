//! Receivers of alerts as built.

use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::catalog::webhook_secret::CallerDeliverySigningKey;
use headgate_core::finding::FindingSeverity;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All receivers.
#[derive(Default)]
pub(crate) struct AlertReceivers {
    pub by_name: BTreeMap<String, Arc<AlertReceiver>>,
    /// The name of this gateway in events.
    pub gateway: String,
    /// `server.listen`, which tells the gateways of one machine apart.
    pub listen: String,
}

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

#[cfg(test)]
impl AlertReceivers {
    /// Receivers whose URLs are their names, each with the least severe finding that it wants.
    pub fn for_tests(wanted: &[(&str, FindingSeverity)]) -> Self {
        let receiver = |(name, severity): &(&str, FindingSeverity)| AlertReceiver {
            url: name.to_string(),
            secret: None,
            severity: *severity,
            codes: Vec::new(),
            egress: EgressPolicy {
                allowed: Vec::new(),
                proxy: None,
            },
        };
        let wanted = wanted.iter();
        let by_name = wanted.map(|one| (one.0.to_owned(), Arc::new(receiver(one))));
        Self {
            by_name: by_name.collect(),
            gateway: "gate-2".into(),
            listen: "127.0.0.1:8080".into(),
        }
    }
}
