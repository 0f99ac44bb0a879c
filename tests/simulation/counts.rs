//! How much of what schedules are for has happened in them: an invariant that is never at risk proves nothing.

use super::life::LifeRemains;
use super::world::World;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Counts of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleCounts {
    pub exchanges: usize,
    pub attempts: u64,
    pub departures: usize,
    pub made_creates: usize,
    pub replays: usize,
    pub unknown_outcomes: usize,
    pub deliveries: usize,
    pub kills: usize,
    pub reservations: usize,
}

impl ScheduleCounts {
    pub fn new(world: &World, remains: &[LifeRemains]) -> Self {
        let lines = || remains.iter().flat_map(|it| &it.lines);
        let with = |field: &str, value: &str| lines().filter(|line| line[field] == value).count();
        let attempts = lines().filter_map(|line| line["attempts"].as_u64());
        let creates = world.providers.iter().map(|provider| provider.creates());
        Self {
            exchanges: lines().count(),
            attempts: attempts.sum(),
            departures: with("settlement", "client_cancelled"),
            made_creates: creates.map(|creates| creates.len()).sum(),
            replays: with("idempotency", "replayed"),
            unknown_outcomes: with("idempotency", "outcome_unknown"),
            deliveries: world.receiver.events().len(),
            kills: remains.iter().filter(|it| it.is_killed).count(),
            reservations: world.durable.books.money().len(),
        }
    }
}

impl AddAssign for ScheduleCounts {
    fn add_assign(&mut self, other: Self) {
        self.exchanges += other.exchanges;
        self.attempts += other.attempts;
        self.departures += other.departures;
        self.made_creates += other.made_creates;
        self.replays += other.replays;
        self.unknown_outcomes += other.unknown_outcomes;
        self.deliveries += other.deliveries;
        self.kills += other.kills;
        self.reservations += other.reservations;
    }
}
