//! What this process has counted, in memory: rows of days, in parts that are stored as a whole.

use crate::counts::UsageCounts;
use crate::day::UsageDay;
use crate::settings::DailyUsageSettings;
use headgate_core::feature::exchange_recorder::{ExchangeRecorder, RecordedUse};
use headgate_core::feature::metrics::{ChargeChange, CostChange};
use headgate_core::random::random_hex;
use headgate_core::state::calendar::{unix_ms, whole_ms};
use headgate_core::state::lock::lock;
use serde::{Deserialize, Serialize};
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Rows of a part, which has room in a record.
const PART_ROWS: usize = 100;
/// The caller of rows beyond the limit.
pub(crate) const OTHER: &str = "other";
/// Bytes of a name that a row has.
const NAME_BYTES_MAX: usize = 256;
/// Days that are held at most while they cannot be stored.
const DAYS_MAX: usize = 32;
/// Days for which late uses are expected, such as those of a long stream.
const LATE_DAYS: u32 = 2;

/// What was counted since the process began and is not yet over. It outlives snapshots.
pub(crate) struct UsageTotals {
    /// A part of the keys of records: no two processes have the same.
    pub process: String,
    is_on: AtomicBool,
    rows_max: AtomicUsize,
    keep_ms: AtomicU64,
    /// Parts so far. A day that is forgotten and used again gets parts with other numbers.
    parts: AtomicU64,
    hasher: RandomState,
    days: Mutex<BTreeMap<UsageDay, DayTotals>>,
}

#[derive(Default)]
struct DayTotals {
    parts: Vec<RowPart>,
    /// The part and the position of rows, by the hash of their names.
    places: HashMap<u64, Vec<(usize, usize)>>,
    rows: usize,
}

/// Some rows of a day.
struct RowPart {
    number: u64,
    /// Copied on a change while a reader has them, so that readers take no time under the lock.
    rows: Arc<Vec<UsageRow>>,
    /// Which change of the part was stored last, and which was made last.
    stored: u64,
    changed: u64,
}

/// What was used with one caller, model and channel. Names are empty where there are none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UsageRow {
    pub caller: Box<str>,
    pub model: Box<str>,
    pub channel: Box<str>,
    pub currency: Box<str>,
    pub counts: UsageCounts,
}

/// The part of a day that is stored as one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PartId {
    pub day: UsageDay,
    /// Unique in the process.
    pub number: u64,
}

/// A part that has changed since it was stored.
pub(crate) struct ChangedPart {
    pub id: PartId,
    pub rows: Arc<Vec<UsageRow>>,
    /// The last change that the rows have.
    pub change: u64,
}

impl Default for UsageTotals {
    fn default() -> Self {
        Self {
            process: random_hex(2),
            is_on: AtomicBool::new(false),
            rows_max: AtomicUsize::new(0),
            keep_ms: AtomicU64::new(0),
            parts: AtomicU64::new(0),
            hasher: RandomState::new(),
            days: Mutex::default(),
        }
    }
}

impl ExchangeRecorder for UsageTotals {
    fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    fn record(&self, used: &RecordedUse<'_>) {
        // What has no cost may have a charge, for which there is one row then.
        let charged = used.charges.last().map(|charge| charge.currency);
        let currency = used.cost.map(|(_, currency)| currency).or(charged);
        let names = [used.caller, used.model, used.channel, currency];
        let names = names.map(Option::unwrap_or_default);
        self.change(UsageDay::at(used.time_ms), names, |counts| {
            counts.add_use(used)
        });
        for charge in used.charges {
            let (model, currency) = (Some(charge.model), Some(charge.currency));
            let names = [used.caller, model, charge.channel, currency];
            let names = names.map(Option::unwrap_or_default);
            self.change(UsageDay::at(charge.admitted_ms), names, |counts| {
                counts.add_charge(charge.nanos, 0);
            });
        }
    }

