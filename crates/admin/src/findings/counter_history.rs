//! By how much the counters of faults rose within the window of each rule.

use super::counter_increase::CounterIncrease;
use super::counter_rules::all_rules;
use headgate_core::feature::FeatureList;
use headgate_core::finding::LiveFinding;
use headgate_core::finding::counter_rule::{CounterFindingRule, CounterSelector, LabelValueMatch};
use headgate_observe::metrics::fault_counters::FaultCounterSample;
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

/// Samples within the window of a rule.
const SAMPLES: u32 = 6;

/// The counters of all rules, as they were.
pub(super) struct CounterHistory(Vec<RuleHistory>);

struct RuleHistory {
    rule: &'static CounterFindingRule,
    /// The oldest first; the first one begins the window.
    samples: VecDeque<(Instant, CounterSample)>,
}

/// The counts of a rule at one moment, by the labels of its subject.
type CounterSample = BTreeMap<Vec<String>, SubjectFaultCounts>;

#[derive(Clone, Debug, Default, PartialEq)]
struct SubjectFaultCounts {
    /// By the value of the selected label.
    faults: BTreeMap<String, f64>,
    of: f64,
}

impl CounterHistory {
    /// Counters start at zero with the process.
    pub fn new(features: FeatureList, now: Instant) -> Self {
        let history = |rule| RuleHistory {
            rule,
            samples: VecDeque::from([(now, CounterSample::default())]),
        };
        Self(all_rules(features).into_iter().map(history).collect())
    }

    /// The findings of all rules, with the counters as they are now.
    pub fn findings(&mut self, counters: &[FaultCounterSample], now: Instant) -> Vec<LiveFinding> {
        let rules = self.0.iter_mut();
        let findings = rules.flat_map(|history| {
            let increases = history.increases(counters, now);
            let rule = history.rule;
            let high = increases.into_iter().filter(|one| one.meets(rule));
            high.map(|increase| increase.finding(rule))
        });
        findings.collect()
    }
}

impl RuleHistory {
    fn increases(&mut self, counters: &[FaultCounterSample], now: Instant) -> Vec<CounterIncrease> {
        let current = sample(self.rule, counters);
        let is_passed = |(at, _): &(Instant, CounterSample)| now - *at >= self.rule.window;
        while self.samples.get(1).is_some_and(is_passed) {
            self.samples.pop_front();
        }
        let none = CounterSample::default();
        let first = self.samples.front().map_or(&none, |(_, first)| first);
        let increases = current.iter();
        let increases = increases
            .map(|(names, counts)| increase(names, first.get(names), counts))
            .collect();
        let last = self.samples.back().map(|(at, _)| *at);
        if last.is_none_or(|last| now - last >= self.rule.window / SAMPLES) {
            self.samples.push_back((now, current));
        }
        increases
    }
}

fn increase(
    names: &[String],
    before: Option<&SubjectFaultCounts>,
    counts: &SubjectFaultCounts,
) -> CounterIncrease {
    let earlier = |value: &str| before.and_then(|before| before.faults.get(value));
    let risen = counts.faults.iter().map(|(value, count)| {
        let by = count - earlier(value).copied().unwrap_or_default();
        (value, by)
    });
    let most = risen.clone().max_by(|one, other| one.1.total_cmp(&other.1));
    CounterIncrease {
        names: names.to_vec(),
        faults: risen.map(|(_, by)| by).sum(),
        of: counts.of - before.map_or(0.0, |before| before.of),
        most: most.map_or_else(String::new, |(value, _)| value.clone()),
    }
}

fn sample(rule: &CounterFindingRule, counters: &[FaultCounterSample]) -> CounterSample {
    let mut sample = CounterSample::default();
    for counter in counters {
        let of_metric = |selector: &&CounterSelector| selector.metric == counter.metric;
        let faults = rule.faults.iter().find(of_metric);
        let of = rule.of.as_ref().map(|share| &share.of).filter(of_metric);
        if faults.is_none() && of.is_none() {
            continue;
        }
        let names = rule.labels.iter();
        let names = names.map(|name| counter.label(name).to_owned()).collect();
        let counts: &mut SubjectFaultCounts = sample.entry(names).or_default();
        if let Some(selector) = faults.filter(|selector| selects(selector, counter)) {
            let by = counter.label(selector.label).to_owned();
            *counts.faults.entry(by).or_default() += counter.value;
        }
        if of.is_some_and(|selector| selects(selector, counter)) {
            counts.of += counter.value;
        }
    }
    sample
}

fn selects(selector: &CounterSelector, counter: &FaultCounterSample) -> bool {
    let value = counter.label(selector.label);
    match selector.values {
        LabelValueMatch::All => true,
        LabelValueMatch::Only(values) => values.contains(&value),
        LabelValueMatch::Except(values) => !values.contains(&value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_rule_is_met_while_its_counter_rises_within_its_window() {
        let start = Instant::now();
        let mut history = CounterHistory::new(FeatureList::new(&[]), start);
        let calls = |counts: [(&str, f64); 4]| {
            let counters = counts
                .into_iter()
                .map(|(outcome, value)| FaultCounterSample {
                    metric: "headgate_callouts_total".into(),
                    labels: vec![
                        ("service".into(), "moderation".into()),
                        ("outcome".into(), outcome.into()),
                    ],
                    value,
                });
            counters.collect::<Vec<_>>()
        };
        let mut causes = |seconds: u64, timeouts: f64, refused: f64| {
            let now = start + Duration::from_secs(seconds);
            let counters = calls([
                ("continued", 100.0),
                ("denied", 9.0),
                ("timeout", timeouts),
                ("connect_error", refused),
            ]);
            let found = history.findings(&counters, now);
            found.into_iter().map(|one| one.cause).collect::<Vec<_>>()
        };
        assert_eq!(causes(5, 0.0, 0.0), Vec::<String>::new());
        // Too few of all calls.
        assert_eq!(causes(10, 3.0, 0.0), Vec::<String>::new());
        let expected = "27 of 136 calls of service `moderation` failed within the last minute, most of them with `connect_error`.";
        assert_eq!(causes(15, 7.0, 20.0), [expected]);
        for seconds in (20..80).step_by(5) {
            causes(seconds, 7.0, 20.0);
        }
        assert_eq!(causes(80, 7.0, 20.0), Vec::<String>::new());
    }
}
