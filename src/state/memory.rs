//! State in the memory of one process: forgotten when it ends.

use super::demand::{Admission, Demand, Limit, Measure, Standing, Ticket, Verdict};
use super::generations::Generations;
use super::window::Window;
use super::{Pending, Store};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// A place is freed when another request ends, and nobody knows when that is.
const PLACE_RETRY: Duration = Duration::from_secs(1);

/// State of this process alone.
#[derive(Default)]
pub struct Memory {
    made: Mutex<Generations>,
    counted: Mutex<HashMap<Limit, Counted>>,
}

/// What was counted under a limit.
enum Counted {
    Minute(Window),
    Now(u64),
    /// The period's first millisecond, and what was used in it.
    Period {
        since: u64,
        used: u64,
    },
}

impl Store for Memory {
    fn remember(&self, caller: &Arc<str>, id: &str, channel: &Arc<str>) {
        lock(&self.made).remember(caller, id, channel);
    }

    fn channel_of<'a>(
        &'a self,
        caller: &'a Arc<str>,
        id: &'a str,
    ) -> Pending<'a, Option<Arc<str>>> {
        Pending::Ready(Ok(lock(&self.made).channel_of(caller, id)))
    }

    fn forget(&self, caller: &Arc<str>, id: &str) {
        lock(&self.made).forget(caller, id);
    }

    fn admit<'a>(&'a self, demand: &'a Demand<'a>) -> Pending<'a, Admission> {
        Pending::Ready(Ok(self.admit_at(demand, unix_ms())))
    }

    fn settle(&self, ticket: Ticket, tokens_used: u64) {
        let mut counted = lock(&self.counted);
        for limit in &ticket.limits {
            if let Some(counted) = counted.get_mut(limit) {
                counted.settle(limit.measure, &ticket, tokens_used);
            }
        }
    }
}

impl Memory {
    fn admit_at(&self, demand: &Demand<'_>, now_ms: u64) -> Admission {
        let mut counted = lock(&self.counted);
        let mut refused: Option<(usize, Duration)> = None;
        for (index, limit) in demand.limits.iter().enumerate() {
            let entry = counted
                .entry(limit.clone())
                .or_insert_with(|| Counted::new(limit.measure));
            let wait = entry.wait_for(limit, demand.tokens, now_ms);
            if wait > refused.map_or(Duration::ZERO, |(_, longest)| longest) {
                refused = Some((index, wait));
            }
        }
        let standings = demand
            .limits
            .iter()
            .map(|limit| {
                let entry = counted.get_mut(limit).expect("every limit has an entry");
                if refused.is_none() {
                    entry.take(limit.measure, demand.tokens, now_ms);
                }
                entry.standing(limit, now_ms)
            })
            .collect();
        let verdict = match refused {
            Some((limit, retry_after)) => Verdict::Refused { limit, retry_after },
            None => Verdict::Granted(Ticket {
                limits: demand.limits.to_vec(),
                tokens: demand.tokens,
                taken_at: now_ms,
            }),
        };
        Admission { standings, verdict }
    }
}

impl Counted {
    fn new(measure: Measure) -> Self {
        match measure {
            Measure::RequestsPerMinute | Measure::TokensPerMinute => {
                Self::Minute(Window::default())
            }
            Measure::Concurrent => Self::Now(0),
            Measure::TokensPerDay | Measure::TokensPerMonth => Self::Period { since: 0, used: 0 },
        }
    }

    /// Until a demand of `tokens` fits; zero if it does now.
    fn wait_for(&mut self, limit: &Limit, tokens: u64, now_ms: u64) -> Duration {
        let room = room_of(limit.measure, tokens);
        match self {
            // What never fits alone is let in when nothing else is there: an estimate may be wrong.
            Self::Minute(window) => window
                .wait_for(now_ms, room.min(limit.most), limit.most)
                .unwrap_or(Duration::from_secs(60)),
            Self::Now(places) if *places < limit.most => Duration::ZERO,
            Self::Now(_) => PLACE_RETRY,
            Self::Period { since, used } => {
                let (first, next) = period(limit.measure, now_ms);
                if *since != first {
                    (*since, *used) = (first, 0);
                }
                match *used < limit.most {
                    true => Duration::ZERO,
                    false => Duration::from_millis(next - now_ms),
                }
            }
        }
    }

    fn take(&mut self, measure: Measure, tokens: u64, now_ms: u64) {
        match self {
            Self::Minute(window) => window.add(now_ms, room_of(measure, tokens)),
            Self::Now(places) => *places += 1,
            Self::Period { used, .. } => *used += tokens,
        }
    }

    fn settle(&mut self, measure: Measure, ticket: &Ticket, tokens_used: u64) {
        match self {
            Self::Minute(window) if measure == Measure::TokensPerMinute => {
                window.correct(ticket.taken_at, ticket.tokens, tokens_used);
            }
            Self::Minute(_) => {}
            Self::Now(places) => *places = places.saturating_sub(1),
            Self::Period { since, used } => {
                if *since == period(measure, ticket.taken_at).0 {
                    *used = used.saturating_sub(ticket.tokens) + tokens_used;
                }
            }
        }
    }

    fn standing(&mut self, limit: &Limit, now_ms: u64) -> Standing {
        let (used, reset) = match self {
            Self::Minute(window) => (window.sum(now_ms), window.reset(now_ms)),
            Self::Now(places) => (*places, Duration::ZERO),
            Self::Period { used, .. } => {
                let (_, next) = period(limit.measure, now_ms);
                (*used, Duration::from_millis(next - now_ms))
            }
        };
        Standing {
            remaining: limit.most.saturating_sub(used),
            reset,
        }
    }
}

/// What a request takes of a minute's limit.
fn room_of(measure: Measure, tokens: u64) -> u64 {
    match measure {
        Measure::TokensPerMinute => tokens,
        _ => 1,
    }
}

/// First millisecond of the calendar day or month that `now_ms` lies in, and of the next one.
fn period(measure: Measure, now_ms: u64) -> (u64, u64) {
    let day = now_ms / DAY_MS;
    let (first, next) = match measure {
        Measure::TokensPerMonth => {
            let (year, month) = month_of(day);
            let following = if month == 12 {
                (year + 1, 1)
            } else {
                (year, month + 1)
            };
            (
                days_before(year, month),
                days_before(following.0, following.1),
            )
        }
        _ => (day, day + 1),
    };
    (first * DAY_MS, next * DAY_MS)
}

/// The year and month of a day counted from 1970-01-01, by the civil calendar.
fn month_of(day: u64) -> (u64, u64) {
    let shifted = day + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month)
}

/// Days from 1970-01-01 to the first of a month.
fn days_before(year: u64, month: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let (era, year_of_era) = (year / 400, year % 400);
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted_month + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn unix_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
