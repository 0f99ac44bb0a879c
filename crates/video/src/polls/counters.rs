//! Counters of status polls of video tasks, by outcome.

use std::sync::atomic::{AtomicU64, Ordering};

/// How a status poll was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollAnswerSource {
    /// With a query to the provider.
    Queried,
    /// With the query of another poll at the same time.
    Shared,
    /// Without a query: from a fresh cache entry, or from the final status of the task.
    Fresh,
    /// The account's query budget was exhausted: from an older cache entry, or with an error.
    OverBudget,
}

/// Counts since the process started.
#[derive(Debug, Default)]
pub struct PollCounters([AtomicU64; PollAnswerSource::ALL.len()]);

impl PollAnswerSource {
    pub const ALL: [Self; 4] = [Self::Queried, Self::Shared, Self::Fresh, Self::OverBudget];

    /// The name in metrics.
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
    pub(super) fn count(&self, outcome: PollAnswerSource) {
        self.0[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The number of polls with this outcome.
    pub fn total(&self, outcome: PollAnswerSource) -> u64 {
        self.0[outcome as usize].load(Ordering::Relaxed)
    }
}
