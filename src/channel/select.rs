//! Which candidate an attempt goes to: of the lowest tier that has a usable one, by weight and load.
//!
//! Two are drawn by weight, and the one with less to do for its weight is taken. Idle channels thus
//! share by weight exactly as drawn, and one that has become slow is relieved at once, before any
//! deadline has told that it is; a smooth round robin would go on feeding it its share. Nothing is
//! counted across requests, so that there is nothing to lock.
//!
//! Where every channel is left alone, the first attempt goes to the one that is back soonest all the
//! same, unless its provider asked to be left alone or refused the key: an honest error of the
//! provider is worth more than one of ours, and often there is none.

#[cfg(test)]
pub(super) mod tests;

use super::chance::draw_below;
use super::clock::Moment;
use super::health::{Health, Leave, Standing};
use super::lease::{Asked, Lease};
use super::live::{Channels, Load, Reached};
use super::outcome::{Scope, Why};
use crate::catalog::model::Candidate;
use std::sync::Arc;
use std::time::Duration;

/// A candidate that was lost to another request meanwhile is drawn again so often.
const DRAWS_MAX: usize = 8;

/// No candidate can be used now.
#[derive(Debug)]
pub struct NoneUsable {
    /// Each candidate with the reason; for operators, never for callers.
    pub reasons: Vec<(Arc<str>, Reason)>,
}

/// Why a candidate is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It was tried for this request already.
    Tried,
    Full(Reached),
    /// Left alone, as a whole, with this model, or with every key it has.
    Cooling {
        scope: Scope,
        why: Why,
        left: Duration,
        /// Whether it may serve as a last resort.
        softly: bool,
    },
}

impl Channels {
    /// Begins the use of the candidate that should be tried next.
    ///
    /// # Errors
    /// Why each of them cannot be used.
    pub fn choose(
        self: &Arc<Self>,
        candidates: &[Candidate],
        tried: &[Arc<str>],
        now: Moment,
    ) -> Result<Lease, NoneUsable> {
        for _ in 0..DRAWS_MAX {
            let usable = self.usable(candidates, tried, now);
            let Some(drawn) = draw(&usable, draw_below) else {
                break;
            };
            let load = drawn.load.clone();
            if let Some(lease) = self.begin(drawn.candidate, load, now, Health::ask) {
                return Ok(lease);
            }
        }
        if tried.is_empty()
            && let Some(lease) = self.last_resort(candidates, now)
        {
            return Ok(lease);
        }
        Err(NoneUsable {
            reasons: self.reasons(candidates, tried, now),
        })
    }

    /// Whether there is a candidate to try next, as it stands.
    pub fn has_another<'c>(
        &self,
        candidates: impl IntoIterator<Item = &'c Candidate>,
        tried: &[Arc<str>],
        now: Moment,
    ) -> bool {
        candidates
            .into_iter()
            .any(|candidate| self.reason_against(candidate, tried, now).is_none())
    }

    /// Why `candidate` cannot be used; none if it can.
    pub fn reason_against(
        &self,
        candidate: &Candidate,
        tried: &[Arc<str>],
        now: Moment,
    ) -> Option<Reason> {
        let channel = &candidate.channel;
        if tried.contains(&channel.name) {
            return Some(Reason::Tried);
        }
        if let Some(reached) = self.load(channel).reached(&channel.limits, now) {
            return Some(Reason::Full(reached));
        }
        let model = candidate.model.as_ref().map(|model| model.fingerprint);
        [
            (Scope::Channel, Some(channel.fingerprint)),
            (Scope::Model, model),
        ]
        .into_iter()
        .find_map(|(scope, fingerprint)| self.cooling(scope, fingerprint?, now))
        .or_else(|| self.all_keys_cooling(candidate, now))
    }

    /// The usable candidates of the lowest tier that has any.
    fn usable<'c>(
        &self,
        candidates: &'c [Candidate],
        tried: &[Arc<str>],
        now: Moment,
    ) -> Vec<Drawable<'c>> {
        let mut usable: Vec<Drawable<'c>> = Vec::new();
        for candidate in candidates {
            let tier = candidate.channel.tier;
            if usable
                .first()
                .is_some_and(|first| first.candidate.channel.tier != tier)
            {
                break;
            }
            if self.reason_against(candidate, tried, now).is_none() {
                usable.push(Drawable {
                    candidate,
                    load: self.load(&candidate.channel),
                });
            }
        }
        usable
    }

    /// The use of a channel that is left alone, of those that are back soonest.
    fn last_resort(self: &Arc<Self>, candidates: &[Candidate], now: Moment) -> Option<Lease> {
        let mut cooling: Vec<(Duration, &Candidate)> = candidates
            .iter()
            .filter_map(
                |candidate| match self.reason_against(candidate, &[], now)? {
                    Reason::Cooling { left, softly, .. } if softly => Some((left, candidate)),
                    _ => None,
                },
            )
            .collect();
        cooling.sort_by_key(|(left, candidate)| (candidate.channel.tier, *left));
        cooling.into_iter().find_map(|(_, candidate)| {
            let load = self.load(&candidate.channel);
            self.begin(candidate, load, now, Health::ask_as_last_resort)
        })
    }

    fn reasons(
        &self,
        candidates: &[Candidate],
        tried: &[Arc<str>],
        now: Moment,
    ) -> Vec<(Arc<str>, Reason)> {
        candidates
            .iter()
            .filter_map(|candidate| {
                let reason = self.reason_against(candidate, tried, now)?;
                Some((candidate.channel.name.clone(), reason))
            })
            .collect()
    }

    fn cooling(&self, scope: Scope, fingerprint: u64, now: Moment) -> Option<Reason> {
        match self.health(fingerprint)?.standing(now) {
            Standing::Cooling { until, why, softly } => Some(Reason::Cooling {
                scope,
                why,
                left: now.until(until),
                softly,
            }),
            Standing::Well | Standing::OnProbation { .. } => None,
        }
    }

    /// The reason of the key that is back first, if none can be used.
    fn all_keys_cooling(&self, candidate: &Candidate, now: Moment) -> Option<Reason> {
        let mut soonest: Option<(Duration, Reason)> = None;
        let may_use = |place: usize| candidate.key.is_none_or(|only| only == place);
        let keys = candidate.channel.credentials.iter().enumerate();
        for (_, key) in keys.filter(|(place, _)| may_use(*place)) {
            let reason = self.cooling(Scope::Credential, key.fingerprint, now)?;
            if let Reason::Cooling { left, .. } = reason
                && soonest.is_none_or(|(least, _)| left < least)
            {
                soonest = Some((left, reason));
            }
        }
        soonest.map(|(_, reason)| reason)
    }

    /// Asks everything that the attempt uses; none if something was lost to another request.
    fn begin(
        self: &Arc<Self>,
        candidate: &Candidate,
        load: Arc<Load>,
        now: Moment,
        leave: AskFor,
    ) -> Option<Lease> {
        let channel = &candidate.channel;
        let model = candidate.model.as_ref().map(|model| model.fingerprint);
        let whole = self.ask(Scope::Channel, Some(channel.fingerprint), now, leave)?;
        let Some(model) = self.ask(Scope::Model, model, now, leave) else {
            give_back(&whole);
            return None;
        };
        let keys = channel.credentials.len();
        let first = if keys > 1 { load.next_turn() } else { 0 };
        let mut in_turn = (0..keys)
            .map(|offset| first.wrapping_add(offset) % keys)
            .filter(|key| candidate.key.is_none_or(|only| only == *key));
        let key = in_turn.find_map(|key| {
            let fingerprint = channel.credentials[key].fingerprint;
            let asked = self.ask(Scope::Credential, Some(fingerprint), now, leave)?;
            Some((Some(key), asked))
        });
        let key = match keys {
            0 => self
                .ask(Scope::Credential, None, now, leave)
                .map(|asked| (None, asked)),
            _ => key,
        };
        let Some((key, credential)) = key else {
            give_back(&whole);
            give_back(&model);
            return None;
        };
        let asked = [whole, model, credential];
        if !load.begin(&channel.limits, now) {
            asked.iter().for_each(give_back);
            return None;
        }
        Some(Lease::new(self, candidate, key, load, asked))
    }

    fn ask(
        &self,
        scope: Scope,
        fingerprint: Option<u64>,
        now: Moment,
        leave: AskFor,
    ) -> Option<Asked> {
        let health = match fingerprint.and_then(|fingerprint| self.health(fingerprint)) {
            Some(health) => {
                let leave = leave(&health, now)?;
                Some((health, leave))
            }
            None => None,
        };
        Some(Asked {
            scope,
            fingerprint,
            health,
        })
    }
}

