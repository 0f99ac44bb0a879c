//! Findings about what the gateway depends on beside channels: services, plugins, receivers of callbacks, descriptors.

use super::{Finding, FindingSeverity};
use crate::AdminApp;
use headgate_observe::process_metrics::FileDescriptors;
use headgate_observe::timestamp::rfc3339;
use headgate_plugins::SharedPlugins;
use headgate_video::callbacks::CallbackQueue;
use std::time::Duration;

/// The share of file descriptors in use that is reported, in percent.
const DESCRIPTORS_PERCENT: u64 = 80;
/// The age of an undelivered event that is reported.
const LATE_MIN: Duration = Duration::from_secs(600);
/// A failing receiver is reported for so long after the last attempt: retries are up to an hour apart.
const RECEIVER_SHOWN: Duration = Duration::from_secs(2 * 3600);
/// Number of receivers that are reported.
const RECEIVERS_MAX: usize = 5;

pub(super) fn findings(app: &AdminApp) -> Vec<Finding> {
    let mut findings = open_breakers(app);
    findings.extend(disabled_plugins(app));
    findings.extend(failing_receivers(app));
    findings.extend(late_deliveries(app));
    findings.extend(FileDescriptors::read().and_then(few_descriptors));
    findings
}

/// Services that are not called, because too many calls failed.
fn open_breakers(app: &AdminApp) -> Vec<Finding> {
    let snapshot = app.reloader.current();
    let open = snapshot.services.iter().filter(|service| service.is_open());
    let findings = open.map(|service| Finding {
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

#[cfg(feature = "wasm")]
fn disabled_plugins(app: &AdminApp) -> Vec<Finding> {
    let plugins = app
        .reloader
        .features()
        .get::<SharedPlugins>()
        .in_use()
        .into_iter();
    let disabled = plugins.filter_map(|plugin| {
        let left = plugin.status().disabled_for?;
        Some(Finding {
            severity: FindingSeverity::Warning,
            code: "plugin_failing",
            subject: format!("plugin {}", plugin.name()),
            cause: format!(
                "Plugin `{}` is disabled for another {} s after repeated failures.",
                plugin.name(),
                left.as_secs() + 1
            ),
            advice: "The lines `plugin failed` of the process log have the error. `on_failure` of the filter decides whether requests continue or are refused meanwhile.".into(),
        })
    });
    disabled.collect()
}

#[cfg(not(feature = "wasm"))]
fn disabled_plugins(_: &AdminApp) -> Vec<Finding> {
    Vec::new()
}

/// Receivers of events to which the last attempts failed.
fn failing_receivers(app: &AdminApp) -> Vec<Finding> {
    let failing = app
        .reloader
        .features()
        .get::<CallbackQueue>()
        .counters()
        .failing_receivers();
    let recent = failing.into_iter().filter(|(_, failure)| {
        let ago = failure.last.elapsed().unwrap_or_default();
        ago <= RECEIVER_SHOWN
    });
    let findings = recent.take(RECEIVERS_MAX).map(|(receiver, failure)| Finding {
        severity: FindingSeverity::Warning,
        code: "receiver_failing",
        subject: format!("receiver {receiver}"),
        cause: format!(
            "Events of caller `{}` cannot be delivered to `{receiver}`: {} failed attempts since {}, the last one because: {}.",
            failure.caller,
            failure.failed_attempts,
            rfc3339(failure.since),
            failure.error
        ),
        advice: "Inform the caller, whose receiver must respond with a status of 2xx; attempts are repeated, and then the events become dead letters, see `GET /callbacks`.".into(),
    });
    findings.collect()
}

fn late_deliveries(app: &AdminApp) -> Option<Finding> {
    let totals = app
        .reloader
        .features()
        .get::<CallbackQueue>()
        .counters()
        .totals();
    let oldest = Duration::from_millis(totals.oldest_ms);
    (totals.pending > 0 && oldest > LATE_MIN).then(|| Finding {
        severity: FindingSeverity::Warning,
        code: "deliveries_late",
        subject: "deliveries".into(),
        cause: format!(
            "The oldest of {} undelivered events has waited {} minutes.",
            totals.pending,
            oldest.as_secs() / 60
        ),
        advice: "Look at the failing receivers and at `GET /callbacks`; the lines `callback` of the process log have the error of each attempt.".into(),
    })
}

/// Few file descriptors are left.
fn few_descriptors(files: FileDescriptors) -> Option<Finding> {
    let FileDescriptors { open, max } = files;
    (open * 100 >= max * DESCRIPTORS_PERCENT).then(|| Finding {
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
        let of = |open| few_descriptors(FileDescriptors { open, max: 1000 });
        assert_eq!(of(799), None);
        let found = of(800).expect("a finding");
        assert!(found.cause.contains("800 of 1000"), "{}", found.cause);
    }
}
