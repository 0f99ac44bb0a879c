//! `/findings`: what is wrong now, in sentences that name the cause and what to do about it.

mod counter_history;
mod counter_rule;
mod counter_rules;
pub mod history;
mod of_channels;
mod of_process;
mod of_requests;
mod of_services;
mod of_traffic;
pub mod watch;

use super::AdminApp;
use headgate_core::serve::AppResponse;
use headgate_gateway::channel::clock::MonotonicTime;
use http::StatusCode;
use serde_json::{Value, json};
use std::collections::HashSet;

/// The span of refused requests for a model, which is that of the statistics of attempts.
const REFUSALS_SECONDS: u64 = 300;

/// Something that an operator should know or do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub severity: FindingSeverity,
    /// The kind of the finding, for scripts.
    pub code: &'static str,
    /// What it is about, such as `channel main`.
    pub subject: String,
    /// One sentence that names the cause.
    pub cause: String,
    /// One sentence about what to do.
    pub advice: String,
}

/// How much callers notice of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FindingSeverity {
    /// Requests fail because of it.
    Critical,
    /// Requests may fail because of it, or it will become critical.
    Warning,
    /// Somebody decided it, or it concerns one caller only.
    Notice,
}

impl FindingSeverity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }
}

impl Finding {
    /// What the finding is about, as long as it lasts: the request that waits longest changes.
    fn key(&self) -> String {
        match self.subject.starts_with("request ") {
            true => "requests".into(),
            false => self.subject.clone(),
        }
    }
}

pub(super) fn page(app: &AdminApp) -> AppResponse {
    AppResponse::json(StatusCode::OK, &json!({"findings": list(app)}))
}

/// All findings as JSON, the most severe first.
pub(super) fn list(app: &AdminApp) -> Vec<Value> {
    let findings = all(app);
    let findings = findings.iter().map(|finding| {
        json!({
            "severity": finding.severity.name(),
            "code": finding.code,
            "subject": finding.subject,
            "cause": finding.cause,
            "advice": finding.advice,
        })
    });
    findings.collect()
}

/// All findings, the most severe first.
fn all(app: &AdminApp) -> Vec<Finding> {
    let open = app.metrics.open_requests.states();
    let mut findings = of_channels::findings(
        &app.reloader.current(),
        &app.channels,
        &open,
        &app.metrics.traffic.last(REFUSALS_SECONDS),
        MonotonicTime::now(),
    );
    findings.extend(of_process::findings(app));
    findings.extend(of_services::findings(app));
    findings.extend(app.findings.counter_findings());
    let faults: Vec<&str> = findings.iter().filter_map(own_fault).collect();
    let refused = findings.iter().filter(|one| one.code == "model_refused");
    let refused: Vec<&str> = refused.map(|finding| &*finding.subject).collect();
    let of_traffic = of_traffic::findings(&app.metrics.traffic, &faults, &refused);
    findings.extend(of_traffic);
    findings.extend(of_requests::findings(&open));
    app.findings.add_passing(&mut findings);
    // Several sources may report the same fault; the first one says most.
    let mut known = HashSet::new();
    findings.retain(|finding| known.insert((finding.code, finding.key())));
    findings.sort_by_key(|finding| finding.severity);
    findings
}

/// What is at fault, if it makes the gateway refuse requests.
fn own_fault(finding: &Finding) -> Option<&str> {
    let is_own = matches!(
        finding.code,
        "service_failing"
            | "plugin_failing"
            | "store_down"
            | "spool_failing"
            | "media_store_failing"
            | "creates_not_stored"
    );
    is_own.then_some(&*finding.subject)
}
