//! Writes the records of all queues in the background: a task for each queue that has some.

use crate::batch::{PromptBatch, RefusedBatch};
use crate::queue::{PromptQueue, PromptQueues, PromptRecordOutcome};
use crate::sink::PromptSink;
use headgate_core::feature::background::BackgroundContext;
use headgate_core::random::{random_fraction, random_hex};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// Records of so many bytes are written without a wait for others.
const BATCH_BYTES: usize = 4 << 20;
/// How long a write may take.
const WRITE_WITHIN: Duration = Duration::from_secs(30);
/// The wait before a batch is written again; each further one is twice as long, up to the second.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];
/// How long a batch is tried whose sink the configuration has no more.
const REMOVED_WITHIN: Duration = Duration::from_secs(60);
/// How long records are written when the process ends; what is left then is lost.
const FINISH_WITHIN: Duration = Duration::from_secs(5);

/// Works until the process ends.
pub(crate) async fn run(context: BackgroundContext) {
    let queues = (context.current)().features.get::<PromptQueues>();
    let context = Arc::new(context);
    // Names of objects of this process begin with it.
    let process: Arc<str> = random_hex(1).into();
    let batches = Arc::new(AtomicU64::new(1));
    let mut writers = JoinSet::new();
    loop {
        for queue in queues.idle.take() {
            let writer = PromptQueueWriter {
                queue,
                context: context.clone(),
                process: process.clone(),
                batches: batches.clone(),
            };
            writers.spawn(writer.run());
        }
        tokio::select! {
            biased;
            () = queues.idle.wake.notified() => {}
            _ = writers.join_next(), if !writers.is_empty() => {}
            // No request is in flight any more, so that no queue begins anew.
            () = context.until_ending(), if writers.is_empty() => return,
        }
    }
}

/// Writes the records of a queue.
struct PromptQueueWriter {
    queue: Arc<PromptQueue>,
    context: Arc<BackgroundContext>,
    process: Arc<str>,
    /// The number of the next batch, in all sinks together: several may write to one bucket.
    batches: Arc<AtomicU64>,
}

impl PromptQueueWriter {
    async fn run(self) {
        let (queue, context) = (self.queue.clone(), self.context.clone());
        let give_up = async {
            context.until_ending().await;
            sleep(FINISH_WITHIN).await;
        };
        tokio::select! {
            () = self.write_all() => {}
            () = give_up => {
                let records = queue.give_up();
                let sink = &*queue.name;
                tracing::error!(sink, records, "prompt records lost: the process ends");
            }
        }
    }

    /// Writes until the queue is empty and gets no more.
    async fn write_all(&self) {
        loop {
            self.until_due().await;
            let Some(sink) = self.queue.sink() else {
                return;
            };
            let records = self.queue.take(BATCH_BYTES);
            if records.is_empty() {
                if self.queue.end_if_empty() {
                    return;
                }
                continue;
            }
            let number = self.batches.fetch_add(1, Ordering::Relaxed);
            let gateway = sink.gateway.clone();
            let now = SystemTime::now();
            let batch = PromptBatch::new(records, gateway, &self.process, number, now);
            self.write(&batch).await;
        }
    }

    /// Waits until records are to be written. Returns without any if there will be no more.
    async fn until_due(&self) {
        // A reload may have changed the sink.
        while let Some(sink) = self.queue.sink() {
            let batch_bytes = BATCH_BYTES.min(sink.bytes_max / 2);
            let level = self.queue.level();
            let is_ending = *self.context.ending.borrow();
            if level.bytes >= batch_bytes || is_ending || !level.is_configured {
                return;
            }
            let due = async {
                match level.since {
                    Some(since) => sleep_until(since + sink.flush).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.queue.wake.notified() => {}
                () = self.context.until_ending() => return,
                () = due => return,
            }
        }
    }

    /// Writes a batch, again until it is stored or refused for ever.
    async fn write(&self, batch: &PromptBatch) {
        let mut removed: Option<Instant> = None;
        let mut delay = RETRY_DELAYS[0];
        let mut dropped = self.queue.total(PromptRecordOutcome::Dropped);
        while let Some(sink) = self.queue.sink() {
            let (name, records) = (&*self.queue.name, batch.records.len());
            let refused = match self.write_once(&sink, batch).await {
                Ok(()) => {
                    return self
                        .queue
                        .settle(&batch.records, PromptRecordOutcome::Stored);
                }
                Err(refused) => refused,
            };
            self.queue.count_failed_write();
            let error = refused.reason;
            removed = match self.queue.level().is_configured {
                true => None,
                false => removed.or_else(|| Some(Instant::now())),
            };
            let is_given_up = removed.is_some_and(|since| since.elapsed() > REMOVED_WITHIN);
            if refused.is_final || is_given_up {
                tracing::error!(sink = name, records, error, "prompt records lost");
                return self
                    .queue
                    .settle(&batch.records, PromptRecordOutcome::Failed);
            }
            let now_dropped = self.queue.total(PromptRecordOutcome::Dropped);
            tracing::warn!(
                sink = name,
                records,
                error,
                dropped = now_dropped - dropped,
                "prompt records not stored; trying again"
            );
            dropped = now_dropped;
            // Never before the time that a collector names, and never at once.
            let wait = match refused.retry_after {
                Some(wait) => wait.clamp(RETRY_DELAYS[0], RETRY_DELAYS[1]),
                None => delay / 2,
            };
            self.pause(wait + (delay / 2).mul_f64(random_fraction()))
                .await;
            delay = (delay * 2).min(RETRY_DELAYS[1]);
        }
    }

    async fn write_once(&self, sink: &PromptSink, batch: &PromptBatch) -> Result<(), RefusedBatch> {
        let written = sink.target.write(batch, &*self.context.deliveries);
        let written = timeout(WRITE_WITHIN, written).await;
        written.unwrap_or_else(|_| {
            let reason = format!("no response within {WRITE_WITHIN:?}");
            Err(RefusedBatch::for_now(reason))
        })
    }

    /// Waits, but not past the moment at which the process begins to end.
    async fn pause(&self, delay: Duration) {
        if *self.context.ending.borrow() {
            return sleep(delay.min(RETRY_DELAYS[0])).await;
        }
        tokio::select! {
            () = sleep(delay) => {}
            () = self.context.until_ending() => {}
        }
    }
}
