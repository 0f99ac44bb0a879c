//! Logs findings when they appear and when they are over, so that the log shows afterwards what the pages showed.

use crate::AdminApp;
use headgate_core::feature::FeatureTypeMap;
use headgate_core::feature::finding_listener::FindingListener;
use headgate_core::finding::{FindingSeverity, LiveFinding};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A finding that was absent for so long is over. One that comes and goes is not logged each time.
const ABSENT_MIN: Duration = Duration::from_secs(60);
/// Number of findings that one look logs; the pages have all.
const LINES_MAX: usize = 20;

/// Logs findings, and passes them to what listens.
pub struct FindingChangeLogger {
    app: AdminApp,
    present: PresentFindings,
    listeners: Vec<Arc<dyn FindingListener>>,
}

/// The announced findings that are not over yet, by their codes and keys.
#[derive(Default)]
struct PresentFindings(HashMap<(&'static str, String), PresentFinding>);

/// A finding that was announced and is not over yet.
struct PresentFinding {
    /// The most severe one that was announced.
    severity: FindingSeverity,
    last: Instant,
}

/// A finding that is over.
#[derive(Debug, PartialEq, Eq)]
struct EndedFinding {
    code: &'static str,
    key: String,
}

impl FindingChangeLogger {
    /// `shared` is what features share between snapshots.
    pub fn new(app: AdminApp, shared: &FeatureTypeMap) -> Self {
        Self {
            listeners: app.features.finding_listeners(shared),
            app,
            present: PresentFindings::default(),
        }
    }

    /// Logs which findings are new or more severe than before, and which are over.
    pub fn look(&mut self) {
        self.app.findings.read_counters(&self.app);
        let findings = super::all(&self.app);
        let (new, over) = self.present.update(&findings, Instant::now());
        for finding in new.iter().take(LINES_MAX) {
            write_line(finding);
        }
        let left = new.len().saturating_sub(LINES_MAX);
        if left > 0 {
            tracing::warn!(count = left, "more findings not logged; see GET /findings");
        }
        for EndedFinding { code, key, .. } in over.iter().take(LINES_MAX) {
            tracing::info!(code, subject = key, "finding is over");
        }
        for listener in &self.listeners {
            new.iter()
                .for_each(|finding| listener.finding_began(finding));
            for ended in &over {
                listener.finding_over(ended.code, &ended.key);
            }
        }
    }
}

impl PresentFindings {
    /// Returns the findings that were not there before or have become more severe than ever, and those that are over.
    fn update<'f>(
        &mut self,
        findings: &'f [LiveFinding],
        now: Instant,
    ) -> (Vec<&'f LiveFinding>, Vec<EndedFinding>) {
        let mut new = Vec::new();
        for finding in findings {
            let severity = finding.severity;
            match self.0.entry((finding.code, finding.key())) {
                Entry::Vacant(entry) => {
                    entry.insert(PresentFinding {
                        severity,
                        last: now,
                    });
                    new.push(finding);
                }
                Entry::Occupied(mut entry) => {
                    let known = entry.get_mut();
                    known.last = now;
                    // The most severe one is the least.
                    if severity < known.severity {
                        known.severity = severity;
                        new.push(finding);
                    }
                }
            }
        }
        let is_over = |last: Instant| now.saturating_duration_since(last) >= ABSENT_MIN;
        let over = self.0.extract_if(|_, known| is_over(known.last));
        let over = over.map(|((code, key), _)| EndedFinding { code, key });
        (new, over.collect())
    }
}

fn write_line(finding: &LiveFinding) {
    let LiveFinding {
        severity,
        code,
        subject,
        cause,
        advice,
    } = finding;
    let (severity, subject, cause, advice) = (severity.name(), &**subject, &**cause, &**advice);
    match finding.severity {
        FindingSeverity::Notice => {
            tracing::info!(severity, code, subject, cause, advice, "finding");
        }
        FindingSeverity::Warning | FindingSeverity::Critical => {
            tracing::warn!(severity, code, subject, cause, advice, "finding");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(code: &'static str, subject: &str) -> LiveFinding {
        LiveFinding {
            severity: FindingSeverity::Warning,
            code,
            subject: subject.into(),
            cause: String::new(),
            advice: String::new(),
        }
    }

    #[test]
    fn a_finding_is_new_once_and_over_after_a_minute_of_absence() {
        let (mut present, start) = (PresentFindings::default(), Instant::now());
        let mut update = |seconds: u64, findings: &[LiveFinding]| {
            let (new, over) = present.update(findings, start + Duration::from_secs(seconds));
            let new = new.iter().map(|finding| finding.subject.clone()).collect();
            let over = over.into_iter().map(|ended| ended.key).collect();
            (new, over)
        };
        let names =
            |names: &[&str]| -> Vec<String> { names.iter().map(|name| name.to_string()).collect() };
        let (main, second) = (finding("unhealthy", "main"), finding("unhealthy", "second"));
        for (seconds, findings, new, over) in [
            (
                0,
                vec![finding("unhealthy", "main")],
                names(&["main"]),
                names(&[]),
            ),
            (5, vec![main, second], names(&["second"]), names(&[])),
            (
                10,
                vec![finding("unhealthy", "main")],
                names(&[]),
                names(&[]),
            ),
            (
                20,
                vec![finding("unhealthy", "second")],
                names(&[]),
                names(&[]),
            ),
            (
                70,
                vec![finding("unhealthy", "second")],
                names(&[]),
                names(&["main"]),
            ),
            (
                75,
                vec![finding("unhealthy", "main")],
                names(&["main"]),
                names(&[]),
            ),
        ] {
            assert_eq!(update(seconds, &findings), (new, over), "after {seconds} s");
        }
    }

    #[test]
    fn a_finding_that_becomes_more_severe_is_new_again_and_over_once() {
        use FindingSeverity::{Critical, Notice, Warning};
        let cases: [(&str, &[FindingSeverity], &[FindingSeverity]); 4] = [
            (
                "up",
                &[Notice, Warning, Critical],
                &[Notice, Warning, Critical],
            ),
            ("down", &[Critical, Warning, Notice], &[Critical]),
            (
                "up again",
                &[Warning, Critical, Warning, Critical],
                &[Warning, Critical],
            ),
            ("up from below", &[Warning, Notice, Warning], &[Warning]),
        ];
        for (name, severities, announced) in cases {
            let (mut present, start) = (PresentFindings::default(), Instant::now());
            let mut found = Vec::new();
            for (seconds, severity) in (0..).zip(severities) {
                let finding = LiveFinding {
                    severity: *severity,
                    ..finding("certificate_expires", "server.tls")
                };
                let now = start + Duration::from_secs(seconds);
                let (new, over) = present.update(std::slice::from_ref(&finding), now);
                found.extend(new.iter().map(|finding| finding.severity));
                assert!(over.is_empty(), "{name}: {over:?}");
            }
            assert_eq!(found, announced, "{name}");
            let (_, over) = present.update(&[], start + Duration::from_secs(99));
            assert_eq!(over.len(), 1, "{name}");
        }
    }

    #[test]
    fn requests_that_wait_one_after_the_other_are_one_finding() {
        let mut present = PresentFindings::default();
        let now = Instant::now();
        let first = [finding("client_silent", "request req_1")];
        let second = [finding("client_silent", "request req_2")];
        assert_eq!(present.update(&first, now).0.len(), 1);
        assert_eq!(present.update(&second, now).0.len(), 0);
    }
}
