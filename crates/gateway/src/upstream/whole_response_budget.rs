//! The memory of responses that filters read whole: one budget for the process, in bytes.
//!
//! At the budget a provider is not read until another response has gone, or its idle timeout is over: a response that has
//! begun may be paid for, and is never thrown away. One response at a time may go beyond the budget, so that responses
//! which together fill it, and are all incomplete, do not wait for each other.

use crate::deadline::in_time;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The memory of all responses together, in bytes: two of the largest that filters read whole.
const BUDGET_BYTES: usize = 256 << 20;
/// A response up to this many bytes is not counted.
const UNCOUNTED_BYTES: usize = 1 << 20;
/// The budget is taken in units of this many bytes.
const UNIT_BYTES: usize = 256 << 10;

/// The budget of a process.
pub struct WholeResponseBudget {
    room: Arc<Semaphore>,
    /// The one response that may go beyond the budget.
    beyond: Arc<Semaphore>,
}

/// What one response takes of the budget, until it is dropped.
pub struct WholeResponseShare {
    budget: Arc<WholeResponseBudget>,
    units: usize,
    room: Option<OwnedSemaphorePermit>,
    beyond: Option<OwnedSemaphorePermit>,
}

impl Default for WholeResponseBudget {
    fn default() -> Self {
        Self::new(BUDGET_BYTES)
    }
}

impl WholeResponseBudget {
    fn new(bytes: usize) -> Self {
        Self {
            room: Arc::new(Semaphore::new(bytes / UNIT_BYTES)),
            beyond: Arc::new(Semaphore::new(1)),
        }
    }

    /// The share of a response of which nothing was read.
    pub fn share(self: &Arc<Self>) -> WholeResponseShare {
        WholeResponseShare {
            budget: self.clone(),
            units: 0,
            room: None,
            beyond: None,
        }
    }
}

impl WholeResponseShare {
    /// Waits until there is room for `bytes` bytes in all, for at most `max_wait`.
    pub(super) async fn grow_to(&mut self, bytes: usize, max_wait: Duration) {
        let missing = bytes.div_ceil(UNIT_BYTES).saturating_sub(self.units);
        if bytes <= UNCOUNTED_BYTES || missing == 0 || self.beyond.is_some() {
            return;
        }
        let Ok(count) = u32::try_from(missing) else {
            return;
        };
        self.units += missing;
        let room = self.budget.room.clone();
        let taken = match room.clone().try_acquire_many_owned(count) {
            Ok(taken) => Some(taken),
            Err(_) => in_time(max_wait, pin!(self.wait(room, count)))
                .await
                .ok()
                .flatten(),
        };
        match (&mut self.room, taken) {
            (Some(room), Some(taken)) => room.merge(taken),
            (room @ None, taken @ Some(_)) => *room = taken,
            (_, None) => {}
        }
    }

    /// The permit of the room; `None` if this response goes beyond the budget.
    async fn wait(&mut self, room: Arc<Semaphore>, count: u32) -> Option<OwnedSemaphorePermit> {
        tokio::select! {
            biased;
            taken = room.acquire_many_owned(count) => taken.ok(),
            beyond = self.budget.beyond.clone().acquire_owned() => {
                self.beyond = beyond.ok();
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    const LONG: Duration = Duration::from_secs(3600);
    const MIB: usize = 1 << 20;

    async fn grows(share: &mut WholeResponseShare, bytes: usize) -> bool {
        let growing = share.grow_to(bytes, LONG);
        timeout(Duration::from_millis(20), growing).await.is_ok()
    }

    #[tokio::test]
    async fn at_the_budget_one_response_goes_on_and_others_wait_for_room() {
        let budget = Arc::new(WholeResponseBudget::new(8 * MIB));
        let [mut first, mut second, mut third] = std::array::from_fn(|_| budget.share());
        assert!(grows(&mut first, 6 * MIB).await);
        assert!(grows(&mut second, 2 * MIB).await);
        // A small response is not counted.
        assert!(grows(&mut third, MIB).await);
        // The first to find no room goes beyond the budget, the next one waits.
        assert!(grows(&mut second, 6 * MIB).await);
        assert!(grows(&mut second, 26 * MIB).await);
        assert!(!grows(&mut third, 3 * MIB).await);
        drop(second);
        let mut third = budget.share();
        assert!(grows(&mut third, 2 * MIB).await);
    }

    #[tokio::test]
    async fn a_response_that_finds_no_room_within_its_idle_timeout_goes_on() {
        let budget = Arc::new(WholeResponseBudget::new(2 * MIB));
        let [mut first, mut second, mut third] = std::array::from_fn(|_| budget.share());
        first.grow_to(2 * MIB, LONG).await;
        second.grow_to(2 * MIB, LONG).await;
        third.grow_to(2 * MIB, Duration::from_millis(1)).await;
        drop((first, second, third));
        assert_eq!(budget.room.available_permits() * UNIT_BYTES, 2 * MIB);
        assert_eq!(budget.beyond.available_permits(), 1);
    }
}
