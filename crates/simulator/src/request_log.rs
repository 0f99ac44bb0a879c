//! The log of received requests: bounded records, and the number of open requests.

use super::request_record::{ReceivedExchangeRecord, ResponseEnd};
use bytes::Bytes;
use http::request::Parts;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The limits of the log; above them the oldest records are removed.
#[derive(Clone, Copy)]
pub struct RequestLogLimits {
    pub records: usize,
    /// The size of all bodies together, in bytes.
    pub bytes: usize,
    /// The size in bytes above which only the hash of a body is kept.
    pub body: usize,
}

/// The limits of a simulated provider.
pub const LIMITS: RequestLogLimits = RequestLogLimits {
    records: 10_000,
    bytes: 256 << 20,
    body: 64 << 20,
};

/// All received requests, and the number of open ones.
pub struct RequestLog {
    /// Without limits nothing is recorded.
    limits: Option<RequestLogLimits>,
    open: AtomicU64,
    buffer: Mutex<RecordBuffer>,
}

/// An open request. If it is dropped before [`OpenExchangeGuard::end`], the client has left.
pub struct OpenExchangeGuard {
    request_log: Arc<RequestLog>,
    record: Option<Arc<ReceivedExchangeRecord>>,
    ended: bool,
}

#[derive(Default)]
struct RecordBuffer {
    /// In the order of their numbers, without gaps.
    records: VecDeque<Arc<ReceivedExchangeRecord>>,
    /// The records that still have a body.
    with_body: VecDeque<Arc<ReceivedExchangeRecord>>,
    kept_bytes: usize,
    count: u64,
}

impl RequestLog {
    /// A log with these limits; `None` records nothing.
    pub fn new(limits: Option<RequestLogLimits>) -> Self {
        Self {
            limits,
            open: AtomicU64::new(0),
            buffer: Mutex::default(),
        }
    }

    /// Records a received request.
    pub fn enter(self: &Arc<Self>, head: &Arc<Parts>, body: &Bytes) -> OpenExchangeGuard {
        self.open.fetch_add(1, Ordering::Relaxed);
        OpenExchangeGuard {
            request_log: Arc::clone(self),
            record: self.limits.map(|limits| self.note(head, body, limits)),
            ended: false,
        }
    }

    /// The number of requests whose response has not ended.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// All records, the oldest first.
    pub fn records(&self) -> Vec<Arc<ReceivedExchangeRecord>> {
        self.lock().records.iter().cloned().collect()
    }

    /// The record with this number, if it exists and was not removed.
    pub fn record(&self, n: u64) -> Option<Arc<ReceivedExchangeRecord>> {
        let buffer = self.lock();
        let index = n.checked_sub(buffer.records.front()?.n)?;
        buffer.records.get(usize::try_from(index).ok()?).cloned()
    }

    /// Removes all records; their numbering continues.
    pub fn clear(&self) {
        let mut buffer = self.lock();
        let count = buffer.count;
        *buffer = RecordBuffer {
            count,
            ..RecordBuffer::default()
        };
    }

    fn note(
        &self,
        head: &Arc<Parts>,
        body: &Bytes,
        limits: RequestLogLimits,
    ) -> Arc<ReceivedExchangeRecord> {
        let mut buffer = self.lock();
        buffer.count += 1;
        let record = Arc::new(ReceivedExchangeRecord::new(
            buffer.count,
            Arc::clone(head),
            body.clone(),
        ));
        let dropped = buffer.push(&record, limits);
        drop(buffer);
        // Hashed outside of the lock, so that other requests do not wait.
        dropped.iter().for_each(|record| record.drop_body());
        record
    }

    fn lock(&self) -> MutexGuard<'_, RecordBuffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecordBuffer {
    /// Adds a record; returns the records whose bodies must be dropped.
    fn push(
        &mut self,
        record: &Arc<ReceivedExchangeRecord>,
        limits: RequestLogLimits,
    ) -> Vec<Arc<ReceivedExchangeRecord>> {
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

    fn pop_body(&mut self) -> Option<Arc<ReceivedExchangeRecord>> {
        let record = self.with_body.pop_front()?;
        self.kept_bytes -= record.body_bytes;
        Some(record)
    }
}

impl OpenExchangeGuard {
    /// Records the model that the request names.
    pub fn names_model(&self, model: &str) {
        if let Some(record) = &self.record {
            record.names_model(model);
        }
    }

    /// Records the time of the response's first byte.
    pub fn first_byte(&self) {
        if let Some(record) = &self.record {
            record.first_byte();
        }
    }

    /// Records how the response ended.
    pub fn end(mut self, ending: ResponseEnd) {
        self.close(ending);
    }

    fn close(&mut self, ending: ResponseEnd) {
        self.ended = true;
        if let Some(record) = &self.record {
            record.end(ending);
        }
        self.request_log.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for OpenExchangeGuard {
    fn drop(&mut self) {
        if !self.ended {
            self.close(ResponseEnd::ClientLeft);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    const SMALL: RequestLogLimits = RequestLogLimits {
        records: 20,
        bytes: 40,
        body: 10,
    };

    fn enter(request_log: &Arc<RequestLog>, body: impl Into<Bytes>) -> OpenExchangeGuard {
        let head = Request::new(()).into_parts().0;
        request_log.enter(&Arc::new(head), &body.into())
    }

    #[test]
    fn the_oldest_records_are_forgotten_first() {
        let request_log = Arc::new(RequestLog::new(Some(SMALL)));
        for _ in 0..SMALL.records + 5 {
            enter(&request_log, "x").end(ResponseEnd::Complete);
        }
        assert_eq!(request_log.records().len(), SMALL.records);
        assert!(request_log.record(5).is_none());
        assert_eq!(request_log.record(6).map(|record| record.n), Some(6));
        assert_eq!(request_log.lock().kept_bytes, SMALL.records);
        request_log.clear();
        assert!(request_log.records().is_empty());
    }

    #[test]
    fn old_bodies_make_room_but_leave_their_hash() {
        let request_log = Arc::new(RequestLog::new(Some(SMALL)));
        let large = Bytes::from(vec![b'x'; SMALL.body]);
        for _ in 0..5 {
            enter(&request_log, large.clone()).end(ResponseEnd::Complete);
        }
        let first = request_log.record(1).unwrap();
        assert!(first.body().is_none());
        assert!(request_log.record(2).unwrap().body().is_some());
        enter(&request_log, vec![b'x'; SMALL.body + 1]).end(ResponseEnd::Complete);
        assert!(request_log.record(6).unwrap().body().is_none());
    }

    #[test]
    fn without_recording_only_the_open_ones_are_counted() {
        let request_log = Arc::new(RequestLog::new(None));
        let open_request = enter(&request_log, "x");
        assert_eq!((request_log.open(), request_log.records().len()), (1, 0));
        drop(open_request);
        assert_eq!(request_log.open(), 0);
    }
}
