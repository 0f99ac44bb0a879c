//! Rows of usage as a table for the terminal, and as CSV.

use super::style::{STRONG, styled};
use serde_json::Value;
use std::collections::BTreeSet;

/// The columns of counts: the member of a row, and the heading in a table; empty if only CSV has it.
const COUNTS: [(&str, &str); 8] = [
    ("requests", "requests"),
    ("errors", "errors"),
    ("input_tokens", "input"),
    ("cached_input_tokens", "cached"),
    ("cache_write_tokens", ""),
    ("output_tokens", "output"),
    ("reasoning_tokens", ""),
    ("audio_ms", ""),
];
/// The amounts by currency: the member of a row, and the heading.
const AMOUNTS: [(&str, &str); 2] = [("costs", "cost"), ("charged", "charged")];
/// What stands for a name where there is none.
const NONE: &str = "-";

/// A column of amounts in one currency.
struct AmountColumn<'r> {
    member: &'static str,
    heading: &'static str,
    currency: &'r str,
}

/// The rows below a heading, with columns as wide as their values.
pub fn table(report: &Value, groups: &[&str], rows: &[Value]) -> String {
    let period = format!("{} to {} (UTC)", text(&report["from"]), text(&report["to"]));
    if rows.is_empty() {
        return format!("{period}: nothing was used\n");
    }
    let amounts = amounts(rows);
    let counts = COUNTS.iter().filter(|(_, heading)| !heading.is_empty());
    let headings = groups.iter().map(|group| (*group).to_owned());
    let headings = headings.chain(counts.clone().map(|(_, heading)| (*heading).to_owned()));
    let of_amounts = amounts.iter();
    let headings = headings.chain(of_amounts.map(|amount| amount.name(' ')));
    let mut lines: Vec<Vec<String>> = vec![headings.collect()];
    for row in rows {
        let names = groups.iter().map(|group| text(&row[*group]));
        let cells = names.chain(counts.clone().map(|(name, _)| text(&row[*name])));
        let cells = cells.chain(amounts.iter().map(|amount| text(amount.value(row))));
        lines.push(cells.collect());
    }
    let mut table = format!("{period}\n");
    for (position, line) in aligned(&lines, groups.len()).iter().enumerate() {
        table += &match position {
            0 => styled(STRONG, line),
            _ => line.clone(),
        };
        table.push('\n');
    }
    table
}

/// The rows by RFC 4180, below a line of names.
pub fn csv(groups: &[&str], rows: &[Value]) -> String {
    let amounts = amounts(rows);
    let columns = groups.iter().copied();
    let columns: Vec<&str> = columns.chain(COUNTS.map(|(name, _)| name)).collect();
    let names = columns.iter().map(|name| (*name).to_owned());
    let names = names.chain(amounts.iter().map(|amount| amount.name('_')));
    let mut csv = names.collect::<Vec<_>>().join(",") + "\r\n";
    for row in rows {
        let cells = columns.iter().map(|column| csv_cell(&row[*column]));
        let amounts = amounts.iter().map(|amount| amount.value(row).as_str());
        let cells = cells.chain(amounts.map(|amount| amount.unwrap_or("").to_owned()));
        csv += &cells.collect::<Vec<_>>().join(",");
        csv += "\r\n";
    }
    csv
}

/// Lines of cells with columns as wide as their values; the first `names` columns are texts.
pub(super) fn aligned(lines: &[Vec<String>], names: usize) -> Vec<String> {
    let mut widths = vec![0; lines.first().map_or(0, Vec::len)];
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    let lines = lines.iter().map(|line| {
        let cells = line.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| {
            let width = *width;
            match column < names {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    lines.collect()
}

/// The amounts that rows have.
fn amounts(rows: &[Value]) -> Vec<AmountColumn<'_>> {
    let columns = AMOUNTS.iter().flat_map(|(member, heading)| {
        let sums = rows.iter().filter_map(|row| row[*member].as_object());
        let currencies: BTreeSet<&str> =
            sums.flat_map(|sums| sums.keys().map(|it| &**it)).collect();
        currencies.into_iter().map(|currency| AmountColumn {
            member,
            heading,
            currency,
        })
    });
    columns.collect()
}

impl AmountColumn<'_> {
    fn name(&self, separator: char) -> String {
        format!("{}{separator}{}", self.heading, self.currency)
    }

    fn value<'r>(&self, row: &'r Value) -> &'r Value {
        &row[self.member][self.currency]
    }
}

/// A value in quotes if it needs them. A name that a spreadsheet would take for a formula begins with a quote.
pub(super) fn csv_cell(value: &Value) -> String {
    let cell = match value {
        Value::Null => String::new(),
        Value::String(text) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => {
            format!("'{text}")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match cell.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}

/// A value in a table.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => NONE.to_owned(),
        Value::String(text) => text.chars().filter(|letter| !letter.is_control()).collect(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(caller: Value, requests: u64, costs: Value, charged: Value) -> Value {
        json!({"caller": caller, "requests": requests, "errors": 0, "input_tokens": 12,
            "cached_input_tokens": 0, "cache_write_tokens": 0, "output_tokens": 3, "reasoning_tokens": 0,
            "audio_ms": 0, "costs": costs, "charged": charged})
    }

    #[test]
    fn a_table_has_columns_as_wide_as_their_values() {
        let report = json!({"from": "2026-11-01", "to": "2026-11-30"});
        let rows = [
            row(
                json!("web"),
                1200,
                json!({"USD": "0.5"}),
                json!({"USD": "0.75"}),
            ),
            row(
                Value::Null,
                7,
                json!({"EUR": "3", "USD": "12.25"}),
                json!({}),
            ),
        ];
        let printed = anstream::adapter::strip_str(&table(&report, &["caller"], &rows)).to_string();
        let expected = "\
2026-11-01 to 2026-11-30 (UTC)
caller  requests  errors  input  cached  output  cost EUR  cost USD  charged USD
web         1200       0     12       0       3         -       0.5         0.75
-              7       0     12       0       3         3     12.25            -
";
        assert_eq!(printed, expected);
        let empty = table(&report, &["caller"], &[]);
        assert_eq!(empty, "2026-11-01 to 2026-11-30 (UTC): nothing was used\n");
    }

    #[test]
    fn csv_quotes_what_it_must_and_has_no_formulas() {
        let rows = [
            row(
                json!("a, \"b\""),
                1,
                json!({"USD": "1"}),
                json!({"USD": "1.5"}),
            ),
            row(json!("=cmd()"), 2, json!({"USD": "-0.5"}), json!({})),
            row(json!("-2+3"), 4, json!({"USD": "-1"}), json!({"USD": "-1"})),
            row(Value::Null, 3, json!({}), json!({})),
        ];
        let expected = "\
caller,requests,errors,input_tokens,cached_input_tokens,cache_write_tokens,output_tokens,reasoning_tokens,audio_ms,cost_USD,charged_USD\r
\"a, \"\"b\"\"\",1,0,12,0,0,3,0,0,1,1.5\r
'=cmd(),2,0,12,0,0,3,0,0,-0.5,\r
'-2+3,4,0,12,0,0,3,0,0,-1,-1\r
,3,0,12,0,0,3,0,0,,\r
";
        assert_eq!(csv(&["caller"], &rows), expected);
    }
}