    /// A change belongs to the day on which it becomes known.
    fn change_cost(&self, change: &CostChange) {
        let labels = &change.labels;
        let names = [
            &*change.caller_name,
            &labels.model,
            &labels.channel,
            &labels.currency,
        ];
        self.change(UsageDay::at(unix_ms()), names, |counts| {
            counts.add_cost(change.added, change.refunded);
        });
    }

    /// A change belongs to the day of the admission, as it does in budgets.
    fn change_charge(&self, change: &ChargeChange) {
        let names = [
            &*change.caller,
            &change.model,
            &change.channel,
            &change.currency,
        ];
        self.change(UsageDay::at(change.admitted_ms), names, |counts| {
            counts.add_charge(change.added, change.refunded);
        });
    }
}

impl UsageTotals {
    /// Begins, or ends, to count.
    pub fn adopt(&self, settings: &DailyUsageSettings) {
        let rows_max = settings.rows_max.unwrap_or(0);
        self.rows_max.store(rows_max, Ordering::Relaxed);
        self.keep_ms
            .store(whole_ms(settings.keep), Ordering::Relaxed);
        self.is_on
            .store(settings.rows_max.is_some(), Ordering::Relaxed);
    }

    /// How long a day is kept after its end, in milliseconds.
    pub fn keep_ms(&self) -> u64 {
        self.keep_ms.load(Ordering::Relaxed)
    }

    /// What has changed since it was stored.
    pub fn changed_parts(&self) -> Vec<ChangedPart> {
        let mut changed = Vec::new();
        for (day, totals) in lock(&self.days).iter() {
            let parts = totals.parts.iter();
            let parts = parts.filter(|part| part.changed > part.stored);
            changed.extend(parts.map(|part| ChangedPart {
                id: part.id(*day),
                rows: part.rows.clone(),
                change: part.changed,
            }));
        }
        changed
    }

    /// Notes that a part was stored with the changes up to `change`.
    pub fn note_stored(&self, id: PartId, change: u64) {
        let mut days = lock(&self.days);
        let Some(day) = days.get_mut(&id.day) else {
            return;
        };
        // Parts are made with ascending numbers.
        let parts = &mut day.parts;
        if let Ok(place) = parts.binary_search_by_key(&id.number, |part| part.number) {
            parts[place].stored = parts[place].stored.max(change);
        }
    }

    /// Forgets days that are stored and over; if days cannot be stored for a month, also the earliest of them. Returns how
    /// many were not stored.
    pub fn forget_days_before(&self, today: UsageDay) -> usize {
        let mut days = lock(&self.days);
        let is_stored = |day: &DayTotals| day.parts.iter().all(|part| part.stored == part.changed);
        days.retain(|day, totals| *day >= today.before(LATE_DAYS) || !is_stored(totals));
        let surplus = days.len().saturating_sub(DAYS_MAX);
        for _ in 0..surplus {
            days.pop_first();
        }
        surplus
    }

    /// The rows of a day that are in memory, by part.
    pub fn parts_between(&self, from: UsageDay, to: UsageDay) -> Vec<(PartId, Arc<Vec<UsageRow>>)> {
        let days = lock(&self.days);
        let parts = days.range(from..=to).flat_map(|(day, totals)| {
            let parts = totals.parts.iter();
            parts.map(|part| (part.id(*day), part.rows.clone()))
        });
        parts.collect()
    }

    fn change(&self, day: UsageDay, names: [&str; 4], change: impl FnOnce(&mut UsageCounts)) {
        let rows_max = self.rows_max.load(Ordering::Relaxed);
        let names = names.map(|name| &name[..name.floor_char_boundary(NAME_BYTES_MAX)]);
        let mut days = lock(&self.days);
        let totals = days.entry(day).or_default();
        let place = totals
            .find(self.hasher.hash_one(names), names)
            .unwrap_or_else(|| {
                let [_, model, channel, currency] = names;
                let names = match totals.rows < rows_max {
                    true => names,
                    false => [OTHER, model, channel, currency],
                };
                let hash = self.hasher.hash_one(names);
                let known = totals.find(hash, names);
                known.unwrap_or_else(|| totals.insert(hash, names, &self.parts))
            });
        let part = &mut totals.parts[place.0];
        part.changed += 1;
        change(&mut Arc::make_mut(&mut part.rows)[place.1].counts);
    }
}

