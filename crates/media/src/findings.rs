//! Findings about the media store.

use headgate_core::feature::findings::FeatureFindingDefinitions;
use headgate_core::finding::counter_rule::{CounterFindingRule, MINUTES_5, all, only};
use headgate_core::finding::{FindingArea, FindingSeverity};

pub(crate) const FINDINGS: FeatureFindingDefinitions = FeatureFindingDefinitions {
    sources: &[],
    rules: &[STORE_FAILING, QUOTA_USED_UP],
    refusing: &[STORE_FAILING.code],
};

const STORE_FAILING: CounterFindingRule = CounterFindingRule {
    alert: "HeadgateMediaStoreFailing",
    area: FindingArea::Tasks,
    code: "media_store_failing",
    severity: FindingSeverity::Critical,
    labels: &[],
    faults: &[
        only("headgate_media_writes_total", "outcome", &["failed"]),
        all("headgate_media_read_failures_total", "outcome"),
    ],
    of: None,
    least: 1.0,
    window: MINUTES_5,
    subject: "media store",
    cause: "The media store failed to write or read files within the last {within} (failures: {n}).",
    advice: "The process log has the error. Make room in `media.directory`, or check the bucket and its key.",
};

const QUOTA_USED_UP: CounterFindingRule = CounterFindingRule {
    alert: "HeadgateMediaQuota",
    area: FindingArea::Tasks,
    code: "media_quota",
    severity: FindingSeverity::Warning,
    labels: &[],
    faults: &[only(
        "headgate_media_writes_total",
        "outcome",
        &["over_quota"],
    )],
    of: None,
    least: 1.0,
    window: MINUTES_5,
    subject: "media store",
    cause: "{n} files were refused within the last {within}, because a quota of the media store is used up.",
    advice: "Raise `media.max_bytes` or the quota of the caller, or lower `media.ttl`.",
};
