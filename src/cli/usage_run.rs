//! `headgate usage run NAME`: what a run of an agent has used, and its last calls.

use super::style::{STRONG, styled};
use super::usage_table::{aligned, csv_cell, text};
use headgate_core::page_value::list;
use serde_json::Value;

/// The members of a call, and their headings in a table.
const COLUMNS: [(&str, &str); 7] = [
    ("time", "time"),
    ("id", "request"),
    ("model", "model"),
    ("status", "status"),
    ("tokens", "tokens"),
    ("cost", "cost"),
    ("refused_by", "refused by"),
];
/// Columns that are texts.
const TEXTS: usize = 3;

/// The runs of a name, each with its sums above its last calls.
pub fn run_table(page: &Value) -> String {
    let runs = list(&page["runs"]).map(|run| {
        let [name, caller, started, used] =
            ["name", "caller", "started", "used"].map(|member| text(&run[member]));
        let [calls, tokens, cost] = ["calls", "tokens", "cost"].map(|member| text(&run[member]));
        let mut shown = format!(
            "run {name} of {caller}: {calls} calls, {tokens} tokens, cost {cost}; from {started} to {used}\n"
        );
        let headings = COLUMNS.map(|(_, heading)| heading.to_owned());
        let calls = list(&run["history"]).map(|call| COLUMNS.map(|(member, _)| text(&call[member])).to_vec());
        let lines: Vec<Vec<String>> = [headings.to_vec()].into_iter().chain(calls).collect();
        for (position, line) in aligned(&lines, TEXTS).iter().enumerate() {
            shown += &match position {
                0 => styled(STRONG, line),
                _ => line.clone(),
            };
            shown.push('\n');
        }
        shown
    });
    runs.collect::<Vec<_>>().join("\n")
}

/// The calls of all runs by RFC 4180, below a line of names.
pub fn run_csv(page: &Value) -> String {
    let names = COLUMNS.map(|(member, _)| member);
    let mut csv = format!("run,caller,{}\r\n", names.join(","));
    for (run, call) in calls(page) {
        let own = [&run["name"], &run["caller"]].into_iter();
        let cells = own.chain(names.iter().map(|name| &call[*name]));
        csv += &cells.map(csv_cell).collect::<Vec<_>>().join(",");
        csv += "\r\n";
    }
    csv
}

/// The calls of all runs, each an object with the names of its run and its caller.
pub fn run_lines(page: &Value) -> impl Iterator<Item = Value> {
    calls(page).map(|(run, call)| {
        let mut line = call.clone();
        line["run"] = run["name"].clone();
        line["caller"] = run["caller"].clone();
        line
    })
}

fn calls(page: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    let runs = list(&page["runs"]);
    runs.flat_map(|run| list(&run["history"]).map(move |call| (run, call)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn page() -> Value {
        json!({"runs": [{
            "name": "nightly", "caller": "agents", "started": "2026-11-28T01:00:00Z",
            "used": "2026-11-28T01:00:09Z", "calls": 2, "tokens": 321, "cost": 0.0045,
            "history": [
                {"time": "2026-11-28T01:00:00Z", "id": "req_1", "model": "smart", "status": 200,
                 "tokens": 321, "cost": 0.0045, "refused_by": null},
                {"time": "2026-11-28T01:00:09Z", "id": "req_22", "model": "smart", "status": 429,
                 "tokens": 0, "cost": null, "refused_by": "calls"},
            ],
        }]})
    }

    #[test]
    fn the_calls_of_a_run_stand_below_its_sums() {
        let table = anstream::adapter::strip_str(&run_table(&page())).to_string();
        let expected = "\
run nightly of agents: 2 calls, 321 tokens, cost 0.0045; from 2026-11-28T01:00:00Z to 2026-11-28T01:00:09Z
time                  request  model  status  tokens    cost  refused by
2026-11-28T01:00:00Z  req_1    smart     200     321  0.0045           -
2026-11-28T01:00:09Z  req_22   smart     429       0       -       calls
";
        assert_eq!(table, expected);
    }

    #[test]
    fn each_call_is_a_line_with_the_name_of_its_run() {
        let csv = run_csv(&page());
        let lines: Vec<_> = csv.split("\r\n").collect();
        assert_eq!(
            lines[0],
            "run,caller,time,id,model,status,tokens,cost,refused_by"
        );
        assert_eq!(
            lines[2],
            "nightly,agents,2026-11-28T01:00:09Z,req_22,smart,429,0,,calls"
        );
        let printed: Vec<Value> = run_lines(&page()).collect();
        assert_eq!(printed.len(), 2);
        assert_eq!(
            (&printed[0]["run"], &printed[0]["tokens"]),
            (&json!("nightly"), &json!(321))
        );
    }
}
