//! Events as receivers get them: JSON, in the form of the Standard Webhooks specification.

use headgate_core::finding::{FindingSeverity, LiveFinding};
use headgate_core::random::random_hex;
use headgate_core::state::calendar::unix_ms;
use headgate_core::timestamp::rfc3339_seconds;
use serde_json::{Value, json};
use std::time::SystemTime;

/// How long an event is kept: longer than it is tried.
const KEPT_MS: u64 = 25 * 60 * 60 * 1000;

/// A change of the findings of this gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FindingChange {
    /// A finding began, or became more severe.
    Began(LiveFinding),
    /// It was absent for a minute.
    Over {
        code: &'static str,
        /// As [`LiveFinding::key`] has it.
        key: String,
    },
}

/// An event for a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AlertEvent {
    /// What no other event has; the same for all attempts to store and to deliver it.
    pub id: String,
    /// The name of the receiver.
    pub receiver: String,
    /// JSON text.
    pub body: String,
    /// Attempts that failed.
    pub attempts: u32,
    /// When it is delivered or tried again, in Unix milliseconds.
    pub due_ms: u64,
    /// When it is given up, in Unix milliseconds.
    pub expires_ms: u64,
}

impl AlertEvent {
    /// An event that is due now.
    pub fn new(receiver: &str, body: String) -> Self {
        let now_ms = unix_ms();
        Self {
            id: format!("evt_{}", random_hex(4)),
            receiver: receiver.to_owned(),
            body,
            attempts: 0,
            due_ms: now_ms,
            expires_ms: now_ms + KEPT_MS,
        }
    }
}

/// The body of an event about a finding that began. `gateway` tells the gateways of a fleet apart.
pub(crate) fn began_body(gateway: &str, finding: &LiveFinding) -> String {
    event_body("finding.began", gateway, finding.json())
}

/// The body of an event about a finding that is over, with the most severe one that was sent.
pub(crate) fn over_body(
    gateway: &str,
    severity: FindingSeverity,
    code: &str,
    subject: &str,
) -> String {
    let data = json!({"severity": severity.name(), "code": code, "subject": subject});
    event_body("finding.over", gateway, data)
}

/// The body of an event by which an operator tries a receiver.
pub(crate) fn test_body(gateway: &str) -> String {
    let cause = "An operator tries the alerts.";
    event_body("test", gateway, json!({"cause": cause}))
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
