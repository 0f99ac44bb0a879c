//! Events as receivers get them: JSON, in the form of the Standard Webhooks specification.

use headgate_core::finding::{FindingSeverity, LiveFinding};
use headgate_core::random::random_hex;
use headgate_core::timestamp::rfc3339_seconds;
use serde_json::{Value, json};
use std::time::SystemTime;

/// A change of the findings of this gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FindingChange {
    Began(LiveFinding),
    /// It was absent for a minute.
    Over {
        severity: FindingSeverity,
        code: &'static str,
        subject: String,
    },
}

impl FindingChange {
    /// The code and the severity by which receivers choose.
    pub fn choice(&self) -> (&'static str, FindingSeverity) {
        match self {
            Self::Began(finding) => (finding.code, finding.severity),
            Self::Over { code, severity, .. } => (code, *severity),
        }
    }

    /// The body of the event. `gateway` tells the gateways of a fleet apart.
    pub fn body(&self, gateway: &str) -> String {
        let (kind, data) = match self {
            Self::Began(finding) => ("finding.began", finding.json()),
            Self::Over {
                severity,
                code,
                subject,
            } => (
                "finding.over",
                json!({"severity": severity.name(), "code": code, "subject": subject}),
            ),
        };
        event_body(kind, gateway, data)
    }
}

/// The body of an event by which an operator tries a receiver.
pub(crate) fn test_body(gateway: &str) -> String {
    let cause = "An operator tries the alerts.";
    event_body("test", gateway, json!({"cause": cause}))
}

/// An id that no other event has.
pub(crate) fn event_id() -> String {
    format!("evt_{}", random_hex(4))
}

fn event_body(kind: &str, gateway: &str, data: Value) -> String {
    let time = rfc3339_seconds(SystemTime::now());
    // Chat services show the member `text` of a webhook.
    let text = data["cause"].as_str().map(str::to_owned);
    let text = text.unwrap_or_else(|| {
        let name = |member: &str| data[member].as_str().unwrap_or_default().to_owned();
        format!("`{}` of {} is over.", name("code"), name("subject"))
    });
    json!({"type": kind, "timestamp": time, "gateway": gateway, "text": text, "data": data})
        .to_string()
}
