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
pub struct PollCounters {
    outcomes: [AtomicU64; PollAnswerSource::ALL.len()],
    removed_urls: AtomicU64,
}

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
        self.outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The number of polls with this outcome.
    pub fn total(&self, outcome: PollAnswerSource) -> u64 {
        self.outcomes[outcome as usize].load(Ordering::Relaxed)
    }

    /// Counts URLs that were removed from a response in the vendor's own format.
    pub fn count_removed_urls(&self, urls: usize) {
        self.removed_urls.fetch_add(urls as u64, Ordering::Relaxed);
    }

    /// The number of these URLs.
    pub fn removed_urls(&self) -> u64 {
        self.removed_urls.load(Ordering::Relaxed)
    }
}
