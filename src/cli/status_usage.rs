//! What was used today, as lines of the status: in total, and of the callers and models with most of it.

use headgate_core::page_value::{list, text};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Callers and models that are listed.
const LISTED_MAX: usize = 5;

/// The query of the page `/usage` for these lines.
pub const QUERY: &str = "by=caller,model";

/// What rows have in sum.
#[derive(Default)]
struct UsageSum {
    requests: u64,
    errors: u64,
    /// By currency, in its units.
    costs: BTreeMap<String, f64>,
}

/// A label and a text for each line; those of callers and models have an indented label.
pub fn lines(report: &Value) -> Vec<(String, String)> {
    let mut total = UsageSum::default();
    list(&report["rows"]).for_each(|row| total.add(row));
    let mut lines = vec![("today".to_owned(), total.to_text())];
    for group in ["caller", "model"] {
        let mut sums: BTreeMap<&str, UsageSum> = BTreeMap::new();
        for row in list(&report["rows"]).filter(|row| row[group].is_string()) {
            sums.entry(text(&row[group])).or_default().add(row);
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by(|(_, one), (_, other)| other.rank().partial_cmp(&one.rank()).expect("finite"));
        let more = sums.len().saturating_sub(LISTED_MAX);
        for (name, sum) in sums.iter().take(LISTED_MAX) {
            lines.push((format!("  {name}"), sum.to_text()));
        }
        if more > 0 {
            lines.push((String::new(), format!("and {more} more {group}s")));
        }
    }
    lines
}

impl UsageSum {
    fn add(&mut self, row: &Value) {
        let count = |name: &str| row[name].as_u64().unwrap_or(0);
        self.requests += count("requests");
        self.errors += count("errors");
        for (currency, cost) in row["costs"].as_object().unwrap_or(&Map::new()) {
            let cost: f64 = text(cost).parse().unwrap_or(0.0);
            *self.costs.entry(currency.clone()).or_default() += cost;
        }
    }

    /// What comes first has cost most, or else has most requests.
    fn rank(&self) -> (f64, u64) {
        (self.costs.values().sum(), self.requests)
    }

    fn to_text(&self) -> String {
        let Self {
            requests,
            errors,
            costs,
        } = self;
        let mut text = format!("{requests} requests, {errors} errors");
        for (currency, cost) in costs {
            text += &format!(", {cost:.2} {currency}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_callers_and_models_with_the_highest_costs_come_first() {
        let row = |caller: Value, model: Value, requests: u64, costs: Value| json!({"caller": caller, "model": model, "requests": requests, "errors": 1, "costs": costs});
        let mut rows = vec![
            row(json!("web"), json!("smart"), 7, json!({"USD": "1.005"})),
            row(json!("web"), json!("fast"), 90, json!({"USD": "0.25"})),
            row(Value::Null, Value::Null, 3, json!({})),
        ];
        rows.extend((0..6).map(|n| row(json!(format!("c{n}")), json!("smart"), n, json!({}))));
        let lines = lines(&json!({"rows": rows}));
        let lines: Vec<_> = lines
            .iter()
            .map(|(label, text)| format!("{label}|{text}"))
            .collect();
        assert_eq!(
            lines,
            [
                "today|115 requests, 9 errors, 1.25 USD",
                "  web|97 requests, 2 errors, 1.25 USD",
                "  c5|5 requests, 1 errors",
                "  c4|4 requests, 1 errors",
                "  c3|3 requests, 1 errors",
                "  c2|2 requests, 1 errors",
                "|and 2 more callers",
                "  smart|22 requests, 7 errors, 1.00 USD",
                "  fast|90 requests, 1 errors, 0.25 USD",
            ]
        );
    }
}