impl NoneUsable {
    /// Whether waiting could help: something is full that may have room soon.
    pub fn is_full(&self) -> bool {
        self.reasons
            .iter()
            .any(|(_, reason)| matches!(reason, Reason::Full(_)))
    }

    /// When the first candidate may be used again, where that is known.
    pub fn retry_after(&self) -> Option<Duration> {
        self.reasons
            .iter()
            .filter_map(|(_, reason)| match reason {
                Reason::Cooling { left, .. } => Some(*left),
                Reason::Full(_) => Some(Duration::from_secs(1)),
                Reason::Tried => None,
            })
            .min()
    }
}

impl std::fmt::Display for NoneUsable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (channel, reason)) in self.reasons.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{channel}: {reason}")?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tried => f.write_str("tried already"),
            Self::Full(reached) => write!(f, "has reached its {}", reached.name()),
            Self::Cooling {
                scope, why, left, ..
            } => write!(
                f,
                "{} {}, left alone for {:.1} s more",
                scope.name(),
                why.name(),
                left.as_secs_f64()
            ),
        }
    }
}

/// How leave is asked for: in the usual way, or as a last resort.
type AskFor = fn(&Health, Moment) -> Option<Leave>;

struct Drawable<'c> {
    candidate: &'c Candidate,
    load: Arc<Load>,
}

impl Drawable<'_> {
    fn weight(&self) -> u32 {
        u32::from(self.candidate.channel.weight)
    }

    /// Whether it has less to do for its weight than `other`.
    fn is_freer_than(&self, other: &Self) -> bool {
        let mine = u64::from(self.load.in_flight()) * u64::from(other.weight());
        let theirs = u64::from(other.load.in_flight()) * u64::from(self.weight());
        mine < theirs
    }
}

fn draw<'a, 'c>(
    usable: &'a [Drawable<'c>],
    mut below: impl FnMut(u32) -> u32,
) -> Option<&'a Drawable<'c>> {
    let [only] = usable else {
        let total = usable.iter().map(Drawable::weight).sum();
        let first = by_weight(usable, below(total))?;
        let second = by_weight(usable, below(total))?;
        return Some(if second.is_freer_than(first) {
            second
        } else {
            first
        });
    };
    Some(only)
}

fn by_weight<'a, 'c>(usable: &'a [Drawable<'c>], mut drawn: u32) -> Option<&'a Drawable<'c>> {
    usable.iter().find(|candidate| {
        let weight = candidate.weight();
        let is_it = drawn < weight;
        drawn = drawn.saturating_sub(weight);
        is_it
    })
}

fn give_back(asked: &Asked) {
    if let Some((health, leave @ Leave::Probe)) = &asked.health {
        health.untold(*leave);
    }
}
