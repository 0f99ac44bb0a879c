//! Requests in flight for missing entries: the first request for a key leads, and others wait for what it records.
//!
//! A leader is an exchange of its own caller. If that caller leaves, the followers elect another leader among them.

use super::entry::{CacheKey, CachedResponse};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The flights by key. Each ends with its leader.
#[derive(Default)]
pub(super) struct FlightTable {
    flights: Mutex<HashMap<CacheKey, watch::Receiver<Option<FlightOutcome>>>>,
}

/// The place of a request in a flight.
pub(super) enum FlightPlace {
    Leader(FlightLeader),
    Follower(FlightFollower),
}

/// The request that is sent to a provider. The flight ends when its leader lands, or is dropped.
pub struct FlightLeader {
    table: Arc<FlightTable>,
    key: CacheKey,
    lands: watch::Sender<Option<FlightOutcome>>,
}

/// A request that waits for the leader.
pub(super) struct FlightFollower(watch::Receiver<Option<FlightOutcome>>);

/// How a flight ended.
#[derive(Clone)]
pub enum FlightOutcome {
    Recorded(Arc<CachedResponse>),
    /// There is no response that may be recorded: each follower sends its own request.
    NotRecorded,
    /// The caller of the leader left: a follower leads.
    LeaderLeft,
}

impl FlightTable {
    pub fn join(self: &Arc<Self>, key: CacheKey) -> FlightPlace {
        match self.lock().entry(key) {
            Entry::Occupied(flight) => FlightPlace::Follower(FlightFollower(flight.get().clone())),
            Entry::Vacant(vacant) => {
                let (lands, outcome) = watch::channel(None);
                vacant.insert(outcome);
                FlightPlace::Leader(FlightLeader {
                    table: self.clone(),
                    key,
                    lands,
                })
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CacheKey, watch::Receiver<Option<FlightOutcome>>>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FlightLeader {
    /// Ends the flight. What it recorded must be in the cache by now: the next request for the key begins another one.
    pub fn land(self, outcome: FlightOutcome) {
        self.table.lock().remove(&self.key);
        self.lands.send_replace(Some(outcome));
    }
}

impl Drop for FlightLeader {
    fn drop(&mut self) {
        if self.lands.borrow().is_none() {
            self.table.lock().remove(&self.key);
            self.lands.send_replace(Some(FlightOutcome::LeaderLeft));
        }
    }
}

impl FlightFollower {
    pub async fn outcome(&mut self) -> FlightOutcome {
        match self.0.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(FlightOutcome::LeaderLeft),
            // The leader sends an outcome before its side of the channel is dropped.
            Err(_) => FlightOutcome::LeaderLeft,
        }
    }
}
