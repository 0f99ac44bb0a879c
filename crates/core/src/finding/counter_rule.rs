//! Faults that counters show: which counters, how high they must rise, and the sentence about it.
//!
//! Each rule belongs to an alert of `deploy/prometheus`, whose thresholds suit those who are woken by it. The rules are met
//! earlier, for those who look.

use super::{FindingArea, FindingSeverity};
use std::time::Duration;

pub const MINUTE: Duration = Duration::from_secs(60);
pub const MINUTES_5: Duration = Duration::from_secs(300);
pub const MINUTES_15: Duration = Duration::from_secs(900);
pub const HOUR: Duration = Duration::from_secs(3600);

/// When counters that rise are a finding.
#[derive(Debug)]
pub struct CounterFindingRule {
    /// The alert about the same fault.
    pub alert: &'static str,
    pub area: FindingArea,
    pub code: &'static str,
    pub severity: FindingSeverity,
    /// The labels that name the subject.
    pub labels: &'static [&'static str],
    pub faults: &'static [CounterSelector],
    /// The least share of the faults.
    pub of: Option<MinimumFaultShare>,
    /// The least number of faults within the window.
    pub least: f64,
    /// One of the lengths of this module, for which there are words.
    pub window: Duration,
    /// The subject, where `{0}` and `{1}` are its labels.
    pub subject: &'static str,
    /// The sentence; besides the labels, `{n}` is the number of faults, `{of}` that of which they are a part, `{most}` the
    /// most frequent value of the selected label, and `{within}` the window.
    pub cause: &'static str,
    pub advice: &'static str,
}

/// Of which faults are a part.
#[derive(Debug)]
pub struct MinimumFaultShare {
    pub of: CounterSelector,
    pub percent: f64,
}

/// The series of a metric with some values of a label.
#[derive(Debug)]
pub struct CounterSelector {
    pub metric: &'static str,
    pub label: &'static str,
    pub values: LabelValueMatch,
}

/// Values of a label.
#[derive(Debug)]
pub enum LabelValueMatch {
    All,
    Only(&'static [&'static str]),
    Except(&'static [&'static str]),
}

/// The series with one of these values.
pub const fn only(
    metric: &'static str,
    label: &'static str,
    values: &'static [&'static str],
) -> CounterSelector {
    select(metric, label, LabelValueMatch::Only(values))
}

/// The series with none of these values.
pub const fn except(
    metric: &'static str,
    label: &'static str,
    values: &'static [&'static str],
) -> CounterSelector {
    select(metric, label, LabelValueMatch::Except(values))
}

/// All series, told apart by the label.
pub const fn all(metric: &'static str, label: &'static str) -> CounterSelector {
    select(metric, label, LabelValueMatch::All)
}

/// At least this percentage of the series.
pub const fn share(percent: f64, of: CounterSelector) -> Option<MinimumFaultShare> {
    Some(MinimumFaultShare { of, percent })
}

const fn select(
    metric: &'static str,
    label: &'static str,
    values: LabelValueMatch,
) -> CounterSelector {
    CounterSelector {
        metric,
        label,
        values,
    }
}
