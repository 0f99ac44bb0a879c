//! Findings about callbacks: dead letters, receivers that fail, and events that wait for long.

use super::{CallbackCounters, CallbackWorkerQueue};
use headgate_core::feature::FeatureTypeMap;
use headgate_core::feature::findings::FindingDetector;
use headgate_core::finding::code::FindingCode;
use headgate_core::finding::counter_rule::{CounterFindingRule, MINUTES_5, MINUTES_15, only};
use headgate_core::finding::{FindingArea, FindingSeverity, LiveFinding};
use headgate_core::timestamp::rfc3339;
use std::time::Duration;

/// The age of an undelivered event that is reported.
const LATE_MIN: Duration = Duration::from_secs(600);
/// A failing receiver is reported for so long after the last attempt: retries are up to an hour apart.
const RECEIVER_SHOWN: Duration = Duration::from_secs(2 * 3600);
/// Number of receivers that are reported.
const RECEIVERS_MAX: usize = 5;

pub(crate) const DEAD_LETTERS: FindingDetector = FindingDetector {
    area: FindingArea::Process,
    alert: "HeadgateDeadLetters",
    code: FindingCode::new("dead_letters", FindingSeverity::Warning),
    find: |values| from_counters(values, dead_letters),
};

pub(crate) const FAILING_RECEIVERS: FindingDetector = FindingDetector {
    area: FindingArea::Services,
    alert: "HeadgateDeadLetters",
    code: FindingCode::new("receiver_failing", FindingSeverity::Warning),
    find: |values| from_counters(values, failing_receivers),
};

pub(crate) const LATE_DELIVERIES: FindingDetector = FindingDetector {
    area: FindingArea::Services,
    alert: "HeadgateDeliveriesLate",
    code: FindingCode::new("deliveries_late", FindingSeverity::Warning),
    find: |values| from_counters(values, late_deliveries),
};

pub(crate) const EVENTS_LOST: CounterFindingRule = CounterFindingRule {
    alert: "HeadgateEventsLost",
    area: FindingArea::Tasks,
    code: "events_lost",
    severity: FindingSeverity::Critical,
    labels: &[],
    faults: &[only("headgate_deliveries_total", "outcome", &["lost"])],
    of: None,
    least: 1.0,
    window: MINUTES_15,
    subject: "events",
    cause: "Events for callers were lost within the last {within} ({n} in all).",
    advice: "The process log has the reason, at level error. Callers must query these tasks themselves.",
};

pub(crate) const UNKNOWN_CALLBACKS: CounterFindingRule = CounterFindingRule {
    alert: "HeadgateCallbacksUnknown",
    area: FindingArea::Tasks,
    code: "callbacks_unknown",
    severity: FindingSeverity::Notice,
    labels: &[],
    faults: &[only(
        "headgate_callbacks_received_total",
        "result",
        &["unknown"],
    )],
    of: None,
    least: 10.0,
    window: MINUTES_5,
    subject: "callbacks of providers",
    cause: "{n} callbacks that belong to no task arrived within the last {within}.",
    advice: "They are forged, or later than the subscription lives: compare the addresses of their clients in the access log with those of the provider.",
};

pub(crate) const REFUSED_CALLBACKS: CounterFindingRule = CounterFindingRule {
    alert: "HeadgateCallbacksRefused",
    area: FindingArea::Tasks,
    code: "callbacks_refused",
    severity: FindingSeverity::Warning,
    labels: &[],
    faults: &[only(
        "headgate_callbacks_received_total",
        "result",
        &["refused"],
    )],
    of: None,
    least: 5.0,
    window: MINUTES_15,
    subject: "callbacks of providers",
    cause: "{n} callbacks without a valid signature arrived within the last {within}; their tasks are polled instead.",
    advice: "The lines `callback refused` of the process log have channel and reason: compare `callback_secrets` with the secret in the provider's account. If they are equal, somebody who knows the URLs forges callbacks.",
};

