//! Draws a candidate: two by weight, of which the one with less load, or the faster one, is used.

use crate::clock::MonotonicTime;
use crate::live::{ChannelLoad, ChannelStates};
use crate::state_map::StateHandle;
use headgate_core::catalog::model::Candidate;

/// A candidate that can be used, with the load of its channel.
pub(super) struct CandidateWithLoad<'c> {
    pub candidate: &'c Candidate,
    pub load: StateHandle<ChannelLoad>,
}

impl CandidateWithLoad<'_> {
    /// Whether it is a candidate by its model alone, and not by an id in the request.
    pub fn is_any(&self) -> bool {
        !self.candidate.is_preferred && !self.candidate.is_bound
    }

    pub fn weight(&self) -> u32 {
        u32::from(self.candidate.channel.weight)
    }

    /// Whether this candidate has fewer requests in flight for its weight than `other`.
    pub fn is_freer_than(&self, other: &Self) -> bool {
        let mine = u64::from(self.load.in_flight()) * u64::from(other.weight());
        let theirs = u64::from(other.load.in_flight()) * u64::from(self.weight());
        mine < theirs
    }
}

/// Draws two candidates by weight, and returns the one with less load. Both may be the same, so that idle channels share
/// by weight.
pub(super) fn draw<'a, 'c>(
    usable: &'a [CandidateWithLoad<'c>],
    mut below: impl FnMut(u32) -> u32,
) -> Option<&'a CandidateWithLoad<'c>> {
    let [only] = usable else {
        let total = usable.iter().map(CandidateWithLoad::weight).sum();
        let first = by_weight(usable.iter(), below(total))?;
        let second = by_weight(usable.iter(), below(total))?;
        return Some(if second.is_freer_than(first) {
            second
        } else {
            first
        });
    };
    Some(only)
}

impl ChannelStates {
    /// Draws two candidates by weight, and returns the one with the lower cost. They differ, so that a slow channel gets few
    /// requests although others are idle.
    pub(super) fn draw_faster<'a, 'c>(
        &self,
        usable: &'a [CandidateWithLoad<'c>],
        mut below: impl FnMut(u32) -> u32,
        now: MonotonicTime,
    ) -> Option<&'a CandidateWithLoad<'c>> {
        let [only] = usable else {
            let total: u32 = usable.iter().map(CandidateWithLoad::weight).sum();
            let first = by_weight(usable.iter(), below(total))?;
            let others = usable.iter().filter(|one| !std::ptr::eq(*one, first));
            let second = by_weight(others, below(total - first.weight()))?;
            return Some(match self.cost(second, now) < self.cost(first, now) {
                true => second,
                false => first,
            });
        };
        Some(only)
    }

    /// The recent latency of a candidate times its requests in flight, for its weight.
    fn cost(&self, one: &CandidateWithLoad<'_>, now: MonotonicTime) -> f64 {
        let latency = self.candidate_latency(one.candidate);
        let cost = latency.map_or(0.0, |latency| latency.cost(now, one.load.in_flight()));
        cost / f64::from(one.weight())
    }
}

fn by_weight<'a, 'c: 'a>(
    mut usable: impl Iterator<Item = &'a CandidateWithLoad<'c>>,
    mut drawn: u32,
) -> Option<&'a CandidateWithLoad<'c>> {
    usable.find(|candidate| {
        let weight = candidate.weight();
        let is_it = drawn < weight;
        drawn = drawn.saturating_sub(weight);
        is_it
    })
}
