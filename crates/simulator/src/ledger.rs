//! The ledger of all requests received: their records within limits, and how many are open.

use super::record::{Ending, Record};
use bytes::Bytes;
use http::request::Parts;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much is kept; beyond it the oldest goes first.
#[derive(Clone, Copy)]
pub struct Limits {
    pub records: usize,
    /// Bytes of all bodies together.
    pub bytes: usize,
    /// Bytes above which a body is kept as its hash only.
    pub body: usize,
}

/// The limits of a simulated provider.
pub const LIMITS: Limits = Limits {
    records: 10_000,
    bytes: 256 << 20,
    body: 64 << 20,
};

/// All requests received, and how many are open.
pub struct Ledger {
    /// `None` records nothing.
    limits: Option<Limits>,
    open: AtomicU64,
    shelf: Mutex<Shelf>,
}

/// The stay of one request: dropped before its [`Visit::end`], the client has left.
pub struct Visit {
    ledger: Arc<Ledger>,
    record: Option<Arc<Record>>,
    ended: bool,
}

#[derive(Default)]
struct Shelf {
    /// In the order of their numbers, without a gap.
    records: VecDeque<Arc<Record>>,
    /// Those of them that still have their body.
    with_body: VecDeque<Arc<Record>>,
    kept_bytes: usize,
    count: u64,
}

impl Ledger {
    /// A ledger that keeps so much, or no records at all.
    pub fn new(limits: Option<Limits>) -> Self {
        Self {
            limits,
            open: AtomicU64::new(0),
            shelf: Mutex::default(),
        }
    }

    /// Notes that a request has come.
    pub fn enter(self: &Arc<Self>, head: &Arc<Parts>, body: &Bytes) -> Visit {
        self.open.fetch_add(1, Ordering::Relaxed);
        Visit {
            ledger: Arc::clone(self),
            record: self.limits.map(|limits| self.note(head, body, limits)),
            ended: false,
        }
    }

    /// Requests whose answer has not ended.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Every record, oldest first.
    pub fn records(&self) -> Vec<Arc<Record>> {
        self.shelf().records.iter().cloned().collect()
    }

    /// The record with this number, unless it never was or is forgotten.
    pub fn record(&self, n: u64) -> Option<Arc<Record>> {
        let shelf = self.shelf();
        let index = n.checked_sub(shelf.records.front()?.n)?;
        shelf.records.get(usize::try_from(index).ok()?).cloned()
    }

    /// Forgets all records; the numbers go on.
    pub fn clear(&self) {
        let mut shelf = self.shelf();
        let count = shelf.count;
        *shelf = Shelf {
            count,
            ..Shelf::default()
        };
    }

    fn note(&self, head: &Arc<Parts>, body: &Bytes, limits: Limits) -> Arc<Record> {
        let mut shelf = self.shelf();
        shelf.count += 1;
        let record = Arc::new(Record::new(shelf.count, Arc::clone(head), body.clone()));
        let dropped = shelf.push(&record, limits);
        drop(shelf);
        // Hashed outside the lock, which everybody else waits for.
        dropped.iter().for_each(|record| record.drop_body());
        record
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    /// Adds a record and returns those whose bodies must not be kept.
    fn push(&mut self, record: &Arc<Record>, limits: Limits) -> Vec<Arc<Record>> {
        let mut dropped = Vec::new();
        if record.body_bytes > limits.body {
            dropped.push(Arc::clone(record));
        } else {
            self.kept_bytes += record.body_bytes;
            self.with_body.push_back(Arc::clone(record));
        }
        self.records.push_back(Arc::clone(record));
        if self.records.len() > limits.records {
            self.forget_oldest();
        }
        while self.kept_bytes > limits.bytes {
            dropped.extend(self.pop_body());
        }
        dropped
    }

    fn forget_oldest(&mut self) {
        let oldest = self.records.pop_front().map(|record| record.n);
        if self.with_body.front().map(|record| record.n) == oldest {
            self.pop_body();
        }
    }

    fn pop_body(&mut self) -> Option<Arc<Record>> {
        let record = self.with_body.pop_front()?;
        self.kept_bytes -= record.body_bytes;
        Some(record)
    }
}

impl Visit {
    /// Notes the model the request names.
    pub fn names_model(&self, model: &str) {
        if let Some(record) = &self.record {
            record.names_model(model);
        }
    }

    /// Notes that the first byte of the answer goes out now.
    pub fn first_byte(&self) {
        if let Some(record) = &self.record {
            record.first_byte();
        }
    }

    /// Notes how the answer ended.
    pub fn end(mut self, ending: Ending) {
        self.close(ending);
    }

    fn close(&mut self, ending: Ending) {
        self.ended = true;
        if let Some(record) = &self.record {
            record.end(ending);
        }
        self.ledger.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if !self.ended {
            self.close(Ending::ClientLeft);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    const SMALL: Limits = Limits {
        records: 20,
        bytes: 40,
        body: 10,
    };

    fn enter(ledger: &Arc<Ledger>, body: impl Into<Bytes>) -> Visit {
        let head = Request::new(()).into_parts().0;
        ledger.enter(&Arc::new(head), &body.into())
    }

    #[test]
    fn the_oldest_records_are_forgotten_first() {
        let ledger = Arc::new(Ledger::new(Some(SMALL)));
        for _ in 0..SMALL.records + 5 {
            enter(&ledger, "x").end(Ending::Complete);
        }
        assert_eq!(ledger.records().len(), SMALL.records);
        assert!(ledger.record(5).is_none());
        assert_eq!(ledger.record(6).map(|record| record.n), Some(6));
        assert_eq!(ledger.shelf().kept_bytes, SMALL.records);
        ledger.clear();
        assert!(ledger.records().is_empty());
    }

    #[test]
    fn old_bodies_make_room_but_leave_their_hash() {
        let ledger = Arc::new(Ledger::new(Some(SMALL)));
        let large = Bytes::from(vec![b'x'; SMALL.body]);
        for _ in 0..5 {
            enter(&ledger, large.clone()).end(Ending::Complete);
        }
        let first = ledger.record(1).unwrap();
        assert!(first.body().is_none());
        assert!(ledger.record(2).unwrap().body().is_some());
        enter(&ledger, vec![b'x'; SMALL.body + 1]).end(Ending::Complete);
        assert!(ledger.record(6).unwrap().body().is_none());
    }

    #[test]
    fn without_recording_only_the_open_ones_are_counted() {
        let ledger = Arc::new(Ledger::new(None));
        let visit = enter(&ledger, "x");
        assert_eq!((ledger.open(), ledger.records().len()), (1, 0));
        drop(visit);
        assert_eq!(ledger.open(), 0);
    }
}
