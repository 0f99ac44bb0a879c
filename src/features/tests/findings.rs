//! Tests of findings: each alert has one, each is documented, and those of features stand where operators know them.

use crate::features::FEATURES;
use headgate_admin::findings::counter_rules::all_rules;
use headgate_core::finding::counter_rule::CounterFindingRule;
use headgate_core::finding::{FindingArea, FindingSeverity};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const ALERTS: &str = include_str!("../../../deploy/prometheus/headgate.rules.yaml");
/// Alerts about faults of the gateway itself that no counter shows, and the codes of their findings.
const OTHERS: &[(&str, &[&str])] = &[
    ("HeadgateModelUnavailable", &["model_unavailable"]),
    ("HeadgateChannelUnusable", &["unhealthy"]),
    (
        "HeadgateCallersRefused",
        &["caller_refused", "caller_record_refused"],
    ),
    ("HeadgateCredentialRefused", &["unhealthy"]),
    ("HeadgateCredentialNotIssued", &["credential_not_issued"]),
    ("HeadgateReloadRejected", &["reload_refused"]),
    ("HeadgateCertificateExpires", &["certificate_expires"]),
    ("HeadgateCertificateExpiresNow", &["certificate_expires"]),
    ("HeadgateUpstreamErrors", &["upstream_errors"]),
    ("HeadgateGatewayErrors", &["gateway_errors"]),
    ("HeadgateCallerErrors", &["caller_errors", "model_refused"]),
    (
        "HeadgateSlowUpstream",
        &["slow_upstream", "upstream_silent"],
    ),
    ("HeadgateSlowClients", &["slow_callers", "client_silent"]),
    ("HeadgateSlowGateway", &["slow_gateway"]),
    ("HeadgateCallerHogs", &["caller_holds", "caller_dominates"]),
    ("HeadgateCallerRateLimited", &["rate_limited"]),
    ("HeadgateStateStoreDown", &["store_down"]),
    ("HeadgateSpoolDiskFull", &["spool_failing"]),
    ("HeadgateFileDescriptors", &["file_descriptors"]),
    ("HeadgateLogLinesDropped", &["log_lines_dropped"]),
    ("HeadgateSpansLost", &["spans_lost"]),
];

#[test]
fn each_alert_has_its_finding() {
    let lines = ALERTS.lines();
    let alerts = lines.filter_map(|line| line.trim().strip_prefix("- alert: "));
    // A process that is down shows nothing.
    let mut alerts: BTreeSet<&str> = alerts.filter(|alert| *alert != "HeadgateDown").collect();
    if cfg!(not(feature = "wasm")) {
        alerts.remove("HeadgatePluginFailing");
    }
    let rules = all_rules(FEATURES);
    let sources = FEATURES.iter().flat_map(|one| one.findings().sources);
    let found: BTreeSet<&str> = (rules.iter().map(|rule| rule.alert))
        .chain(sources.map(|source| source.alert))
        .chain(OTHERS.iter().map(|(alert, _)| *alert))
        .collect();
    assert_eq!(alerts, found);
    let mut own = Vec::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    add_sources(&crates.join("admin/src/findings"), &mut own);
    for code in OTHERS.iter().flat_map(|(_, codes)| *codes) {
        let quoted = format!("\"{code}\"");
        assert!(
            own.iter().any(|source| source.contains(&quoted)),
            "no finding has the code {code}"
        );
    }
}

#[test]
fn each_finding_is_described_on_the_dashboard_s_page_and_in_the_runbook() {
    let codes = codes_in_sources();
    assert!(codes.len() > 40);
    for (page, text) in [
        ("dashboard", include_str!("../../../docs/dashboard.md")),
        ("runbook", include_str!("../../../docs/runbook.md")),
    ] {
        let missing: Vec<&String> = (codes.iter())
            .filter(|code| !text.contains(&format!("`{code}`")))
            .collect();
        assert!(missing.is_empty(), "docs/{page}.md lacks {missing:?}");
    }
}

