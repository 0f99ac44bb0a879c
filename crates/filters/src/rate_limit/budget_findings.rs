//! Findings about budgets in money that are used up, or nearly.

use super::budget_metrics::{BudgetLevel, BudgetLevels};
use headgate_core::catalog::price::Cost;
use headgate_core::feature::findings::FindingDetector;
use headgate_core::finding::{FindingArea, FindingSeverity, LiveFinding};
use headgate_core::state::admission::CounterKey;
use headgate_core::state::calendar::unix_ms;

/// The share from which on a budget is reported.
const SHOWN_FROM: f64 = 0.8;
/// The share from which on most requests are refused: hardly one costs less than what is left.
const USED_UP_FROM: f64 = 0.99;
/// Number of budgets that are reported.
const BUDGETS_MAX: usize = 10;

pub(crate) const BUDGET_USED: FindingDetector = FindingDetector {
    area: FindingArea::Usage,
    alert: "HeadgateBudgetUsed",
    find: |values| used(&values.get::<BudgetLevels>(), unix_ms()),
};

/// The budgets that are used most. One whose day or month is over is a new one.
fn used(levels: &BudgetLevels, now_ms: u64) -> Vec<LiveFinding> {
    let mut used = levels.used(SHOWN_FROM);
    used.retain(|(_, level)| now_ms < level.until_ms);
    used.sort_by(|(_, one), (_, other)| other.used_share().total_cmp(&one.used_share()));
    used.truncate(BUDGETS_MAX);
    let findings = used.iter();
    findings
        .map(|(counter, level)| finding(counter, level))
        .collect()
}

fn finding(counter: &CounterKey, level: &BudgetLevel) -> LiveFinding {
    let owner = match counter.group() {
        Some(group) => format!("group {group}"),
        None => format!("caller {}", counter.caller()),
    };
    let model = counter.model();
    let model = model.map_or_else(String::new, |model| format!(" for model `{model}`"));
    let limit = counter.measure().name();
    let (left, most) = (Cost(level.left), Cost(level.most));
    let currency = &level.currency;
    let (severity, share, verb) = match level.used_share() >= USED_UP_FROM {
        true => (FindingSeverity::Warning, 100, "is used up"),
        false => (FindingSeverity::Notice, 80, "is nearly used up"),
    };
    LiveFinding {
        severity,
        code: "budget_used",
        subject: format!("{limit} of {owner}{model} at {share} %"),
        cause: format!(
            "The budget `{limit}` of {owner}{model} {verb}: {left} of {most} {currency} were left after its last request."
        ),
        advice: "See on the page Callers, or with `headgate usage`, what it was spent on; raise the limit if that is right.".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::state::admission::LimitKind;

    #[test]
    fn a_budget_is_reported_while_it_is_nearly_used_up_and_used_up() {
        let budget = |caller: &str, left: u64, until_ms: u64| {
            let counter = CounterKey::new(caller.into(), None, LimitKind::CostPerDay);
            let (most, currency) = (2_000_000_000, "USD".into());
            let level = BudgetLevel {
                left,
                most,
                currency,
                until_ms,
            };
            (counter, level)
        };
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
                "cost_per_day of group team at 100 %",
                "The budget `cost_per_day` of group team is used up: 0.001 of 2 USD were left after its last request.",
            ),
            (
                FindingSeverity::Notice,
                "cost_per_day of caller bob at 80 %",
                "The budget `cost_per_day` of caller bob is nearly used up: 0.399999999 of 2 USD were left after its last request.",
            ),
        ];
        assert_eq!(found, expected, "eve's day is over, and ann has more");
    }
}
