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
        if !row.currency.is_empty() {
            let cost = sum.costs.entry(row.currency.clone()).or_default();
            *cost = cost.saturating_add(row.counts.cost);
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
            let costs = sum.costs.into_iter();
            let costs = costs.map(|(currency, cost)| (currency.into(), decimal(cost).into()));
            row.insert("costs".to_owned(), Value::Object(costs.collect()));
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
