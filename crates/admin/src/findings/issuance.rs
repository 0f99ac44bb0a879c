//! Findings about callers of the state store.

use crate::AdminApp;
use headgate_core::finding::{FindingSeverity, LiveFinding};

/// The number of records that are reported; the log has all.
const REPORTED_MAX: usize = 10;

/// Records that are not used. Somebody may have written to the store who must not.
pub(super) fn findings(app: &AdminApp) -> Vec<LiveFinding> {
    let refused = app.issuance.refused();
    let reported = refused.iter().take(REPORTED_MAX);
    let findings = reported.map(|(name, refusal)| LiveFinding {
        severity: FindingSeverity::Warning,
        code: "caller_record_refused",
        subject: format!("caller {name}"),
        cause: format!("The record of caller `{name}` in the state store {refusal}. It is not used."),
        advice: "Find out who writes to the state store. `DELETE` on `/callers/NAME` replaces an older record, after which the caller can be made again; remove a record that no gateway has written.".into(),
    });
    findings.collect()
}
