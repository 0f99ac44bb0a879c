//! What came of questions for tasks, counted for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// How a question for a task was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollOutcome {
    /// The provider was asked.
    Queried,
    /// With others who asked at the same time.
    Shared,
    /// By what was known and still fresh.
    Fresh,
    /// The account's budget was used up: by what was known before, or not at all.
    OverBudget,
}

/// Counts since the process began.
#[derive(Debug, Default)]
pub struct PollCounters([AtomicU64; PollOutcome::ALL.len()]);

impl PollOutcome {
    pub const ALL: [Self; 4] = [Self::Queried, Self::Shared, Self::Fresh, Self::OverBudget];

    /// The word for metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queried => "provider",
            Self::Shared => "shared",
            Self::Fresh => "cached",
            Self::OverBudget => "over_limit",
        }
    }
}

impl PollCounters {
    pub(super) fn count(&self, outcome: PollOutcome) {
        self.0[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were.
    pub fn of(&self, outcome: PollOutcome) -> u64 {
        self.0[outcome as usize].load(Ordering::Relaxed)
    }
}
