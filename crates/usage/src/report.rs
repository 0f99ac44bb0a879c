//! Puts rows together for a report.

use crate::counts::{UsageCounts, decimal};
use crate::day::UsageDay;
use crate::query::{UsageGroup, UsageQuery};
use crate::totals::UsageRow;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Rows that a report has at most.
pub(crate) const ROWS_MAX: usize = 100_000;

/// The rows of a report by their names: those of the groups, in their order.
pub(crate) struct DailyUsageReport {
    query: UsageQuery,
    rows: BTreeMap<Vec<Box<str>>, ReportRow>,
    is_too_long: bool,
}

/// The counts of a row without its costs, and those by currency, in billionths.
#[derive(Default)]
struct ReportRow {
    counts: UsageCounts,
    costs: BTreeMap<Box<str>, i64>,
    /// What budgets were charged. Without an entry for what nothing was charged for.
    charged: BTreeMap<Box<str>, i64>,
}

impl DailyUsageReport {
    pub fn new(query: UsageQuery) -> Self {
        Self {
            query,
            rows: BTreeMap::new(),
            is_too_long: false,
        }
    }

    /// Adds a row, if the query asks for it. Breaks when the report has too many rows.
    pub fn add(&mut self, day: UsageDay, row: &UsageRow) -> ControlFlow<()> {
        let is_asked =
            |asked: &Option<String>, name: &str| asked.as_deref().is_none_or(|asked| asked == name);
        if !is_asked(&self.query.caller, &row.caller) || !is_asked(&self.query.model, &row.model) {
            return ControlFlow::Continue(());
        }
        let names = self.query.groups.iter().map(|group| match group {
            UsageGroup::Day => day.to_string().into(),
            UsageGroup::Caller => row.caller.clone(),
            UsageGroup::Model => row.model.clone(),
            UsageGroup::Channel => row.channel.clone(),
        });
        let names: Vec<Box<str>> = names.collect();
        if self.rows.len() >= ROWS_MAX && !self.rows.contains_key(&names) {
            self.is_too_long = true;
            return ControlFlow::Break(());
        }
        let sum = self.rows.entry(names).or_default();
        sum.counts.add(&row.counts);
        let UsageCounts { cost, charged, .. } = row.counts;
        if row.has_cost() {
            let sum = sum.costs.entry(row.currency.clone()).or_default();
            *sum = sum.saturating_add(cost);
        }
        if charged != 0 {
            let sum = sum.charged.entry(row.currency.clone()).or_default();
            *sum = sum.saturating_add(charged);
        }
        ControlFlow::Continue(())
    }

    /// The report as JSON, whose rows exist one at a time: the text of a large one has megabytes.
    ///
    /// # Errors
    /// It has too many rows.
    pub fn into_json(self) -> Result<String, String> {
        if self.is_too_long {
            return Err(format!(
                "the report has more than {ROWS_MAX} rows; ask for fewer days, or for fewer groups with `by`"
            ));
        }
        let (from, to) = (self.query.from.to_string(), self.query.to.to_string());
        let groups: Vec<_> = self.query.groups.iter().map(|group| group.name()).collect();
        let head = json!({"from": from, "to": to, "by": groups}).to_string();
        let mut text = format!("{},\"rows\":[", head.trim_end_matches('}'));
        for (number, (names, sum)) in self.rows.into_iter().enumerate() {
            let named = groups.iter().zip(names);
            let named = named.map(|(group, name)| ((*group).to_owned(), name_or_null(&name)));
            let mut row: Map<String, Value> = named.collect();
            sum.counts.write(&mut row);
            for (name, sums) in [("costs", sum.costs), ("charged", sum.charged)] {
                let sums = sums.into_iter();
                let sums = sums.map(|(currency, nanos)| (currency.into(), decimal(nanos).into()));
                row.insert(name.to_owned(), Value::Object(sums.collect()));
            }
            if number > 0 {
                text.push(',');
            }
            text += &Value::Object(row).to_string();
        }
        Ok(text + "]}")
    }
}

