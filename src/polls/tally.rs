//! What came of questions for tasks, counted for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// How a question for a task was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The provider was asked.
    Asked,
    /// With others who asked at the same time.
    Shared,
    /// By what was known and still fresh.
    Fresh,
    /// The account's budget was used up: by what was known before, or not at all.
    OverBudget,
}

/// Counts since the process began.
#[derive(Debug, Default)]
pub struct Tally([AtomicU64; Outcome::ALL.len()]);

impl Outcome {
    pub const ALL: [Self; 4] = [Self::Asked, Self::Shared, Self::Fresh, Self::OverBudget];

    /// The word for metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Shared => "shared",
            Self::Fresh => "fresh",
            Self::OverBudget => "over_budget",
        }
    }
}

impl Tally {
    pub(super) fn count(&self, outcome: Outcome) {
        self.0[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize].load(Ordering::Relaxed)
    }
}
