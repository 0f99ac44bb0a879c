//! Metrics of questions for video tasks, which are counted where they are answered.

use super::registration::{raise, registered};
use crate::polls::{PollCounters, PollOutcome};
use prometheus::{IntCounterVec, Opts, Registry};

/// How questions for tasks were answered.
pub struct PollMetrics {
    queries: IntCounterVec,
}

impl PollMetrics {
    pub fn new(registry: &Registry) -> Self {
        let opts = Opts::new(
            "headgate_task_queries_total",
            "Questions how a video task stands: asked of the provider, shared with others at the same time, answered by what was fresh, or over the account's budget.",
        );
        Self {
            queries: registered(registry, IntCounterVec::new(opts, &["outcome"])),
        }
    }

    /// Brings them to what was counted until now.
    pub fn update(&self, tally: &PollCounters) {
        for outcome in PollOutcome::ALL {
            let counter = self.queries.with_label_values(&[outcome.name()]);
            raise(&counter, tally.of(outcome));
        }
    }
}
