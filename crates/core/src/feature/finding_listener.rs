//! What features learn of the findings of the gateway.

use crate::finding::{FindingSeverity, LiveFinding};

/// Learns when findings begin and end. No method may block.
pub trait FindingListener: Send + Sync {
    /// A finding that was not there before.
    fn finding_began(&self, finding: &LiveFinding);

    /// A finding has been absent for a minute.
    fn finding_over(&self, severity: FindingSeverity, code: &'static str, subject: &str);
}