#[test]
fn each_code_of_a_finding_is_known_to_receivers_of_alerts() {
    let mut codes = codes_in_sources();
    // Their codes are chosen beside the finding.
    codes.extend(["upstream_errors", "gateway_errors"].map(str::to_owned));
    if cfg!(not(feature = "wasm")) {
        codes.remove("plugin_failing");
    }
    let known = FEATURES.finding_codes();
    let names: BTreeSet<String> = known.iter().map(|code| code.name.to_owned()).collect();
    assert_eq!(names, codes);
    for rule in all_rules(FEATURES) {
        let known = known.iter().find(|known| known.name == rule.code);
        let known = known.expect("it is in the list");
        assert!(known.most_severe <= rule.severity, "{}", rule.code);
    }
    let page = include_str!("../../../docs/dashboard.md");
    for code in &known {
        let quoted = format!("`{}`", code.name);
        let mut rows = page.lines().filter(|line| line.starts_with("| `"));
        let row = rows.find(|row| row.split('|').nth(1).unwrap().contains(&quoted));
        let row = row.expect("a row");
        assert!(
            row.contains(code.most_severe.name()),
            "{}: {row}",
            code.name
        );
    }
}

#[test]
fn each_rule_counts_what_its_alert_counts() {
    for rule in all_rules(FEATURES) {
        let (_, alert) = ALERTS
            .split_once(&format!("- alert: {}\n", rule.alert))
            .unwrap();
        let alert = alert.split("- alert: ").next().unwrap();
        for selector in rule.faults {
            assert!(alert.contains(selector.metric), "{}", rule.alert);
        }
    }
}

#[test]
fn findings_of_one_severity_stand_in_the_order_of_their_areas() {
    let rules = all_rules(FEATURES);
    let codes = |severity| {
        let rules = rules.iter().filter(|rule| rule.severity == severity);
        let codes = rules.map(|rule: &&CounterFindingRule| rule.code);
        codes
            .filter(|code| *code != "plugin_failing")
            .collect::<Vec<_>>()
    };
    let expected = ["media_store_failing", "creates_not_stored", "events_lost"];
    assert_eq!(codes(FindingSeverity::Critical), expected);
    let expected = [
        "service_failing",
        "prompt_log_failing",
        "dns_failing",
        "streams_cut",
        "provider_rate_limits",
        "retries_denied",
        "limits_unchecked",
        "media_quota",
        "creates_unknown",
        "callbacks_refused",
        "callback_keys_unavailable",
        "cost_per_hour",
    ];
    assert_eq!(codes(FindingSeverity::Warning), expected);
    let expected = [
        "copies_failing",
        "query_limit",
        "callbacks_unknown",
        "usage_missing",
        "unpriced",
    ];
    assert_eq!(codes(FindingSeverity::Notice), expected);
    let sources = FEATURES.iter().flat_map(|one| one.findings().sources);
    let services = sources.filter(|source| source.area == FindingArea::Services);
    let alerts: Vec<&str> = services.map(|source| source.alert).collect();
    let expected = [
        "HeadgatePluginFailing",
        "HeadgateDeadLetters",
        "HeadgateDeliveriesLate",
    ];
    let expected = match cfg!(feature = "wasm") {
        true => &expected[..],
        false => &expected[1..],
    };
    assert_eq!(alerts, expected);
}

/// The codes of all findings, of the gateway and of its features.
fn codes_in_sources() -> BTreeSet<String> {
    let mut sources = Vec::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    for folder in fs::read_dir(crates).unwrap() {
        add_sources(&folder.unwrap().path().join("src"), &mut sources);
    }
    let codes = sources
        .iter()
        .flat_map(|source| source.split("code: \"").skip(1));
    let codes = codes.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
    codes.collect()
}

fn add_sources(folder: &Path, sources: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_sources(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(fs::read_to_string(&path).unwrap());
        }
    }
}
