//! Findings about what the gateway depends on beside channels: services, parts of features, file descriptors.

use super::feature_findings;
use crate::AdminApp;
use headgate_core::finding::{FindingArea, FindingSeverity, LiveFinding};
use headgate_observe::process_metrics::FileDescriptorUsage;

/// The share of file descriptors in use that is reported, in percent.
const DESCRIPTORS_PERCENT: u64 = 80;
pub(super) fn findings(app: &AdminApp) -> Vec<LiveFinding> {
    let mut findings = open_breakers(app);
    findings.extend(feature_findings(app, |area| area != FindingArea::Process));
    findings.extend(FileDescriptorUsage::read().and_then(few_descriptors));
    findings
}

/// Services that are not called, because too many calls failed.
fn open_breakers(app: &AdminApp) -> Vec<LiveFinding> {
    let snapshot = app.reloader.current();
    let open = snapshot.services.iter().filter(|service| service.is_open());
    let findings = open.map(|service| LiveFinding {
        severity: FindingSeverity::Warning,
        code: "service_failing",
        subject: format!("service {}", service.name),
        cause: format!(
            "Service `{}` is not called, because its last calls failed (its circuit breaker is open).",
            service.name
        ),
        advice: "Check the service at its `url`; it is called again by itself. `on_failure` of the filter decides whether requests continue or are refused meanwhile.".into(),
    });
    findings.collect()
}

/// Few file descriptors are left.
fn few_descriptors(files: FileDescriptorUsage) -> Option<LiveFinding> {
    let FileDescriptorUsage { open, max } = files;
    (open * 100 >= max * DESCRIPTORS_PERCENT).then(|| LiveFinding {
        severity: FindingSeverity::Warning,
        code: "file_descriptors",
        subject: "process".into(),
        cause: format!(
            "The process has {open} of {max} file descriptors in use; connections wait when none is left."
        ),
        advice: "Raise the limit (`ulimit -n`, or LimitNOFILE of systemd), or lower `server.limits.connections`.".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_descriptors_are_reported_from_four_fifths_of_their_limit() {
        let found = |open| few_descriptors(FileDescriptorUsage { open, max: 1000 });
        assert_eq!(found(799), None);
        let found = found(800).expect("a finding");
        assert!(found.cause.contains("800 of 1000"), "{}", found.cause);
    }
}
