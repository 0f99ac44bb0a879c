//! Selects the candidate of a request with an affinity key: the first one in the order of the key that has room.

#[cfg(test)]
mod tests;

use super::draw::CandidateWithLoad;
use crate::balancing::{LoadShares, RequestAffinity};
use crate::clock::MonotonicTime;
use crate::live::ChannelStates;
use crate::unusable::UnusableReason;
use headgate_core::catalog::affinity::AffinityOutcome;
use headgate_core::catalog::model::Candidate;
use std::sync::Arc;

impl ChannelStates {
    /// The candidate to use: the first one in the order of the key whose load is below its share, and on which the caller
    /// is below its share. Of `usable`, which have the same rank.
    pub(super) fn first_in_order<'a, 'c>(
        &self,
        affinity: &RequestAffinity,
        usable: &'a [CandidateWithLoad<'c>],
    ) -> Option<&'a CandidateWithLoad<'c>> {
        let score = |one: &CandidateWithLoad<'_>| {
            affinity
                .key
                .score(&one.candidate.channel.name, one.candidate.channel.weight)
        };
        let mut order: Vec<(f64, &CandidateWithLoad<'c>)> =
            usable.iter().map(|one| (score(one), one)).collect();
        order.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let load = |one: &CandidateWithLoad<'_>| u64::from(one.load.in_flight());
        let of_caller = affinity.caller.as_deref();
        let of_caller = of_caller.map_or(Vec::new(), |caller| self.caller_loads.counts(caller));
        let callers_load = |one: &CandidateWithLoad<'_>| {
            let mut counts = of_caller.iter();
            let count = counts.find(|(channel, _)| *channel == one.candidate.channel.fingerprint);
            count.map_or(0, |(_, count)| u64::from(*count))
        };
        let shares = |load: &dyn Fn(&CandidateWithLoad<'_>) -> u64| LoadShares {
            in_flight: usable.iter().map(load).sum(),
            weight: usable.iter().map(|one| u64::from(one.weight())).sum(),
            factor: affinity.balance_factor,
        };
        let (all, callers) = (shares(&load), shares(&callers_load));
        let has_room = |one: &CandidateWithLoad<'_>| all.admits(load(one), one.weight().into());
        let has_callers_room =
            |one: &CandidateWithLoad<'_>| callers.admits(callers_load(one), one.weight().into());
        let order = || order.iter().map(|(_, one)| *one);
        order()
            .find(|one| has_room(one) && has_callers_room(one))
            // The channels with room may be those that the caller has filled.
            .or_else(|| order().find(|one| has_callers_room(one)))
            .or_else(|| order().next())
    }

    /// Why `candidate` serves a request of this key.
    pub(super) fn affinity_outcome(
        &self,
        affinity: &RequestAffinity,
        candidate: &Candidate,
        candidates: &[Candidate],
        tried: &[Arc<str>],
        now: MonotonicTime,
    ) -> AffinityOutcome {
        let own = own_candidate(affinity, candidates).unwrap_or(candidate);
        if own.channel.name == candidate.channel.name {
            return AffinityOutcome::Own;
        }
        match self.unusable_reason(own, tried, now) {
            None | Some(UnusableReason::AtLimit(_)) => AffinityOutcome::Spilled,
            Some(UnusableReason::CoolingDown { .. }) => AffinityOutcome::CoolingDown,
            Some(UnusableReason::Drained) => AffinityOutcome::Drained,
            Some(UnusableReason::AlreadyTried) => AffinityOutcome::FailedOver,
        }
    }
}

/// The candidate of the key while all can be used: the first one in its order, of the lowest tier.
fn own_candidate<'c>(
    affinity: &RequestAffinity,
    candidates: &'c [Candidate],
) -> Option<&'c Candidate> {
    let tier = candidates.iter().map(|one| one.channel.tier).min()?;
    let score = |one: &Candidate| affinity.key.score(&one.channel.name, one.channel.weight);
    let of_tier = candidates.iter().filter(|one| one.channel.tier == tier);
    of_tier.max_by(|a, b| score(a).total_cmp(&score(b)))
}