impl DayTotals {
    fn find(&self, hash: u64, names: [&str; 4]) -> Option<(usize, usize)> {
        let mut places = self.places.get(&hash)?.iter();
        places
            .find(|(part, row)| self.parts[*part].rows[*row].has_names(names))
            .copied()
    }

    fn insert(&mut self, hash: u64, names: [&str; 4], parts: &AtomicU64) -> (usize, usize) {
        if self
            .parts
            .last()
            .is_none_or(|part| part.rows.len() >= PART_ROWS)
        {
            self.parts.push(RowPart {
                number: parts.fetch_add(1, Ordering::Relaxed),
                rows: Arc::default(),
                stored: 0,
                changed: 0,
            });
        }
        let number = self.parts.len() - 1;
        let rows = Arc::make_mut(&mut self.parts[number].rows);
        rows.push(UsageRow::new(names));
        let place = (number, rows.len() - 1);
        self.places.entry(hash).or_default().push(place);
        self.rows += 1;
        place
    }
}

impl RowPart {
    fn id(&self, day: UsageDay) -> PartId {
        PartId {
            day,
            number: self.number,
        }
    }
}

impl UsageRow {
    fn new([caller, model, channel, currency]: [&str; 4]) -> Self {
        Self {
            caller: caller.into(),
            model: model.into(),
            channel: channel.into(),
            currency: currency.into(),
            counts: UsageCounts::default(),
        }
    }

    /// Whether its cost is one of a report: a row may be there only for charges.
    pub fn has_cost(&self) -> bool {
        let UsageCounts {
            requests,
            cost,
            charged,
            ..
        } = self.counts;
        !self.currency.is_empty() && (requests > 0 || cost != 0 || charged == 0)
    }

    fn has_names(&self, names: [&str; 4]) -> bool {
        [&*self.caller, &self.model, &self.channel, &self.currency] == names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::feature::metrics::CostChangeLabels;
    use std::time::Duration;

    fn change(caller_name: &str, refunded: u64) -> CostChange {
        CostChange {
            labels: CostChangeLabels {
                caller: OTHER.into(),
                model: "demo-video".to_owned(),
                channel: "a".to_owned(),
                currency: "USD".to_owned(),
            },
            caller_name: caller_name.into(),
            added: 0,
            refunded,
        }
    }

    fn totals() -> UsageTotals {
        let totals = UsageTotals::default();
        totals.adopt(&DailyUsageSettings {
            rows_max: Some(1_000),
            keep: Duration::from_secs(1),
        });
        totals
    }

    #[test]
    fn a_change_of_a_cost_counts_for_its_caller_and_not_for_its_label() {
        let totals = totals();
        totals.change_cost(&change("idp:ann", 5));
        totals.change_cost(&change("idp:bob", 7));
        totals.change_cost(&change("idp:ann", 1));
        let parts = totals.changed_parts();
        let rows = parts.iter().flat_map(|part| part.rows.iter());
        let costs: Vec<_> = rows.map(|row| (&*row.caller, row.counts.cost)).collect();
        assert_eq!(costs, [("idp:ann", -6), ("idp:bob", -7)]);
    }

    #[test]
    fn a_part_that_changes_while_it_is_stored_is_stored_again() {
        let totals = totals();
        for number in 0..PART_ROWS + 1 {
            totals.change_cost(&change(&format!("c{number}"), 1));
        }
        let parts = totals.changed_parts();
        assert_eq!(parts.len(), 2);
        totals.change_cost(&change("c0", 1));
        assert_eq!(parts[0].rows[0].counts.cost, -1, "what a reader has stays");
        for part in &parts {
            totals.note_stored(part.id, part.change);
        }
        let again = totals.changed_parts();
        let again: Vec<_> = again.iter().map(|part| part.rows[0].counts.cost).collect();
        assert_eq!(again, [-2]);
    }
}
