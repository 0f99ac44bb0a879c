//! The codes of findings, by which scripts and receivers of alerts choose.

use super::FindingSeverity::{self, Critical, Notice, Warning};

/// A code of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindingCode {
    pub name: &'static str,
    /// The severity of the most severe finding with it.
    pub most_severe: FindingSeverity,
}

impl FindingCode {
    pub const fn new(name: &'static str, most_severe: FindingSeverity) -> Self {
        Self { name, most_severe }
    }
}

/// The codes of the gateway itself; features bring their own.
pub const GATEWAY_FINDING_CODES: &[FindingCode] = &[
    FindingCode::new("model_unavailable", Critical),
    FindingCode::new("store_down", Critical),
    FindingCode::new("upstream_errors", Critical),
    FindingCode::new("gateway_errors", Critical),
    FindingCode::new("spool_failing", Critical),
    FindingCode::new("certificate_expires", Critical),
    FindingCode::new("credential_not_issued", Critical),
    FindingCode::new("unhealthy", Warning),
    FindingCode::new("false_successes", Warning),
    FindingCode::new("unstreamed", Warning),
    FindingCode::new("channel_at_limit", Warning),
    FindingCode::new("rate_limited", Warning),
    FindingCode::new("slow_upstream", Warning),
    FindingCode::new("upstream_silent", Warning),
    FindingCode::new("not_sent", Warning),
    FindingCode::new("client_silent", Warning),
    FindingCode::new("reload_refused", Warning),
    FindingCode::new("service_failing", Warning),
    FindingCode::new("dns_failing", Warning),
    FindingCode::new("model_refused", Warning),
    FindingCode::new("streams_cut", Warning),
    FindingCode::new("provider_rate_limits", Warning),
    FindingCode::new("retries_denied", Warning),
    FindingCode::new("caller_record_refused", Warning),
    FindingCode::new("caller_refused", Warning),
    FindingCode::new("file_descriptors", Warning),
    FindingCode::new("slow_gateway", Warning),
    FindingCode::new("cost_per_hour", Warning),
    FindingCode::new("restart_needed", Notice),
    FindingCode::new("caller_errors", Notice),
    FindingCode::new("unpriced", Notice),
    FindingCode::new("usage_missing", Notice),
    FindingCode::new("caller_dominates", Notice),
    FindingCode::new("caller_holds", Notice),
    FindingCode::new("slow_callers", Notice),
    FindingCode::new("capture", Notice),
    FindingCode::new("log_filter_changed", Notice),
    FindingCode::new("channel_drained", Notice),
    FindingCode::new("draining", Notice),
    FindingCode::new("log_lines_dropped", Notice),
    FindingCode::new("spans_lost", Notice),
];
