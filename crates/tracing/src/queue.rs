//! The queue between exchanges and the exporter.

use super::exchange_trace::FinishedTrace;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// Maximum bytes of messages in the queue.
const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Maximum bytes of messages in one export: collectors refuse large ones.
const BATCH_MESSAGE_BYTES_MAX: usize = 8 << 20;

/// Exchanges that wait for the export, with a limit, and the outcomes of the spans so far.
#[derive(Default)]
pub struct TraceQueue {
    waiting: Mutex<WaitingTraces>,
    /// The queue is no longer empty, or has a whole batch.
    pub(super) is_due: Notify,
    counts: [AtomicU64; SpanExportOutcome::ALL.len()],
    last_loss: Mutex<Option<LastSpanLoss>>,
}

/// The last spans that were lost.
#[derive(Clone, Debug)]
pub struct LastSpanLoss {
    pub at: Instant,
    pub outcome: SpanExportOutcome,
    /// What the collector responded, or why it could not be reached; empty if the queue was full.
    pub reason: String,
}

/// Exchanges that wait, and the bytes of their messages.
#[derive(Default)]
struct WaitingTraces {
    list: VecDeque<FinishedTrace>,
    message_bytes: usize,
}

/// What became of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanExportOutcome {
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
    /// It is queued without its messages if they take too much memory.
    pub(super) fn push(&self, mut finished: FinishedTrace, queue_size: usize, batch_size: usize) {
        let mut waiting = self.lock();
        let before = waiting.list.len();
        if before >= queue_size {
            drop(waiting);
            return self.lose(SpanExportOutcome::QueueFull, finished.spans(), "");
        }
        if waiting.message_bytes + finished.message_bytes() > MESSAGE_BYTES_MAX {
            finished.leave_messages_out();
        }
        waiting.message_bytes += finished.message_bytes();
        waiting.list.push_back(finished);
        drop(waiting);
        if before == 0 || before + 1 == batch_size {
            self.is_due.notify_one();
        }
    }

    /// The number of exchanges that wait.
    pub fn len(&self) -> usize {
        self.lock().list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of spans with this outcome.
    pub fn total(&self, outcome: SpanExportOutcome) -> u64 {
        self.counts[outcome as usize].load(Ordering::Relaxed)
    }

    /// Takes the oldest exchanges, `most` of them at most, and fewer if their messages are long.
    #[cfg_attr(
        not(feature = "otlp"),
        expect(dead_code, reason = "the exporter calls it")
    )]
    pub(super) fn take(&self, most: usize) -> Vec<FinishedTrace> {
        let mut waiting = self.lock();
        let WaitingTraces {
            list,
            message_bytes,
        } = &mut *waiting;
        let mut bytes = 0;
        let fits = |finished: &&FinishedTrace| {
            let is_first = bytes == 0;
            bytes += finished.message_bytes();
            is_first || bytes <= BATCH_MESSAGE_BYTES_MAX
        };
        let count = list.iter().take(most).take_while(fits).count();
        let taken: Vec<FinishedTrace> = list.drain(..count).collect();
        *message_bytes -= taken
            .iter()
            .map(FinishedTrace::message_bytes)
            .sum::<usize>();
        taken
    }

    /// The number of spans that the collector does not have.
    pub fn lost(&self) -> u64 {
        let lost = SpanExportOutcome::ALL
            .into_iter()
            .filter(|one| one.is_loss());
        lost.map(|outcome| self.total(outcome)).sum()
    }

    /// The last loss, if spans were lost.
    pub fn last_loss(&self) -> Option<LastSpanLoss> {
        let last = self.last_loss.lock();
        last.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts spans that were lost, with the reason.
    pub(super) fn lose(&self, outcome: SpanExportOutcome, spans: u64, reason: &str) {
        if spans == 0 {
            return;
        }
        self.count(outcome, spans);
        let mut last = self
            .last_loss
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *last = Some(LastSpanLoss {
            at: Instant::now(),
            outcome,
            reason: reason.to_owned(),
        });
    }

    pub(super) fn count(&self, outcome: SpanExportOutcome, spans: u64) {
        self.counts[outcome as usize].fetch_add(spans, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, WaitingTraces> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SpanExportOutcome {
    pub const ALL: [Self; 4] = [
        Self::Exported,
        Self::QueueFull,
        Self::Refused,
        Self::Undelivered,
    ];

    /// Whether the collector does not have such a span.
    pub fn is_loss(self) -> bool {
        match self {
            Self::Exported => false,
            Self::QueueFull | Self::Refused | Self::Undelivered => true,
        }
    }

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

    fn message_bytes(&self) -> usize {
        let messages = self.summary.messages.as_ref();
        messages.map_or(0, |messages| messages.bytes())
    }

    /// Replaces the messages with empty lists that are marked as truncated.
    fn leave_messages_out(&mut self) {
        if let Some(messages) = &mut self.summary.messages {
            messages.clear();
        }
    }
}
