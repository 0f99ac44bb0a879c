//! The findings that receivers know of: who gets an event when one begins, becomes more severe, or is over.

use crate::event::{AlertEvent, FindingChange, began_body, over_body};
use crate::receiver::AlertReceivers;
use headgate_core::finding::{FindingSeverity, LiveFinding};
use serde::{Deserialize, Serialize};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// A finding of an earlier process that this one has not found for so long is over: the minute of absence, and the time
/// until the first look at the findings.
const ABSENT_MIN: Duration = Duration::from_secs(70);
/// Findings that are remembered; events about others are not sent.
const FINDINGS_MAX: usize = 300;

/// The findings that were sent and are not over yet, by their codes and keys.
#[derive(Default)]
pub(crate) struct AnnouncedFindings {
    findings: BTreeMap<FindingId, AnnouncedFinding>,
    /// When the findings of an earlier process were read.
    restored: Option<Instant>,
    is_changed: bool,
}

/// The code of a finding, and its key.
type FindingId = (String, String);

/// A finding as receivers know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AnnouncedFinding {
    /// The most severe one that was sent.
    severity: FindingSeverity,
    /// As it was sent.
    subject: String,
    /// Who got it.
    receivers: BTreeSet<String>,
    /// Whether an earlier process has sent it, and this one has not found it yet.
    #[serde(skip)]
    is_restored: bool,
}

/// The form in which findings are stored.
#[derive(Serialize, Deserialize)]
struct StoredFinding {
    code: String,
    key: String,
    #[serde(flatten)]
    finding: AnnouncedFinding,
}

impl AnnouncedFindings {
    /// The events about a change. Who got one when the finding began gets one when it is over.
    pub fn apply(&mut self, change: &FindingChange, receivers: &AlertReceivers) -> Vec<AlertEvent> {
        match change {
            FindingChange::Began(finding) => self.begin(finding, receivers),
            FindingChange::Over { code, key } => {
                self.end(&((*code).to_owned(), key.clone()), receivers)
            }
        }
    }

    /// The events about findings of an earlier process that this one does not find.
    pub fn end_absent(&mut self, receivers: &AlertReceivers, now: Instant) -> Vec<AlertEvent> {
        let restored = self.restored;
        if restored.is_none_or(|restored| now.saturating_duration_since(restored) < ABSENT_MIN) {
            return Vec::new();
        }
        self.restored = None;
        let absent = self.findings.iter().filter(|(_, known)| known.is_restored);
        let absent: Vec<FindingId> = absent.map(|(id, _)| id.clone()).collect();
        absent
            .iter()
            .flat_map(|id| self.end(id, receivers))
            .collect()
    }

    /// Adds what an earlier process has stored. Returns `false` if it cannot be read.
    pub fn restore(&mut self, stored: &[u8], now: Instant) -> bool {
        let Ok(stored) = serde_json::from_slice::<Vec<StoredFinding>>(stored) else {
            return false;
        };
        self.restored = Some(now);
        for StoredFinding { code, key, finding } in stored {
            let has_place = self.findings.len() < FINDINGS_MAX;
            match self.findings.entry((code, key)) {
                Entry::Occupied(mut entry) => {
                    let known = entry.get_mut();
                    known.severity = known.severity.min(finding.severity);
                    known.receivers.extend(finding.receivers);
                }
                Entry::Vacant(entry) if has_place => {
                    entry.insert(AnnouncedFinding {
                        is_restored: true,
                        ..finding
                    });
                }
                Entry::Vacant(_) => {}
            }
        }
        true
    }

    /// The form in which they are stored: JSON text of at most so many bytes, which may leave out findings.
    pub fn encode(&self, bytes_max: usize) -> Vec<u8> {
        let stored = self
            .findings
            .iter()
            .map(|((code, key), finding)| StoredFinding {
                code: code.clone(),
                key: key.clone(),
                finding: finding.clone(),
            });
        let mut stored: Vec<StoredFinding> = stored.collect();
        loop {
            let text = serde_json::to_vec(&stored).expect("findings are JSON");
            if text.len() <= bytes_max || stored.is_empty() {
                return text;
            }
            stored.truncate(stored.len() / 2);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Whether what is stored is out of date.
    pub fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Notes that they are stored as they are.
    pub fn set_stored(&mut self) {
        self.is_changed = false;
    }

    fn begin(&mut self, finding: &LiveFinding, receivers: &AlertReceivers) -> Vec<AlertEvent> {
        let id = (finding.code.to_owned(), finding.key());
        if !self.findings.contains_key(&id) && self.findings.len() >= FINDINGS_MAX {
            tracing::warn!(
                code = finding.code,
                subject = finding.subject,
                "alert not sent: too many findings are there"
            );
            return Vec::new();
        }
        let severity = finding.severity;
        let known = self.findings.entry(id).or_insert_with(|| AnnouncedFinding {
            severity,
            subject: finding.subject.clone(),
            receivers: BTreeSet::new(),
            is_restored: false,
        });
        known.is_restored = false;
        // The most severe one is the least.
        let is_rise = severity < known.severity;
        if is_rise {
            known.severity = severity;
            known.subject.clone_from(&finding.subject);
        }
        let mut events = Vec::new();
        for (name, receiver) in &receivers.by_name {
            let is_known = known.receivers.contains(name) && !is_rise;
            if !is_known && receiver.wants(finding.code, severity) {
                known.receivers.insert(name.clone());
                events.push(AlertEvent::new(
                    name,
                    began_body(&receivers.gateway, finding),
                ));
            }
        }
        self.is_changed = true;
        events
    }

    fn end(&mut self, id: &FindingId, receivers: &AlertReceivers) -> Vec<AlertEvent> {
        let Some(known) = self.findings.remove(id) else {
            return Vec::new();
        };
        self.is_changed = true;
        let is_configured = |name: &&String| receivers.by_name.contains_key(*name);
        let informed = known.receivers.iter().filter(is_configured);
        let event = |name: &String| {
            let body = over_body(&receivers.gateway, known.severity, &id.0, &known.subject);
            AlertEvent::new(name, body)
        };
        informed.map(event).collect()
    }
}

#[cfg(test)]
mod tests;
