//! The query budget of an account: queries wait for their turn, one after the other.

use super::{CallerStatusPoll, TaskStatusFetcher, lock};
use headgate_core::state::OnStoreFailure;
use headgate_core::state::clock::steady_ms;
use headgate_core::state::per_second_limiter::PerSecondDecision;
use headgate_protocol::fault::{Fault, FaultKind};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long a query waits for each slot of its account's budget.
const BUDGET_MAX_WAIT: Duration = Duration::from_secs(2);
/// The Retry-After of a poll that found no slot in that time.
pub(super) const NO_ROOM_RETRY: Duration = Duration::from_secs(2);

impl TaskStatusFetcher {
    /// Takes a slot of the account's budget, unless there is none or other queries wait for one.
    pub(super) async fn try_take_budget(
        &self,
        status_query: &CallerStatusPoll,
    ) -> Result<(), Fault> {
        let Some(per_second) = status_query.family.query.max_per_second else {
            return Ok(());
        };
        let queue = self.queue(&status_query.task.channel);
        let Ok(_turn) = queue.try_lock() else {
            return Err(budget_exhausted_fault(NO_ROOM_RETRY));
        };
        match self.take(status_query, per_second).await? {
            PerSecondDecision::Allowed => Ok(()),
            PerSecondDecision::RetryAfter(wait) => Err(budget_exhausted_fault(wait)),
        }
    }

    /// Takes `queries` slots of the account's budget, directly after each other, and waits a limited time for each.
    pub(super) async fn take_budget(
        &self,
        queries: u32,
        status_query: &CallerStatusPoll,
    ) -> Result<(), Fault> {
        let Some(per_second) = status_query.family.query.max_per_second else {
            return Ok(());
        };
        let queue = self.queue(&status_query.task.channel);
        let taken = async {
            let _turn = queue.lock().await;
            let mut left = queries;
            while left > 0 {
                match self.take(status_query, per_second).await? {
                    PerSecondDecision::Allowed => left -= 1,
                    PerSecondDecision::RetryAfter(wait) => sleep(wait).await,
                }
            }
            Ok(())
        };
        let in_time = timeout(BUDGET_MAX_WAIT * queries, taken).await;
        in_time.unwrap_or_else(|_| Err(budget_exhausted_fault(NO_ROOM_RETRY)))
    }

    /// Takes one slot. While the state store is unreachable and its failure policy is `allow`, this gateway counts
    /// alone.
    async fn take(
        &self,
        status_query: &CallerStatusPoll,
        per_second: u16,
    ) -> Result<PerSecondDecision, Fault> {
        let (state, channel) = (&status_query.state, &*status_query.task.channel);
        match state.take_per_second(channel, per_second).get().await {
            Ok(pace) => Ok(pace),
            Err(unavailable) => match state.on_store_failure() {
                OnStoreFailure::Allow => Ok(lock(&self.local_limiter).take(channel, per_second, steady_ms())),
                OnStoreFailure::Deny => Err(Fault::new(
                    FaultKind::Overloaded,
                    "the gateway cannot check the provider's query limit: its state store is unreachable; try again",
                )
                .retry_after(NO_ROOM_RETRY)
                .source(unavailable)),
            },
        }
    }

    fn queue(&self, channel: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut queues = lock(&self.queues);
        if let Some(queue) = queues.get(channel) {
            return queue.clone();
        }
        // A queue without waiting queries may belong to a channel that was removed.
        queues.retain(|_, queue| Arc::strong_count(queue) > 1);
        queues.entry(channel.to_owned()).or_default().clone()
    }
}

fn budget_exhausted_fault(wait: Duration) -> Fault {
    Fault::new(
        FaultKind::TooManyRequests,
        "too many status queries for this provider; query this task again later",
    )
    .retry_after(wait)
    .detail("the family's `per_second` is reached")
}
