//! Findings about the log of prompts.

use headgate_core::feature::findings::FeatureFindingDefinitions;
use headgate_core::finding::counter_rule::{CounterFindingRule, MINUTES_5, all, only};
use headgate_core::finding::{FindingArea, FindingSeverity};

pub(crate) const FINDINGS: FeatureFindingDefinitions = FeatureFindingDefinitions {
    sources: &[],
    rules: &[SINK_FAILING],
    refusing: &[],
};

const SINK_FAILING: CounterFindingRule = CounterFindingRule {
    alert: "HeadgatePromptLogFailing",
    area: FindingArea::Services,
    code: "prompt_log_failing",
    severity: FindingSeverity::Warning,
    labels: &["sink"],
    faults: &[
        only(
            "headgate_prompt_log_records_total",
            "result",
            &["dropped", "failed"],
        ),
        all("headgate_prompt_log_failed_writes_total", "sink"),
    ],
    of: None,
    least: 1.0,
    window: MINUTES_5,
    subject: "prompt log {0}",
    cause: "Writes to the prompt log `{0}` failed, or its records were dropped, {n} times within the last {within}.",
    advice: "The process log has the error. Check the bucket or the collector and its key; records wait in memory up to `max_bytes`.",
};
