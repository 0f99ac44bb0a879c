//! When counters that rise are a finding, and the sentence about it.

use super::{Finding, FindingSeverity};
use std::time::Duration;

pub(super) const MINUTE: Duration = Duration::from_secs(60);
pub(super) const MINUTES_5: Duration = Duration::from_secs(300);
pub(super) const MINUTES_15: Duration = Duration::from_secs(900);
pub(super) const HOUR: Duration = Duration::from_secs(3600);

/// When counters that rise are a finding.
pub(super) struct CounterRule {
    /// The alert about the same fault.
    #[cfg_attr(not(test), expect(dead_code, reason = "compared with the alerts"))]
    pub alert: &'static str,
    pub code: &'static str,
    pub severity: FindingSeverity,
    /// The labels that name the subject.
    pub labels: &'static [&'static str],
    pub faults: &'static [CounterSelector],
    /// The least share of the faults.
    pub of: Option<FaultShare>,
    /// The least number of faults within the window.
    pub least: f64,
    pub window: Duration,
    /// The subject, where `{0}` and `{1}` are its labels.
    pub subject: &'static str,
    /// The sentence; besides the labels, `{n}` is the number of faults, `{of}` that of which they are a part, `{most}` the
    /// most frequent value of the selected label, and `{within}` the window.
    pub cause: &'static str,
    pub advice: &'static str,
}

/// Of which faults are a part.
pub(super) struct FaultShare {
    pub of: CounterSelector,
    pub percent: f64,
}

/// The series of a metric with some values of a label.
pub(super) struct CounterSelector {
    pub metric: &'static str,
    pub label: &'static str,
    pub values: LabelValues,
}

/// Values of a label.
pub(super) enum LabelValues {
    All,
    Only(&'static [&'static str]),
    Except(&'static [&'static str]),
}

/// By how much the counts of a subject rose.
#[derive(Debug)]
pub(super) struct CounterIncrease {
    /// The labels of the subject.
    pub names: Vec<String>,
    pub faults: f64,
    /// Of which the faults are a part; zero if the rule has no share.
    pub of: f64,
    /// The value of the selected label that rose most.
    pub most: String,
}

pub(super) const fn only(
    metric: &'static str,
    label: &'static str,
    values: &'static [&'static str],
) -> CounterSelector {
    with(metric, label, LabelValues::Only(values))
}

pub(super) const fn except(
    metric: &'static str,
    label: &'static str,
    values: &'static [&'static str],
) -> CounterSelector {
    with(metric, label, LabelValues::Except(values))
}

pub(super) const fn all(metric: &'static str, label: &'static str) -> CounterSelector {
    with(metric, label, LabelValues::All)
}

const fn with(metric: &'static str, label: &'static str, values: LabelValues) -> CounterSelector {
    CounterSelector {
        metric,
        label,
        values,
    }
}

pub(super) const fn share(percent: f64, of: CounterSelector) -> Option<FaultShare> {
    Some(FaultShare { of, percent })
}

impl CounterRule {
    /// Whether the counters of a subject rose by enough.
    pub fn is_met(&self, increase: &CounterIncrease) -> bool {
        let share = self.of.as_ref().map_or(0.0, |share| share.percent);
        increase.faults >= self.least && increase.faults * 100.0 >= share * increase.of
    }

    pub fn finding(&self, increase: &CounterIncrease) -> Finding {
        let filled = |text: &str| {
            let numbers = [("{n}", increase.faults), ("{of}", increase.of)];
            let numbers = numbers.map(|(mark, number)| (mark.to_owned(), format!("{number:.0}")));
            let names = increase.names.iter().enumerate();
            let names = names.map(|(index, name)| (format!("{{{index}}}"), name.clone()));
            let rest = [
                ("{most}".to_owned(), increase.most.clone()),
                ("{within}".to_owned(), in_words(self.window).to_owned()),
            ];
            let marks = numbers.into_iter().chain(rest).chain(names);
            marks.fold(text.to_owned(), |text, (mark, value)| {
                text.replace(&mark, &value)
            })
        };
        Finding {
            severity: self.severity,
            code: self.code,
            subject: filled(self.subject),
            cause: filled(self.cause),
            advice: self.advice.into(),
        }
    }
}

fn in_words(window: Duration) -> &'static str {
    match window {
        MINUTE => "minute",
        MINUTES_5 => "five minutes",
        MINUTES_15 => "quarter of an hour",
        _ => "hour",
    }
}
