//! Deliveries in flight: a few for each receiver, so that one that hangs delays only its own events.

use crate::event::AlertEvent;
use crate::receiver::{AlertReceiver, AlertReceivers};
use crate::records::LeasedAlert;
use crate::sender::{AlertAttemptOutcome, attempt};
use headgate_core::outgoing::delivery_client::DeliveryClient;
use headgate_core::state::{StateStore, StoreUnavailable};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Events that are sent to one receiver at once.
const PER_RECEIVER_MAX: usize = 4;
/// How long an event waits for its turn; afterwards it waits in the store, or in memory.
const TURN_WAIT: Duration = Duration::from_secs(20);

/// Attempts that are in progress or wait for their turn.
pub(crate) struct AlertDeliveries {
    client: Arc<dyn DeliveryClient>,
    state: Arc<dyn StateStore>,
    turns: HashMap<String, Arc<Semaphore>>,
    /// A task returns an event that is not stored and was not delivered.
    tasks: JoinSet<Option<AlertEvent>>,
}

impl AlertDeliveries {
    pub fn new(client: Arc<dyn DeliveryClient>, state: Arc<dyn StateStore>) -> Self {
        Self {
            client,
            state,
            turns: HashMap::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Begins to deliver stored events.
    pub fn deliver_stored(&mut self, events: Vec<LeasedAlert>, receivers: &AlertReceivers) {
        self.forget_turns(receivers);
        for leased in events {
            let Some(receiver) = receivers.by_name.get(&leased.event.receiver) else {
                continue;
            };
            let turns = self.turns(&leased.event.receiver);
            let (client, state) = (self.client.clone(), self.state.clone());
            let receiver = receiver.clone();
            self.tasks.spawn(async move {
                // An event that does not get its turn becomes due again when its lease ends.
                if let Ok(Ok(_turn)) = timeout(TURN_WAIT, turns.acquire()).await {
                    deliver_leased(leased, &receiver, &*client, &*state).await;
                }
                None
            });
        }
    }

    /// Begins to deliver events that are in memory only.
    pub fn deliver_unstored(&mut self, events: Vec<AlertEvent>, receivers: &AlertReceivers) {
        for mut event in events {
            let Some(receiver) = receivers.by_name.get(&event.receiver).cloned() else {
                continue;
            };
            let (turns, client) = (self.turns(&event.receiver), self.client.clone());
            self.tasks.spawn(async move {
                let outcome = match timeout(TURN_WAIT, turns.acquire()).await {
                    Ok(Ok(_turn)) => attempt(&mut event, &receiver, &*client).await,
                    _ => AlertAttemptOutcome::Postponed,
                };
                (outcome == AlertAttemptOutcome::Postponed).then_some(event)
            });
        }
    }

    /// Waits for the next one that ends, forever if there is none. Returns an event that is not stored and was not delivered.
    pub async fn next_end(&mut self) -> Option<AlertEvent> {
        match self.tasks.join_next().await {
            // A task that panicked has logged that.
            Some(ended) => ended.unwrap_or_default(),
            None => std::future::pending().await,
        }
    }

    /// Waits until all have ended. Returns the events that are not stored and were not delivered.
    pub async fn finish(&mut self) -> Vec<AlertEvent> {
        let mut undelivered = Vec::new();
        while let Some(ended) = self.tasks.join_next().await {
            undelivered.extend(ended.unwrap_or_default());
        }
        undelivered
    }

    fn turns(&mut self, receiver: &str) -> Arc<Semaphore> {
        let turns = self.turns.entry(receiver.to_owned());
        let turns = turns.or_insert_with(|| Arc::new(Semaphore::new(PER_RECEIVER_MAX)));
        turns.clone()
    }

    /// Forgets receivers that are not configured any more.
    fn forget_turns(&mut self, receivers: &AlertReceivers) {
        self.turns
            .retain(|name, _| receivers.by_name.contains_key(name));
    }
}

async fn deliver_leased(
    mut leased: LeasedAlert,
    receiver: &AlertReceiver,
    client: &dyn DeliveryClient,
    state: &dyn StateStore,
) {
    let stored = match attempt(&mut leased.event, receiver, client).await {
        AlertAttemptOutcome::Finished => leased.remove(state.records()).await,
        AlertAttemptOutcome::Postponed => leased.postpone(state.records()).await,
    };
    if let Err(StoreUnavailable(error)) = stored {
        tracing::warn!(error, "cannot store the outcome of an alert");
    }
}