fn name_or_null(name: &str) -> Value {
    match name {
        "" => Value::Null,
        name => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::DailyUsageSettings;
    use crate::totals::UsageTotals;
    use headgate_core::catalog::price::Cost;
    use headgate_core::feature::exchange_recorder::{
        ExchangeRecorder, RecordedCharge, RecordedOutcome, RecordedUse,
    };
    use headgate_core::feature::metrics::ChargeChange;
    use headgate_core::state::calendar::DAY_MS;
    use std::time::Duration;

    const MIDNIGHT: u64 = 20_000 * DAY_MS;

    fn charge(model: &str, admitted_ms: u64, nanos: u64) -> RecordedCharge<'_> {
        RecordedCharge {
            admitted_ms,
            model,
            channel: Some("a"),
            currency: "USD",
            nanos,
        }
    }

    fn used<'u>(cost: Option<u64>, charges: &'u [RecordedCharge<'u>]) -> RecordedUse<'u> {
        RecordedUse {
            time_ms: MIDNIGHT - 1,
            caller: Some("web"),
            model: Some("smart"),
            channel: Some("a"),
            outcome: Some(RecordedOutcome::Served),
            usage: None,
            cost: cost.map(|nanos| (Cost(nanos), "USD")),
            charges,
        }
    }

    /// Its rows: the day and the model, requests, costs and charges.
    fn rows(totals: &UsageTotals) -> Vec<Value> {
        let query = UsageQuery::read(
            "from=2024-01-01&to=2025-01-01&by=day,model",
            UsageDay::at(0),
        );
        let mut report = DailyUsageReport::new(query.unwrap());
        let all = UsageDay::at(0)..=UsageDay::at(u64::MAX);
        for (id, rows) in totals.parts_between(*all.start(), *all.end()) {
            for row in &*rows {
                assert!(report.add(id.day, row).is_continue());
            }
        }
        let page: Value = serde_json::from_str(&report.into_json().unwrap()).unwrap();
        let rows = page["rows"].as_array().unwrap().iter();
        let row = |row: &Value| {
            json!([
                row["day"],
                row["model"],
                row["requests"],
                row["costs"],
                row["charged"]
            ])
        };
        rows.map(row).collect()
    }

    #[test]
    fn a_charge_belongs_to_the_day_and_the_model_of_its_admission() {
        let totals = UsageTotals::default();
        totals.adopt(&DailyUsageSettings {
            rows_max: Some(1_000),
            keep: Duration::from_secs(1),
        });
        totals.record(&used(Some(5), &[charge("smart", MIDNIGHT - 1, 7)]));
        // Without usage, admitted after midnight, and after a failure of another model.
        let charges = [
            charge("fast", MIDNIGHT - 1, 3),
            charge("smart", MIDNIGHT, 2),
        ];
        totals.record(&used(None, &charges));
        totals.record(&used(None, &[]));
        let settled = |model: &str, admitted_ms, added, refunded| ChargeChange {
            admitted_ms,
            caller: "web".into(),
            model: model.to_owned(),
            channel: "a".to_owned(),
            currency: "USD".to_owned(),
            added,
            refunded,
        };
        totals.change_charge(&settled("smart", MIDNIGHT - 1, 0, 4));
        totals.change_charge(&settled("fast", MIDNIGHT - 1, 1, 0));
        let nanos = |nanos: u64| json!({"USD": format!("0.00000000{nanos}")});
        assert_eq!(
            rows(&totals),
            [
                json!(["2024-10-03", "fast", 0, {}, nanos(4)]),
                json!(["2024-10-03", "smart", 3, nanos(5), nanos(3)]),
                json!(["2024-10-04", "smart", 0, {}, nanos(2)]),
            ]
        );
    }
}
