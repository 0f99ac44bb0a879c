//! Findings about paid creates.

use headgate_core::feature::findings::FeatureFindingDefinitions;
use headgate_core::finding::counter_rule::{CounterFindingRule, MINUTES_5, MINUTES_15, only};
use headgate_core::finding::{FindingArea, FindingSeverity};

pub(crate) const FINDINGS: FeatureFindingDefinitions = FeatureFindingDefinitions {
    sources: &[],
    rules: &[UNKNOWN_OUTCOMES, CREATES_NOT_STORED],
    refusing: &[CREATES_NOT_STORED.code],
};

const UNKNOWN_OUTCOMES: CounterFindingRule = CounterFindingRule {
    alert: "HeadgateCreatesUnknown",
    area: FindingArea::Tasks,
    code: "creates_unknown",
    severity: FindingSeverity::Warning,
    labels: &["route"],
    faults: &[only(
        "headgate_paid_creates_total",
        "end",
        &["outcome_unknown"],
    )],
    of: None,
    least: 1.0,
    window: MINUTES_15,
    subject: "route {0}",
    cause: "{n} paid creates on route `{0}` ended with an unknown outcome within the last {within}; the provider may have billed them.",
    advice: "Run `headgate task unknown`, compare the request ids with the provider's console, and settle each create by `headgate task settle`.",
};

const CREATES_NOT_STORED: CounterFindingRule = CounterFindingRule {
    alert: "HeadgateCreatesNotStored",
    area: FindingArea::Tasks,
    code: "creates_not_stored",
    severity: FindingSeverity::Critical,
    labels: &["route"],
    faults: &[only(
        "headgate_idempotency_requests_total",
        "outcome",
        &["not_stored", "keys_full"],
    )],
    of: None,
    least: 1.0,
    window: MINUTES_5,
    subject: "route {0}",
    cause: "{n} paid creates on route `{0}` were refused within the last {within}, because their record could not be stored (`{most}`).",
    advice: "Repair the state store; with `keys_full`, raise `keys_max` of the filter.",
};
