//! Findings about budgets in money that are used up, or nearly.

use headgate_core::catalog::price::Cost;
use headgate_core::feature::findings::FindingDetector;
use headgate_core::finding::code::FindingCode;
use headgate_core::finding::{FindingArea, FindingSeverity, LiveFinding};
use headgate_core::state::admission::CounterKey;
use headgate_core::state::budget_levels::{BudgetLevel, BudgetLevels};
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::counter_key::KEY_PREFIX;

/// The share from which on a budget is reported.
const SHOWN_FROM: f64 = 0.8;
/// The share from which on most requests are refused: hardly one costs less than what is left.
const USED_UP_FROM: f64 = 0.99;
/// Number of budgets that are reported.
const BUDGETS_MAX: usize = 10;

pub(crate) const BUDGET_USED: FindingDetector = FindingDetector {
    area: FindingArea::Usage,
    alert: "HeadgateBudgetUsed",
    code: FindingCode::new("budget_used", FindingSeverity::Warning),
    find: |values| used(&values.get::<BudgetLevels>(), unix_ms()),
};

/// The budgets that are used most, and how many more there are. One whose day or month is over is a new one.
fn used(levels: &BudgetLevels, now_ms: u64) -> Vec<LiveFinding> {
    let mut used = levels.used(SHOWN_FROM);
    used.retain(|(_, level)| now_ms < level.until_ms);
    used.sort_by(|(_, one), (_, other)| other.used_share().total_cmp(&one.used_share()));
    let further = used.split_off(used.len().min(BUDGETS_MAX));
    let findings = used.iter();
    findings
        .map(|(counter, level)| finding(counter, level))
        .chain(
            further
                .first()
                .map(|(_, most)| summary(further.len(), most)),
        )
        .collect()
}

/// The finding about budgets beyond those that are named; `most` is the one of them that is used most.
fn summary(count: usize, most: &BudgetLevel) -> LiveFinding {
    let budgets = match count {
        1 => "1 more budget is".to_owned(),
        count => format!("{count} more budgets are"),
    };
    LiveFinding {
        severity: severity(most),
        code: "budget_used",
        subject: "further budgets".into(),
        cause: format!(
            "{budgets} used up, or nearly used up, besides the {BUDGETS_MAX} that are used most."
        ),
        advice:
            "The metrics `headgate_budget_remaining` and `headgate_budget_limit` have all budgets."
                .into(),
    }
}

fn finding(counter: &CounterKey, level: &BudgetLevel) -> LiveFinding {
    let owner = owner(counter);
    let model = counter.model();
    let model = model.map_or_else(String::new, |model| format!(" for model `{model}`"));
    let limit = counter.measure().name();
    let (left, most) = (Cost(level.left), Cost(level.most));
    let currency = &level.currency;
    let severity = severity(level);
    let verb = match severity {
        FindingSeverity::Notice => "is nearly used up",
        _ => "is used up",
    };
    LiveFinding {
        severity,
        code: "budget_used",
        subject: format!("{limit} of {owner}{model}"),
        cause: format!(
            "The budget `{limit}` of {owner}{model} {verb}: {left} of {most} {currency} were left after its last request."
        ),
        advice: "See on the page Callers, or with `headgate usage`, what it was spent on; raise the limit if that is right.".into(),
    }
}

/// Whose budget it is.
fn owner(counter: &CounterKey) -> String {
    let holder = counter.caller();
    let key = holder.strip_prefix(KEY_PREFIX);
    match (counter.group(), counter.channel(), key) {
        (Some(group), ..) => format!("group {group}"),
        (_, Some(channel), _) => format!("channel {channel}"),
        (.., Some(key)) => format!("key {key}"),
        _ if counter.is_every_callers() => "all callers".into(),
        _ => format!("caller {holder}"),
    }
}

/// A budget that is used up is more severe: hardly a request passes.
fn severity(level: &BudgetLevel) -> FindingSeverity {
    match level.used_share() >= USED_UP_FROM {
        true => FindingSeverity::Warning,
        false => FindingSeverity::Notice,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::state::admission::LimitKind;

    fn budget(caller: &str, left: u64, until_ms: u64) -> (CounterKey, BudgetLevel) {
        let counter = CounterKey::new(caller.into(), None, LimitKind::CostPerDay);
        let level = BudgetLevel {
            left,
            most: 2_000_000_000,
            currency: "USD".into(),
            since_ms: 0,
            until_ms,
        };
        (counter, level)
    }

    #[test]
    fn budgets_beyond_the_first_ten_are_one_finding_that_counts_them() {
        for (budgets, summary) in [
            (10, None),
            (
                11,
                Some(
                    "1 more budget is used up, or nearly used up, besides the 10 that are used most.",
                ),
            ),
            (
                14,
                Some(
                    "4 more budgets are used up, or nearly used up, besides the 10 that are used most.",
                ),
            ),
        ] {
            let levels = (0..budgets).map(|number| budget(&format!("c{number}"), number, 100));
            let found = used(&levels.collect(), 50);
            let last = found.get(BUDGETS_MAX);
            assert_eq!(last.map(|finding| &*finding.cause), summary);
            assert_eq!(found.len(), BUDGETS_MAX + usize::from(last.is_some()));
            assert!(last.is_none_or(|last| last.severity == FindingSeverity::Warning));
        }
    }

    #[test]
    fn a_budget_is_named_for_whose_it_is() {
        for (holder, expected) in [
            ("ann", "caller ann"),
            ("group:team", "group team"),
            ("key:ann/2026", "key ann/2026"),
            ("channel:main", "channel main"),
            ("callers:", "all callers"),
        ] {
            assert_eq!(owner(&budget(holder, 0, 0).0), expected);
        }
    }

    #[test]
    fn a_budget_is_one_finding_while_it_is_nearly_used_up_and_used_up() {
        let levels: BudgetLevels = [
            budget("ann", 400_000_001, 100),
            budget("bob", 399_999_999, 100),
            budget("group:team", 1_000_000, 100),
            budget("eve", 0, 50),
        ]
        .into_iter()
        .collect();
        let found = used(&levels, 50);
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.severity, &*one.subject, &*one.cause))
            .collect();
        let expected = [
            (
                FindingSeverity::Warning,
                "cost_per_day of group team",
                "The budget `cost_per_day` of group team is used up: 0.001 of 2 USD were left after its last request.",
            ),
            (
                FindingSeverity::Notice,
                "cost_per_day of caller bob",
                "The budget `cost_per_day` of caller bob is nearly used up: 0.399999999 of 2 USD were left after its last request.",
            ),
        ];
        assert_eq!(found, expected, "eve's day is over, and ann has more");
    }
}
