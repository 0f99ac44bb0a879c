//! Findings: sentences about what is wrong now, which name the cause and what to do about it.

pub mod code;
pub mod counter_rule;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Something that an operator should know or do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFinding {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// Requests fail because of it.
    Critical,
    /// Requests may fail because of it, or it will become critical.
    Warning,
    /// Somebody decided it, or it concerns one caller only.
    Notice,
}

/// What a finding concerns. Findings of one severity are listed by their areas, in the order here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingArea {
    /// The process: its configuration, its state store, what it should deliver.
    Process,
    /// What is called beside channels: services, plugins, receivers of events.
    Services,
    /// Requests, and their attempts on channels.
    Requests,
    /// What outlives a request: files, paid creates, tasks, events.
    Tasks,
    /// Usage and costs.
    Usage,
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

impl LiveFinding {
    /// The finding as pages and receivers of alerts get it.
    pub fn json(&self) -> Value {
        json!({
            "severity": self.severity.name(),
            "code": self.code,
            "subject": self.subject,
            "cause": self.cause,
            "advice": self.advice,
        })
    }

    /// What the finding is about, as long as it lasts: the request that waits longest changes.
    pub fn key(&self) -> String {
        match self.subject.starts_with("request ") {
            true => "requests".into(),
            false => self.subject.clone(),
        }
    }
}
