//! What is known of tasks: the last report of each, and the last failure to get one; bounded.

use super::report::Report;
use super::{Holds, Known, Told, Trouble};
use crate::task::family::Query;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Tasks of one generation; twice as many are known at most.
const GENERATION_TASKS_MAX: usize = 50_000;
/// Bytes of reports and of providers' refusals of one generation.
const GENERATION_BYTES_MAX: usize = 32 << 20;
/// A longer report is told to those who wait for it, and not kept.
const REPORT_BYTES_MAX: usize = 64 << 10;
/// What is kept for each byte of a report, besides it: where its values lie.
const TAPE_SHARE: usize = 3;
/// How long a failure is told again before the provider is asked anew.
const TROUBLE_FRESH: Duration = Duration::from_secs(1);

/// What is known of tasks, by their keys.
#[derive(Default)]
pub(super) struct Shelf {
    young: HashMap<Arc<str>, Entry>,
    young_bytes: usize,
    old: HashMap<Arc<str>, Entry>,
}

#[derive(Clone)]
struct Entry {
    report: Option<Arc<Report>>,
    /// Why the last question brought no report.
    trouble: Option<Arc<Trouble>>,
    asked: Instant,
}

impl Shelf {
    /// What can be told of a task without asking anybody.
    pub fn fresh(&self, key: &str, query: &Query, now: Instant) -> Option<Told> {
        let entry = self.find(key)?;
        let age = now.saturating_duration_since(entry.asked);
        if let Some(trouble) = &entry.trouble {
            return (age < TROUBLE_FRESH.min(query.fresh)).then(|| Err(trouble.clone()));
        }
        let report = entry.report.as_ref()?;
        let fresh = query.fresh_while(report.state);
        (age < fresh).then(|| Ok(Known::until(report.clone(), fresh - age)))
    }

    /// What was said of a task last.
    pub fn last(&self, key: &str) -> Option<Arc<Report>> {
        self.find(key)?.report.clone()
    }

    /// Takes what came of a question; gives what holds now. A terminal state stays, whatever comes, and what
    /// runs is not queued again.
    pub fn file(&mut self, key: &Arc<str>, came: Holds, asked: Instant) -> Holds {
        let known = self.last(key);
        let (report, trouble) = match (known, came) {
            (Some(known), Ok(new)) if new.state.after(known.state) != new.state => {
                (Some(known), None)
            }
            (_, Ok(new)) => (Some(new), None),
            (Some(known), Err(_)) if known.state.is_terminal() => (Some(known), None),
            (known, Err(trouble)) => (known, Some(trouble)),
        };
        let holds = match (&trouble, &report) {
            (Some(trouble), _) => Err(trouble.clone()),
            (None, Some(report)) => Ok(report.clone()),
            (None, None) => unreachable!("either came"),
        };
        let report = report.filter(|report| report.answer.body().len() <= REPORT_BYTES_MAX);
        self.put(
            key,
            Entry {
                report,
                trouble,
                asked,
            },
        );
        holds
    }

    /// The next who asks is not told what was said so far, unless that is the end.
    pub fn doubt(&mut self, key: &Arc<str>) {
        let last = self.last(key);
        if last.is_some_and(|report| report.state.is_terminal()) {
            return;
        }
        if let Some(gone) = self.young.remove(key) {
            self.young_bytes = self.young_bytes.saturating_sub(gone.bytes());
        }
        self.old.remove(key);
    }

    fn find(&self, key: &str) -> Option<&Entry> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    fn put(&mut self, key: &Arc<str>, entry: Entry) {
        let is_full =
            self.young.len() >= GENERATION_TASKS_MAX || self.young_bytes >= GENERATION_BYTES_MAX;
        if is_full {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += entry.bytes();
        if let Some(before) = self.young.insert(key.clone(), entry) {
            self.young_bytes = self.young_bytes.saturating_sub(before.bytes());
        }
    }
}

impl Entry {
    fn bytes(&self) -> usize {
        let report = self.report.as_ref();
        let report = report.map_or(0, |report| report.answer.body().len() * (1 + TAPE_SHARE));
        let trouble = self.trouble.as_ref();
        report + trouble.map_or(0, |trouble| trouble.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::json::{Document, Limits};
    use crate::subrequest::SubrequestResponse;
    use crate::task::state::State;

    #[test]
    fn what_is_known_stays_within_its_bounds_and_the_newest_of_it_stays() {
        let mut shelf = Shelf::default();
        let body = format!("\"{}\"", "x".repeat(REPORT_BYTES_MAX - 2));
        let report = |state| {
            let answer = Document::parse(body.clone().into(), &Limits::default()).unwrap();
            Ok(Arc::new(Report {
                answer,
                state,
                said_ms: 0,
            }))
        };
        let key = |number: usize| Arc::from(number.to_string());
        for number in 0..1_000 {
            let held = shelf.file(&key(number), report(State::Running), Instant::now());
            assert!(held.is_ok());
        }
        let entries = shelf.young.values().chain(shelf.old.values());
        let bytes: usize = entries.map(Entry::bytes).sum();
        assert!(bytes <= 2 * GENERATION_BYTES_MAX + REPORT_BYTES_MAX * (1 + TAPE_SHARE));
        assert!(shelf.last("999").is_some());
        assert!(shelf.last("0").is_none());
        shelf.doubt(&key(999));
        assert!(shelf.last("999").is_none());
        let young: usize = shelf.young.values().map(Entry::bytes).sum();
        assert_eq!(shelf.young_bytes, young);
    }

    #[test]
    fn long_refusals_stay_within_the_bounds_too() {
        let mut shelf = Shelf::default();
        for number in 0..400 {
            let refused = SubrequestResponse {
                status: http::StatusCode::BAD_GATEWAY,
                headers: http::HeaderMap::new(),
                body: vec![b' '; 1 << 20].into(),
            };
            let trouble = Arc::new(Trouble::Refused(refused));
            let key = Arc::from(number.to_string());
            assert!(shelf.file(&key, Err(trouble), Instant::now()).is_err());
        }
        let entries = shelf.young.len() + shelf.old.len();
        assert!(entries << 20 <= 3 * GENERATION_BYTES_MAX, "{entries}");
    }
}
