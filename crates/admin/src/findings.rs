//! `/findings`: what is wrong now, in sentences that name the cause and what to do about it.

mod callers;
mod channels;
mod counter_history;
mod counter_increase;
pub mod counter_rules;
mod credentials;
mod failure_words;
pub mod history;
mod issuance;
mod process;
mod requests;
mod services;
mod traffic;
pub mod watch;

use super::AdminApp;
use headgate_channel::clock::MonotonicTime;
use headgate_core::feature::FeatureList;
use headgate_core::finding::{FindingArea, LiveFinding};
use headgate_core::serve::AppResponse;
use http::StatusCode;
use serde_json::{Value, json};
use std::collections::HashSet;

/// The span of refused requests for a model, which is that of the statistics of attempts.
const REFUSALS_SECONDS: u64 = 300;

pub(super) fn page(app: &AdminApp) -> AppResponse {
    AppResponse::json(StatusCode::OK, &json!({"findings": list(app)}))
}

/// All findings as JSON, the most severe first.
pub(super) fn list(app: &AdminApp) -> Vec<Value> {
    all(app).iter().map(LiveFinding::json).collect()
}

/// All findings, the most severe first.
fn all(app: &AdminApp) -> Vec<LiveFinding> {
    let open = app.metrics.open_requests.states();
    let mut findings = channels::findings(
        &app.reloader.current(),
        &app.channels,
        &open,
        &app.metrics.traffic.last(REFUSALS_SECONDS),
        MonotonicTime::now(),
    );
    findings.extend(credentials::findings(&app.reloader.current()));
    findings.extend(process::findings(app));
    findings.extend(callers::findings(app));
    findings.extend(services::findings(app));
    findings.extend(issuance::findings(app));
    findings.extend(app.findings.counter_findings());
    let faults = findings
        .iter()
        .filter(|one| refuses_requests(one, app.features));
    let faults: Vec<&str> = faults.map(|finding| &*finding.subject).collect();
    let refused = findings.iter().filter(|one| one.code == "model_refused");
    let refused: Vec<&str> = refused.map(|finding| &*finding.subject).collect();
    let traffic = traffic::findings(&app.metrics.traffic, &faults, &refused);
    findings.extend(traffic);
    findings.extend(requests::findings(&open));
    app.findings.add_passing(&mut findings);
    // Several sources may report the same fault; the first one says most.
    let mut known = HashSet::new();
    findings.retain(|finding| known.insert((finding.code, finding.key())));
    findings.sort_by_key(|finding| finding.severity);
    findings
}

/// The findings that the state of features shows, of some areas.
fn feature_findings(app: &AdminApp, is_selected: fn(FindingArea) -> bool) -> Vec<LiveFinding> {
    let values = &app.reloader.current().features;
    let sources = app.features.iter().flat_map(|one| one.findings().sources);
    let mut sources: Vec<_> = sources.filter(|one| is_selected(one.area)).collect();
    sources.sort_by_key(|source| source.area);
    let findings = sources.into_iter().flat_map(|source| (source.find)(values));
    findings.collect()
}

/// Whether the gateway refuses requests because of a fault.
fn refuses_requests(finding: &LiveFinding, features: FeatureList) -> bool {
    let mut others = features.iter().flat_map(|one| one.findings().refusing);
    matches!(
        finding.code,
        "service_failing" | "store_down" | "spool_failing"
    ) || others.any(|code| *code == finding.code)
}
