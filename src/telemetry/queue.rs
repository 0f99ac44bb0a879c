//! The queue between exchanges and the exporter.

use super::exchange_trace::FinishedTrace;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Exchanges that wait for the export, with a limit, and what became of the spans so far.
#[derive(Default)]
pub struct TraceQueue {
    waiting: Mutex<VecDeque<FinishedTrace>>,
    /// The queue is no longer empty, or has a whole batch.
    pub(super) is_due: Notify,
    counts: [AtomicU64; SpanOutcome::ALL.len()],
}

/// What became of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanOutcome {
    /// The collector has it.
    Exported,
    /// The queue was full.
    QueueFull,
    /// The collector refused it.
    Refused,
    /// The collector could not be reached, or was not ready, until the gateway gave up.
    Undelivered,
}

impl TraceQueue {
    /// Adds an exchange, unless as many wait as may. The exporter is notified of the first, and of a whole batch.
    pub(super) fn push(&self, finished: FinishedTrace, queue_size: usize, batch_size: usize) {
        let mut waiting = self.lock();
        let before = waiting.len();
        if before >= queue_size {
            drop(waiting);
            return self.count(SpanOutcome::QueueFull, finished.spans());
        }
        waiting.push_back(finished);
        drop(waiting);
        if before == 0 || before + 1 == batch_size {
            self.is_due.notify_one();
        }
    }

    /// The number of exchanges that wait.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of spans with this outcome.
    pub fn count_of(&self, outcome: SpanOutcome) -> u64 {
        self.counts[outcome as usize].load(Ordering::Relaxed)
    }

    /// Takes the oldest exchanges, `most` of them at most.
    #[cfg_attr(
        not(feature = "otlp"),
        expect(dead_code, reason = "the exporter calls it")
    )]
    pub(super) fn take(&self, most: usize) -> Vec<FinishedTrace> {
        let mut waiting = self.lock();
        let count = waiting.len().min(most);
        waiting.drain(..count).collect()
    }

    pub(super) fn count(&self, outcome: SpanOutcome, spans: u64) {
        self.counts[outcome as usize].fetch_add(spans, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<FinishedTrace>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SpanOutcome {
    pub const ALL: [Self; 4] = [
        Self::Exported,
        Self::QueueFull,
        Self::Refused,
        Self::Undelivered,
    ];

    /// The value in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exported => "exported",
            Self::QueueFull => "queue_full",
            Self::Refused => "refused",
            Self::Undelivered => "undelivered",
        }
    }
}

impl FinishedTrace {
    /// The number of its spans.
    pub(super) fn spans(&self) -> u64 {
        1 + self.trace.attempts.len() as u64
    }
}
