//! What features learn of the findings of the gateway.

use crate::finding::LiveFinding;

/// Learns when findings begin and end. No method may block.
pub trait FindingListener: Send + Sync {
    /// A finding that was not there before, or has become more severe than it ever was since it began.
    fn finding_began(&self, finding: &LiveFinding);

    /// A finding has been absent for a minute; `key` is its [`LiveFinding::key`].
    fn finding_over(&self, code: &'static str, key: &str);
}
