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
            "Status queries for video tasks, by how they were answered: by the provider, by a query already in flight, by the status cache, or over the channel's query limit.",
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
