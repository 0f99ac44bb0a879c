//! Makes events of the changes of findings, stores them, and delivers what is due.

use crate::announced::AnnouncedFindings;
use crate::announced_record::AnnouncedRecord;
use crate::deliveries::AlertDeliveries;
use crate::queue::{AlertQueue, QueuedChanges};
use crate::receiver::AlertReceivers;
use crate::records::{self, SEARCH_INTERVAL};
use crate::unstored::UnstoredEvents;
use headgate_core::feature::background::BackgroundContext;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::records::RecordStore;
use headgate_core::state::{StateStore, StoreUnavailable};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval, timeout};

/// How long the process waits for deliveries when it ends; other gateways, or the next process, deliver the rest.
const FINISH_WITHIN: Duration = Duration::from_secs(5);

/// Works until the process ends.
pub(crate) async fn run(context: BackgroundContext) {
    let queue = (context.current)().features.get::<AlertQueue>();
    let receivers = || (context.current)().features.get::<AlertReceivers>();
    let deliveries = AlertDeliveries::new(context.deliveries.clone(), context.state.clone());
    let mut worker = AlertWorker::new(context.state.clone(), deliveries, &receivers());
    let mut searches = interval(SEARCH_INTERVAL);
    searches.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_ending = tokio::select! {
            () = queue.until_woken() => false,
            _ = searches.tick() => false,
            undelivered = worker.deliveries.next_end() => {
                worker.unstored.extend(undelivered);
                continue;
            }
            () = context.until_ending() => true,
        };
        let receivers = receivers();
        match is_ending {
            false => worker.work(queue.take(), &receivers).await,
            true => return worker.finish(queue.take(), &receivers).await,
        }
    }
}

/// What the worker knows.
struct AlertWorker {
    state: Arc<dyn StateStore>,
    announced: AnnouncedFindings,
    record: AnnouncedRecord,
    unstored: UnstoredEvents,
    deliveries: AlertDeliveries,
    /// Whether the store was unreachable at its last use.
    is_store_unreachable: bool,
}

impl AlertWorker {
    fn new(
        state: Arc<dyn StateStore>,
        deliveries: AlertDeliveries,
        receivers: &AlertReceivers,
    ) -> Self {
        Self {
            state,
            announced: AnnouncedFindings::default(),
            record: AnnouncedRecord::new(receivers),
            unstored: UnstoredEvents::default(),
            deliveries,
            is_store_unreachable: false,
        }
    }

    /// Stores the events about changes, and begins to deliver what is due: from memory while the store is unreachable.
    async fn work(&mut self, queued: QueuedChanges, receivers: &AlertReceivers) {
        if receivers.by_name.is_empty() {
            self.announced = AnnouncedFindings::default();
            self.unstored = UnstoredEvents::default();
            return;
        }
        let state = self.state.clone();
        let read = self.record.read(&mut self.announced, state.records()).await;
        self.add_events(queued, receivers);
        let stored = match read {
            Ok(()) => self.store(state.records(), receivers).await,
            Err(unavailable) => Err(unavailable),
        };
        match stored {
            Ok(()) => self.is_store_unreachable = false,
            Err(error) => {
                if !std::mem::replace(&mut self.is_store_unreachable, true) {
                    tracing::warn!(%error, "alerts cannot be stored");
                }
                let due = self.unstored.take_due(unix_ms());
                self.deliveries.deliver_unstored(due, receivers);
            }
        }
    }

    /// As [`Self::work`], and waits until what is due is delivered.
    async fn finish(mut self, queued: QueuedChanges, receivers: &AlertReceivers) {
        let work = async {
            self.work(queued, receivers).await;
            let undelivered = self.deliveries.finish().await;
            self.unstored.extend(undelivered);
        };
        // Stored events that are not delivered by then become due again.
        let _ = timeout(FINISH_WITHIN, work).await;
        let count = self.unstored.len();
        if count > 0 {
            tracing::warn!(
                count,
                "alerts lost: the process ends while the state store is unreachable"
            );
        }
    }

    fn add_events(&mut self, queued: QueuedChanges, receivers: &AlertReceivers) {
        for change in &queued.changes {
            let events = self.announced.apply(change, receivers);
            self.unstored.extend(events);
        }
        let ended = self.announced.end_absent(receivers, Instant::now());
        self.unstored.extend(ended);
        let count = queued.lost + self.unstored.take_lost();
        if count > 0 {
            tracing::warn!(count, "alerts lost: too many wait in memory");
        }
    }

    async fn store(
        &mut self,
        records: &dyn RecordStore,
        receivers: &AlertReceivers,
    ) -> Result<(), StoreUnavailable> {
        while let Some(event) = self.unstored.first() {
            if !records::store(records, event).await? {
                tracing::warn!(
                    event_id = event.id,
                    receiver = event.receiver,
                    "alert lost: too many wait for their receiver"
                );
            }
            self.unstored.remove_first();
        }
        let due = records::lease_due(records, receivers).await?;
        self.deliveries.deliver_stored(due, receivers);
        self.record.write(&mut self.announced, records).await
    }
}

#[cfg(test)]
mod tests;
