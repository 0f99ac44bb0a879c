//! The finding about queries that exceed the limit of a provider.

use headgate_core::finding::counter_rule::{CounterFindingRule, MINUTE, only};
use headgate_core::finding::{FindingArea, FindingSeverity};

pub(crate) const QUERY_LIMIT: CounterFindingRule = CounterFindingRule {
    alert: "HeadgateQueryLimit",
    area: FindingArea::Tasks,
    code: "query_limit",
    severity: FindingSeverity::Notice,
    labels: &[],
    faults: &[only(
        "headgate_task_queries_total",
        "outcome",
        &["over_limit"],
    )],
    of: None,
    least: 6.0,
    window: MINUTE,
    subject: "tasks",
    cause: "{n} queries of video tasks exceeded the limit of their provider within the last {within}.",
    advice: "Raise `cache_ttl` of the family's `query`, or `max_per_second` if the account allows more.",
};
