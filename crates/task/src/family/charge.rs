//! What a provider reports about the charge for a task that has ended.

use super::VideoFamily;
use crate::state::TaskState;
use headgate_protocol::json::JsonDocument;

/// Billionths of a credit, or of another unit of a provider's account.
const CREDIT: f64 = 1e9;

/// What a provider reports about the charge for a task that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskCharge {
    pub state: TaskState,
    /// In billionths of the provider's unit.
    pub credits: Option<u64>,
    pub billed_seconds: Option<u64>,
    /// Whether the provider may have worked for a task that was cancelled.
    pub may_bill_cancelled: bool,
}

impl VideoFamily {
    /// What a response about a task in this state reports about its charge.
    pub fn charge(&self, response: &JsonDocument, state: TaskState) -> TaskCharge {
        let (credits, billed_seconds) = self.response.usage.billed(response.root());
        let cancel = self.cancel.as_ref();
        TaskCharge {
            state,
            credits: credits.map(|credits| (credits * CREDIT).round() as u64),
            billed_seconds,
            may_bill_cancelled: cancel
                .is_none_or(|cancel| cancel.statuses.contains(&TaskState::Running)),
        }
    }
}
