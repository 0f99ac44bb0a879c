//! Requests in flight for missing entries: the first request for a key leads, and others wait for what it records.
//!
//! A leader is an exchange of its own caller. If that caller leaves, the followers elect another leader among them.

use super::entry::{CacheKey, CachedResponse};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The keys of these requests, each until its leader ends or is dropped.
#[derive(Default)]
pub(super) struct CoalescedRequests {
    in_flight: Mutex<HashMap<CacheKey, watch::Receiver<Option<CoalescingOutcome>>>>,
}

/// What a request does among the requests in flight with its key.
pub(super) enum CoalescingRole {
    Leader(CoalescingLeader),
    Follower(CoalescingFollower),
}

/// The request that is sent to a provider. Others wait for it until it ends or is dropped.
pub struct CoalescingLeader {
    requests: Arc<CoalescedRequests>,
    key: CacheKey,
    sender: watch::Sender<Option<CoalescingOutcome>>,
}

/// A request that waits for the leader.
pub(super) struct CoalescingFollower(watch::Receiver<Option<CoalescingOutcome>>);

/// How a leader ended.
#[derive(Clone)]
pub enum CoalescingOutcome {
    Recorded(Arc<CachedResponse>),
    /// There is no response that may be recorded: each follower sends its own request.
    NotRecorded,
    /// The caller of the leader left: a follower leads.
    LeaderLeft,
}

impl CoalescedRequests {
    pub fn join(self: &Arc<Self>, key: CacheKey) -> CoalescingRole {
        match self.lock().entry(key) {
            Entry::Occupied(known) => {
                CoalescingRole::Follower(CoalescingFollower(known.get().clone()))
            }
            Entry::Vacant(vacant) => {
                let (sender, outcome) = watch::channel(None);
                vacant.insert(outcome);
                CoalescingRole::Leader(CoalescingLeader {
                    requests: self.clone(),
                    key,
                    sender,
                })
            }
        }
    }

    fn lock(
        &self,
    ) -> MutexGuard<'_, HashMap<CacheKey, watch::Receiver<Option<CoalescingOutcome>>>> {
        self.in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl CoalescingLeader {
    /// Ends the wait of all others. What was recorded must be in the cache by now: the next request for the key leads again.
    pub fn finish(self, outcome: CoalescingOutcome) {
        self.requests.lock().remove(&self.key);
        self.sender.send_replace(Some(outcome));
    }
}

impl Drop for CoalescingLeader {
    fn drop(&mut self) {
        if self.sender.borrow().is_none() {
            self.requests.lock().remove(&self.key);
            self.sender
                .send_replace(Some(CoalescingOutcome::LeaderLeft));
        }
    }
}

impl CoalescingFollower {
    pub async fn outcome(&mut self) -> CoalescingOutcome {
        match self.0.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(CoalescingOutcome::LeaderLeft),
            // The leader sends an outcome before its side of the channel is dropped.
            Err(_) => CoalescingOutcome::LeaderLeft,
        }
    }
}
