//! Metrics of the log of prompts.

use crate::queue::{PromptQueues, PromptRecordOutcome};
use headgate_core::feature::metrics::{FeatureMetrics, raise, registered};
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};
use std::sync::Arc;

/// What became of records, by sink.
pub(crate) struct PromptLogMetrics {
    queues: Arc<PromptQueues>,
    records: IntCounterVec,
    failed_writes: IntCounterVec,
    queue_bytes: IntGaugeVec,
}

impl PromptLogMetrics {
    pub fn new(registry: &Registry, queues: Arc<PromptQueues>) -> Self {
        let counter = |name: &str, help: &str, labels: &[&str]| {
            registered(registry, IntCounterVec::new(Opts::new(name, help), labels))
        };
        Self {
            queues,
            records: counter(
                "headgate_prompt_log_records_total",
                "Records of the log of prompts, by sink and result.",
                &["sink", "result"],
            ),
            failed_writes: counter(
                "headgate_prompt_log_failed_writes_total",
                "Writes of records of the log of prompts that failed and are repeated, by sink.",
                &["sink"],
            ),
            queue_bytes: registered(
                registry,
                IntGaugeVec::new(
                    Opts::new(
                        "headgate_prompt_log_queue_bytes",
                        "Memory of the records of the log of prompts that are not stored yet, by sink.",
                    ),
                    &["sink"],
                ),
            ),
        }
    }
}

impl FeatureMetrics for PromptLogMetrics {
    fn update(&self) {
        for queue in self.queues.all() {
            for outcome in PromptRecordOutcome::ALL {
                let counter = self
                    .records
                    .with_label_values(&[&*queue.name, outcome.name()]);
                raise(&counter, queue.total(outcome));
            }
            let failed = self.failed_writes.with_label_values(&[&*queue.name]);
            raise(&failed, queue.failed_writes());
            let bytes = i64::try_from(queue.level().bytes).unwrap_or(i64::MAX);
            self.queue_bytes
                .with_label_values(&[&*queue.name])
                .set(bytes);
        }
    }

    fn fault_counters(&self) -> Vec<MetricFamily> {
        [self.records.collect(), self.failed_writes.collect()].concat()
    }
}