pub(crate) const CALLBACKS_WITHOUT_KEYS: CounterFindingRule = CounterFindingRule {
    alert: "HeadgateCallbackKeysUnavailable",
    area: FindingArea::Tasks,
    code: "callback_keys_unavailable",
    severity: FindingSeverity::Warning,
    labels: &[],
    faults: &[only(
        "headgate_callbacks_received_total",
        "result",
        &["no_keys"],
    )],
    of: None,
    least: 1.0,
    window: MINUTES_15,
    subject: "callbacks of providers",
    cause: "{n} callbacks could not be verified within the last {within}, since the keys of their providers could not be fetched; their tasks are polled instead.",
    advice: "The lines `keys of callbacks cannot be fetched` of the process log have URL and reason: permit this machine to connect there, or set another `callback.signature.jwks` in the family.",
};

fn from_counters<F: IntoIterator<Item = LiveFinding>>(
    values: &FeatureTypeMap,
    find: fn(&CallbackCounters) -> F,
) -> Vec<LiveFinding> {
    let queue = values.get::<CallbackWorkerQueue>();
    find(queue.counters()).into_iter().collect()
}

fn dead_letters(counters: &CallbackCounters) -> Option<LiveFinding> {
    let totals = counters.totals();
    (totals.dead > 0).then(|| LiveFinding {
        severity: FindingSeverity::Warning,
        code: "dead_letters",
        subject: "callbacks".into(),
        cause: format!(
            "{} events could not be delivered to their callback URLs within all attempts.",
            totals.dead
        ),
        advice:
            "Look at `GET /callbacks` for the receivers, and redrive the events once they respond."
                .into(),
    })
}

/// Receivers of events to which the last attempts failed.
fn failing_receivers(counters: &CallbackCounters) -> Vec<LiveFinding> {
    let failing = counters.failing_receivers().into_iter();
    let recent = failing.filter(|(_, failure)| {
        let ago = failure.last.elapsed().unwrap_or_default();
        ago <= RECEIVER_SHOWN
    });
    let findings = recent.take(RECEIVERS_MAX).map(|(receiver, failure)| LiveFinding {
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

fn late_deliveries(counters: &CallbackCounters) -> Option<LiveFinding> {
    let totals = counters.totals();
    let oldest = Duration::from_millis(totals.oldest_ms);
    (totals.pending > 0 && oldest > LATE_MIN).then(|| LiveFinding {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callbacks::StoredDeliveryTotals;

    fn counters(pending: u64, dead: u64, oldest: Duration) -> CallbackCounters {
        let counters = CallbackCounters::default();
        counters.set_totals(StoredDeliveryTotals {
            pending,
            dead,
            oldest_ms: oldest.as_millis() as u64,
        });
        counters
    }

    #[test]
    fn dead_letters_are_a_finding_until_they_are_redriven() {
        let found = dead_letters(&counters(0, 2, Duration::ZERO)).expect("a finding");
        assert!(found.cause.starts_with("2 events "), "{}", found.cause);
        assert_eq!(dead_letters(&counters(3, 0, LATE_MIN * 2)), None);
    }

    #[test]
    fn events_are_late_after_ten_minutes() {
        assert_eq!(late_deliveries(&counters(3, 0, LATE_MIN)), None);
        let found = late_deliveries(&counters(3, 0, LATE_MIN * 2)).expect("a finding");
        let expected = "The oldest of 3 undelivered events has waited 20 minutes.";
        assert_eq!(found.cause, expected);
        assert_eq!(late_deliveries(&counters(0, 3, LATE_MIN * 2)), None);
    }

    #[test]
    fn a_receiver_is_reported_from_its_first_failure_until_it_accepts_an_event() {
        let counters = CallbackCounters::default();
        counters.receiver_failed("https://one.example", "ann", "status 500");
        counters.receiver_failed("https://one.example", "ann", "status 503");
        let found = failing_receivers(&counters);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].subject, "receiver https://one.example");
        let cause = &found[0].cause;
        assert!(cause.contains("2 failed attempts since "), "{cause}");
        assert!(cause.ends_with("because: status 503."), "{cause}");
        counters.receiver_accepted("https://one.example");
        assert_eq!(failing_receivers(&counters), []);
    }
}
