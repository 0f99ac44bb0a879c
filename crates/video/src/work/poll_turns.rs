//! Turns of polls on the query limit of a channel: in the order in which they begin to wait, so that a caller with many
//! tasks does not take the polls of others.

use headgate_core::state::StateStore;
use headgate_core::state::per_second_limiter::PerSecondDecision;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long a poll waits for its turn. With the time of its query, less than its lease.
const TURN_MAX_WAIT: Duration = Duration::from_secs(12);

/// The polls that wait, by channel. A lock of tokio is fair: first come, first served.
#[derive(Default)]
pub struct ChannelPollTurns {
    of_channel: Mutex<HashMap<Box<str>, Arc<tokio::sync::Mutex<()>>>>,
}

impl ChannelPollTurns {
    /// Waits for a use of the half of the channel's query limit that polls may take, if it has one; returns whether there was
    /// one in time.
    pub async fn take(&self, state: &dyn StateStore, channel: &str, limit: Option<u16>) -> bool {
        let Some(per_second) = limit else {
            return true;
        };
        let key = format!("callbacks:{channel}");
        let half = (per_second / 2).max(1);
        let turn = self.channel_turn(channel);
        let taken = timeout(TURN_MAX_WAIT, async {
            let _turn = turn.lock().await;
            while let Ok(PerSecondDecision::RetryAfter(wait)) =
                state.take_per_second(&key, half).get().await
            {
                sleep(wait).await;
            }
        });
        taken.await.is_ok()
    }

    fn channel_turn(&self, channel: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self
            .of_channel
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Channels that are not configured any more have no polls.
        turns.retain(|name, turn| **name == *channel || Arc::strong_count(turn) > 1);
        turns.entry(channel.into()).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::state::memory::MemoryStore;
    use tokio::task::JoinSet;

    #[tokio::test]
    async fn polls_get_their_turns_in_the_order_in_which_they_came() {
        let state: Arc<dyn StateStore> = Arc::new(MemoryStore::default());
        let turns = Arc::new(ChannelPollTurns::default());
        let taken: Arc<Mutex<Vec<u32>>> = Arc::default();
        let mut polls = JoinSet::new();
        for n in 0..4 {
            let (state, turns, taken) = (state.clone(), turns.clone(), Arc::clone(&taken));
            polls.spawn(async move {
                assert!(turns.take(&*state, "a", Some(2)).await);
                taken.lock().unwrap().push(n);
            });
            tokio::task::yield_now().await;
        }
        // Another channel has turns of its own.
        assert!(turns.take(&*state, "b", Some(2)).await);
        assert!(taken.lock().unwrap().len() <= 1);
        polls.join_all().await;
        assert_eq!(*taken.lock().unwrap(), [0, 1, 2, 3]);
    }
}
