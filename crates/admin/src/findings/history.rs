//! What findings need of the past: counters as they were, and findings that come and go with each request.

use super::counter_history::CounterHistory;
use crate::AdminApp;
use headgate_core::feature::FeatureList;
use headgate_core::finding::LiveFinding;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The past of the findings of a process.
pub struct StatefulFindingSources {
    counters: Mutex<CounterHistory>,
    /// The findings of the counters when they were last read.
    of_rules: Mutex<Vec<LiveFinding>>,
    passing: Mutex<LingeringFindings>,
}

/// Findings that come and go, by code and subject, with the time when they were last true.
#[derive(Default)]
struct LingeringFindings(HashMap<(&'static str, String), (LiveFinding, Instant)>);

impl StatefulFindingSources {
    /// Counters start at zero with the process.
    pub fn new(features: FeatureList) -> Self {
        Self {
            counters: Mutex::new(CounterHistory::new(features, Instant::now())),
            of_rules: Mutex::default(),
            passing: Mutex::default(),
        }
    }

    /// Reads the counters. Called every few seconds, also if nobody looks at the pages.
    pub(super) fn read_counters(&self, app: &AdminApp) {
        // Usage is settled also where nobody reads metrics.
        app.metrics.update_features();
        let counters = app.metrics.fault_counters();
        let found = lock(&self.counters).findings(&counters, Instant::now());
        *lock(&self.of_rules) = found;
    }

    /// The findings of the counters.
    pub(super) fn counter_findings(&self) -> Vec<LiveFinding> {
        lock(&self.of_rules).clone()
    }

    /// Adds the findings that were true a moment ago and come and go.
    pub(super) fn add_passing(&self, findings: &mut Vec<LiveFinding>) {
        lock(&self.passing).extend(findings, Instant::now());
    }
}

impl LingeringFindings {
    fn extend(&mut self, findings: &mut Vec<LiveFinding>, now: Instant) {
        for finding in &*findings {
            if hold_time(finding.code).is_some() {
                let name = (finding.code, finding.key());
                self.0.insert(name, (finding.clone(), now));
            }
        }
        self.0.retain(|(code, _), (_, last)| {
            hold_time(code).is_some_and(|hold| now.saturating_duration_since(*last) < hold)
        });
        let gone = self.0.values().filter(|(_, last)| *last < now);
        findings.extend(gone.map(|(finding, _)| finding.clone()));
    }
}

/// How long a finding is shown after it was last true; `None` for one that does not change with each request.
fn hold_time(code: &str) -> Option<Duration> {
    match code {
        // Shares of the requests in flight, which begin and end all the time.
        "caller_holds" => Some(Duration::from_secs(30)),
        "channel_at_limit" | "upstream_silent" => Some(Duration::from_secs(10)),
        // Shares of the last minute.
        "upstream_errors" | "gateway_errors" | "caller_errors" | "rate_limited"
        | "caller_dominates" | "slow_upstream" | "slow_callers" | "slow_gateway" => {
            Some(Duration::from_secs(10))
        }
        _ => None,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::finding::FindingSeverity;

    fn finding(code: &'static str) -> LiveFinding {
        LiveFinding {
            severity: FindingSeverity::Notice,
            code,
            subject: "caller ann".into(),
            cause: String::new(),
            advice: String::new(),
        }
    }

    #[test]
    fn a_finding_that_comes_and_goes_is_shown_without_a_break() {
        let (mut passing, start) = (LingeringFindings::default(), Instant::now());
        let mut shown = |seconds: u64, current: &[&'static str]| {
            let mut findings = current.iter().map(|code| finding(code)).collect();
            passing.extend(&mut findings, start + Duration::from_secs(seconds));
            findings
                .iter()
                .map(|finding| finding.code)
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(0, &["caller_holds"]), ["caller_holds"]);
        for second in 1..30 {
            assert_eq!(shown(second, &[]), ["caller_holds"]);
        }
        assert_eq!(shown(29, &["caller_holds"]), ["caller_holds"]);
        assert_eq!(shown(58, &[]), ["caller_holds"]);
        assert_eq!(shown(59, &[]), Vec::<&str>::new());
        // An operator ends a drain, and sees at once that it is over.
        assert_eq!(shown(60, &["channel_drained"]), ["channel_drained"]);
        assert_eq!(shown(61, &[]), Vec::<&str>::new());
    }
}
