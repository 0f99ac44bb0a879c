//! What callers have used of their limits, counted in memory.

use super::calendar::period;
use super::clock::Timestamp;
use super::demand::{Admission, Counter, Demand, Limit, Measure, Standing, Ticket, Verdict};
use super::window::Window;
use std::collections::HashMap;
use std::time::Duration;

/// A place is freed when another request ends, and nobody knows when that is.
pub const PLACE_RETRY: Duration = Duration::from_secs(1);

/// Below so many counters none is looked at for having become idle.
const COUNTERS_KEPT: usize = 1_024;

/// What was counted, by caller, model and measure.
#[derive(Debug, Default)]
pub struct Counts {
    counted: HashMap<Counter, Counted>,
    /// How many counters there may be before idle ones are removed: callers come and go with the configuration.
    prune_at: usize,
}

#[derive(Debug)]
enum Counted {
    Minute(Window),
    Now(u64),
    Period(Period),
}

/// What was used of a budget since the first millisecond of its period.
#[derive(Debug, Default)]
struct Period {
    since: u64,
    used: u64,
    /// The part of it that no file knows yet.
    unwritten: i64,
}

impl Counts {
    /// Takes what `demand` needs `now` from all of its limits, or from none.
    pub fn admit(&mut self, demand: &Demand<'_>, now: Timestamp) -> Admission {
        self.prune(now);
        let mut refused: Option<(usize, Duration)> = None;
        for (index, limit) in demand.limits.iter().enumerate() {
            let counted = self.counted_of(limit);
            let wait = counted.wait_for(limit, demand.tokens, now);
            if wait > refused.map_or(Duration::ZERO, |(_, longest)| longest) {
                refused = Some((index, wait));
            }
        }
        let standings = demand
            .limits
            .iter()
            .map(|limit| {
                let counted = self.counted_of(limit);
                if refused.is_none() {
                    counted.take(limit.measure, demand.tokens, now);
                }
                counted.standing(limit, now)
            })
            .collect();
        let verdict = match refused {
            Some((limit, retry_after)) => Verdict::Refused { limit, retry_after },
            None => Verdict::Granted(Ticket {
                limits: demand.limits.to_vec(),
                tokens: demand.tokens,
                taken_at: now,
                place: 0,
            }),
        };
        Admission { standings, verdict }
    }

    /// Corrects the estimate of `ticket`, and frees its place.
    pub fn settle(&mut self, ticket: &Ticket, tokens_used: u64) {
        for limit in &ticket.limits {
            if let Some(counted) = self.counted.get_mut(&limit.counter()) {
                counted.settle(limit.measure, ticket, tokens_used);
            }
        }
    }

    /// A file holds `total` for the period that began at `since`, of which `tokens` came from here just now.
    pub fn written(&mut self, counter: &Counter, since: u64, tokens: u64, total: u64) {
        if let Some(Counted::Period(period)) = self.counted.get_mut(counter)
            && period.since == since
        {
            period.unwritten = period.unwritten.saturating_sub_unsigned(tokens);
            period.used = total.saturating_add_signed(period.unwritten);
        }
    }

    /// A file held `total` for the period that began at `since` when it was opened.
    pub fn restore(&mut self, counter: Counter, since: u64, total: u64) {
        let period = Period {
            since,
            used: total,
            unwritten: 0,
        };
        self.counted.insert(counter, Counted::Period(period));
    }

    /// Removes what is counted no more, once there is much of it.
    fn prune(&mut self, now: Timestamp) {
        if self.counted.len() >= self.prune_at.max(COUNTERS_KEPT) {
            self.counted
                .retain(|counter, counted| !counted.is_idle(counter.measure, now));
            self.prune_at = 2 * self.counted.len();
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.counted.len()
    }

    fn counted_of(&mut self, limit: &Limit) -> &mut Counted {
        self.counted
            .entry(limit.counter())
            .or_insert_with(|| Counted::new(limit.measure))
    }
}

impl Counted {
    fn new(measure: Measure) -> Self {
        match measure {
            Measure::RequestsPerMinute | Measure::TokensPerMinute => {
                Self::Minute(Window::default())
            }
            Measure::Concurrent => Self::Now(0),
            Measure::TokensPerDay | Measure::TokensPerMonth => Self::Period(Period::default()),
        }
    }

    /// Until a demand of `tokens` fits; zero if it does now.
    fn wait_for(&mut self, limit: &Limit, tokens: u64, now: Timestamp) -> Duration {
        let room = room_of(limit.measure, tokens);
        match self {
            // What never fits alone is let in when nothing else is there: an estimate may be wrong.
            Self::Minute(window) => window
                .wait_for(now.steady_ms, room.min(limit.most), limit.most)
                .unwrap_or(Duration::from_secs(60)),
            Self::Now(places) if *places < limit.most => Duration::ZERO,
            Self::Now(_) => PLACE_RETRY,
            Self::Period(budget) => {
                let (since, next) = period(limit.measure, now.unix_ms);
                if budget.since != since {
                    *budget = Period {
                        since,
                        ..Period::default()
                    };
                }
                match budget.used < limit.most {
                    true => Duration::ZERO,
                    false => Duration::from_millis(next - now.unix_ms),
                }
            }
        }
    }

    fn take(&mut self, measure: Measure, tokens: u64, now: Timestamp) {
        match self {
            Self::Minute(window) => window.add(now.steady_ms, room_of(measure, tokens)),
            Self::Now(places) => *places += 1,
            Self::Period(budget) => budget.change(0, tokens),
        }
    }

    fn settle(&mut self, measure: Measure, ticket: &Ticket, tokens_used: u64) {
        match self {
            Self::Minute(window) if measure == Measure::TokensPerMinute => {
                window.correct(ticket.taken_at.steady_ms, ticket.tokens, tokens_used);
            }
            Self::Minute(_) => {}
            Self::Now(places) => *places = places.saturating_sub(1),
            Self::Period(budget) => {
                if budget.since == period(measure, ticket.taken_at.unix_ms).0 {
                    budget.change(ticket.tokens, tokens_used);
                }
            }
        }
    }

    /// Whether a counter that begins anew would say the same.
    fn is_idle(&mut self, measure: Measure, now: Timestamp) -> bool {
        match self {
            Self::Minute(window) => window.sum(now.steady_ms) == 0,
            Self::Now(places) => *places == 0,
            Self::Period(budget) => {
                budget.unwritten == 0 && budget.since != period(measure, now.unix_ms).0
            }
        }
    }

    fn standing(&mut self, limit: &Limit, now: Timestamp) -> Standing {
        let (used, reset) = match self {
            Self::Minute(window) => (window.sum(now.steady_ms), window.reset(now.steady_ms)),
            Self::Now(places) => (*places, Duration::ZERO),
            Self::Period(budget) => {
                let (_, next) = period(limit.measure, now.unix_ms);
                (budget.used, Duration::from_millis(next - now.unix_ms))
            }
        };
        Standing {
            remaining: limit.most.saturating_sub(used),
            reset,
        }
    }
}

impl Period {
    fn change(&mut self, less: u64, more: u64) {
        self.used = self.used.saturating_sub(less).saturating_add(more);
        self.unwritten = self
            .unwritten
            .saturating_sub_unsigned(less)
            .saturating_add_unsigned(more);
    }
}

/// What a request takes of a minute's limit.
fn room_of(measure: Measure, tokens: u64) -> u64 {
    match measure {
        Measure::TokensPerMinute => tokens,
        _ => 1,
    }
}
