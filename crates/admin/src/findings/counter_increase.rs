//! By how much counters rose, whether that meets a rule, and the finding about it.

use headgate_core::finding::LiveFinding;
use headgate_core::finding::counter_rule::{CounterFindingRule, MINUTE, MINUTES_5, MINUTES_15};
use std::time::Duration;

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

impl CounterIncrease {
    /// Whether the counters of the subject rose by enough.
    pub fn meets(&self, rule: &CounterFindingRule) -> bool {
        let share = rule.of.as_ref().map_or(0.0, |share| share.percent);
        self.faults >= rule.least && self.faults * 100.0 >= share * self.of
    }

    /// The finding of a rule that is met.
    pub fn finding(&self, rule: &CounterFindingRule) -> LiveFinding {
        let filled = |text: &str| {
            let numbers = [("{n}", self.faults), ("{of}", self.of)];
            let numbers = numbers.map(|(mark, number)| (mark.to_owned(), format!("{number:.0}")));
            let names = self.names.iter().enumerate();
            let names = names.map(|(index, name)| (format!("{{{index}}}"), name.clone()));
            let rest = [
                ("{most}".to_owned(), self.most.clone()),
                ("{within}".to_owned(), in_words(rule.window).to_owned()),
            ];
            let marks = numbers.into_iter().chain(rest).chain(names);
            marks.fold(text.to_owned(), |text, (mark, value)| {
                text.replace(&mark, &value)
            })
        };
        LiveFinding {
            severity: rule.severity,
            code: rule.code,
            subject: filled(rule.subject),
            cause: filled(rule.cause),
            advice: rule.advice.into(),
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
