//! Findings about limits of callers and copies of requests.

use crate::rate_limit::budget_findings::BUDGET_USED;
use headgate_core::feature::findings::FeatureFindingDefinitions;
use headgate_core::finding::counter_rule::{CounterFindingRule, MINUTE, all, except, share};
use headgate_core::finding::{FindingArea, FindingSeverity};

pub(crate) const FINDINGS: FeatureFindingDefinitions = FeatureFindingDefinitions {
    sources: &[BUDGET_USED],
    rules: &[COPIES_FAILING, LIMITS_UNCHECKED],
    refusing: &[],
};

const COPIES_FAILING: CounterFindingRule = CounterFindingRule {
    alert: "HeadgateCopiesFailing",
    area: FindingArea::Services,
    code: "copies_failing",
    severity: FindingSeverity::Notice,
    labels: &["route"],
    faults: &[except(
        "headgate_mirrored_requests_total",
        "outcome",
        &["completed"],
    )],
    of: share(10.0, all("headgate_mirrored_requests_total", "outcome")),
    least: 3.0,
    window: MINUTE,
    subject: "route {0}",
    cause: "{n} of {of} copies of requests on route `{0}` were `{most}` within the last {within}; callers are not affected.",
    advice: "Failed copies have their error at the channel that gets them; dropped ones are above its bounds `concurrent` or wait for a channel in cool-down.",
};

const LIMITS_UNCHECKED: CounterFindingRule = CounterFindingRule {
    alert: "HeadgateLimitsUnchecked",
    area: FindingArea::Requests,
    code: "limits_unchecked",
    severity: FindingSeverity::Warning,
    labels: &["caller"],
    faults: &[all("headgate_limits_unchecked_total", "")],
    of: None,
    least: 1.0,
    window: MINUTE,
    subject: "caller {0}",
    cause: "{n} requests of caller `{0}` were not checked against its limits within the last {within}, because the state store was unreachable.",
    advice: "Repair the state store; set `on_store_failure: deny` if limits must hold in any case.",
};
