//! Tests that the cases of each built-in family show every column of the table of vendors, or have the reason why not.

use super::{WITH_FOLDERS, case_files};
use headgate_core::task::families::SHIPPED;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// Whether a case shows a column.
type Column = fn(&Value) -> bool;

/// What a vendor's API can do to a caller's task, and the cases that show it.
const COLUMNS: [(&str, Column); 16] = [
    ("text", |case| is_mapped(case) && !has_media(case)),
    ("image", |case| is_mapped(case) && has_media(case)),
    ("refused_field", |case| {
        case["expect"]["refused"].is_string()
    }),
    ("callback_url", |case| {
        case["create"]["callback_url"].is_string()
    }),
    ("task_id", |case| {
        expects(case, "task") && expects(case, "query")
    }),
    ("cancel", |case| expects(case, "cancel")),
    ("rate_limit", |case| {
        case["created"].is_object() && case["expect"]["error"] == 429
    }),
    ("error_in_200", |case| {
        is_under_200(&case["created"]) && expects(case, "error")
    }),
    ("queued", |case| case["expect"]["status"] == "queued"),
    ("running", |case| case["expect"]["status"] == "running"),
    ("result", |case| expects(case, "video_url")),
    ("failed", |case| {
        has_failed(case) && !is_filtered(case) && !is_without_result(case)
    }),
    ("filtered", |case| has_failed(case) && is_filtered(case)),
    ("no_result", |case| {
        has_failed(case) && is_without_result(case)
    }),
    ("unknown_status", |case| expects(case, "upstream_status")),
    ("refused_query", |case| {
        case["polled"].is_object() && expects(case, "error")
    }),
];

/// Columns that need a running gateway: `tests/suite/video/vendors.rs` and `tests/suite/callbacks/vendors.rs` show them.
const SHOWN_BY_THE_SUITE: [&str; 3] = ["callback", "cancel_running", "simulated"];

fn expects(case: &Value, member: &str) -> bool {
    case["expect"].get(member).is_some()
}

fn is_mapped(case: &Value) -> bool {
    case["create"].is_object() && (expects(case, "path") || expects(case, "body"))
}

fn has_media(case: &Value) -> bool {
    case["create"]["medias"].is_array()
}

/// A response is a body under 200, or has its status beside the body.
fn is_under_200(response: &Value) -> bool {
    response.is_object() && !(response["status"].is_u64() && response.get("body").is_some())
}

fn has_failed(case: &Value) -> bool {
    case["expect"]["status"] == "failed"
}

/// Vendors have no common word for it, so the name of the case has.
fn is_filtered(case: &Value) -> bool {
    let name = case["name"].as_str();
    name.is_some_and(|name| name.contains("content policy"))
}

fn is_without_result(case: &Value) -> bool {
    case["expect"]["error_code"] == "invalid_upstream_response"
}

/// The reasons of each family, by column.
fn reasons() -> BTreeMap<String, BTreeMap<String, String>> {
    let path = case_files().with_file_name("columns.yaml");
    let text = fs::read_to_string(path).expect("columns.yaml is there");
    serde_saphyr::from_str(&text).expect("columns.yaml has reasons by family and column")
}

fn cases(family: &str) -> Vec<Value> {
    let path = case_files().join(format!("{family}.yaml"));
    let text = fs::read_to_string(&path).expect("every family has a case file");
    serde_saphyr::from_str(&text).expect("a case file is a list")
}

#[test]
fn every_family_has_a_case_or_a_reason_for_each_column() {
    let reasons = reasons();
    let mut faults = Vec::new();
    for (family, _) in SHIPPED {
        if WITH_FOLDERS.contains(&family) {
            continue;
        }
        let Some(reasons) = reasons.get(family) else {
            faults.push(format!("{family}: columns.yaml does not name it"));
            continue;
        };
        let cases = cases(family);
        for (column, shows) in COLUMNS {
            let count = cases.iter().filter(|case| shows(case)).count();
            match (count, reasons.get(column)) {
                (0, None) => faults.push(format!(
                    "{family}: neither a case nor a reason for {column}"
                )),
                (1.., Some(_)) => {
                    faults.push(format!("{family}: {count} cases and a reason for {column}"))
                }
                _ => {}
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_reason_is_of_a_family_and_a_column() {
    for (family, reasons) in reasons() {
        let is_shipped = SHIPPED.iter().any(|(shipped, _)| *shipped == family);
        assert!(is_shipped, "{family} is no built-in family");
        for (column, reason) in reasons {
            let mut columns = COLUMNS
                .iter()
                .map(|(name, _)| *name)
                .chain(SHOWN_BY_THE_SUITE);
            assert!(
                columns.any(|known| known == column),
                "{family}: {column} is no column"
            );
            assert!(reason.len() > 10, "{family} {column}: {reason}");
        }
    }
}
