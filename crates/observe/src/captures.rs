//! Captures of the exchanges of one caller, for debugging: bounded in time, number and bytes, and kept in memory only.

pub mod exchange_capture;

use exchange_capture::ExchangeCapture;
use headgate_core::request_id::RequestId;
use headgate_core::timestamp::rfc3339;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Number of captures that are kept.
pub const CAPTURES_MAX: usize = 4;
/// How long a capture can be read after its recording has ended.
pub const KEPT: Duration = Duration::from_secs(600);

/// The captures of the process.
#[derive(Default)]
pub struct ExchangeCaptures {
    /// Whether a capture records. Read once per request.
    is_on: AtomicBool,
    started: AtomicU64,
    captures: Mutex<Vec<CallerCapture>>,
}

/// What ends the recording of a capture, whichever comes first.
#[derive(Clone, Copy, Debug)]
pub struct CaptureLimits {
    pub duration: Duration,
    pub exchanges: usize,
    /// Bytes of heads and bodies of all exchanges together.
    pub bytes: usize,
}

/// The capture of one caller.
struct CallerCapture {
    id: String,
    caller: Arc<str>,
    limits: CaptureLimits,
    at: SystemTime,
    started: Instant,
    bytes_left: Arc<AtomicUsize>,
    exchanges: Vec<Arc<ExchangeCapture>>,
}

impl ExchangeCaptures {
    /// Whether a capture records.
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Starts to record exchanges of `caller`; returns the id of the capture, or `None` if there are too many.
    pub fn start(&self, caller: &Arc<str>, limits: CaptureLimits) -> Option<String> {
        let mut captures = self.lock();
        remove_expired(&mut captures);
        if captures.len() >= CAPTURES_MAX {
            return None;
        }
        let id = format!("cap_{}", self.started.fetch_add(1, Ordering::Relaxed) + 1);
        captures.push(CallerCapture {
            id: id.clone(),
            caller: caller.clone(),
            limits,
            at: SystemTime::now(),
            started: Instant::now(),
            bytes_left: Arc::new(AtomicUsize::new(limits.bytes)),
            exchanges: Vec::new(),
        });
        self.is_on.store(true, Ordering::Relaxed);
        Some(id)
    }

    /// The capture of an exchange of `caller` that begins now, if one records it.
    pub fn begin(&self, caller: &str, request_id: &RequestId) -> Option<Arc<ExchangeCapture>> {
        let mut captures = self.lock();
        let mut recording = captures.iter_mut().filter(|capture| capture.is_recording());
        let capture = recording.find(|capture| &*capture.caller == caller);
        let exchange = capture.map(|capture| {
            let exchange = ExchangeCapture::new(request_id.clone(), capture.bytes_left.clone());
            let exchange = Arc::new(exchange);
            capture.exchanges.push(exchange.clone());
            exchange
        });
        let is_on = captures.iter().any(CallerCapture::is_recording);
        self.is_on.store(is_on, Ordering::Relaxed);
        exchange
    }

    /// Removes a capture; returns whether there was one with this id.
    pub fn remove(&self, id: &str) -> bool {
        let mut captures = self.lock();
        let before = captures.len();
        captures.retain(|capture| capture.id != id);
        let is_on = captures.iter().any(CallerCapture::is_recording);
        self.is_on.store(is_on, Ordering::Relaxed);
        captures.len() < before
    }

    /// Removes the captures whose time is over.
    pub fn expire(&self) {
        let mut captures = self.lock();
        remove_expired(&mut captures);
        let is_on = captures.iter().any(CallerCapture::is_recording);
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    /// The captures without what they recorded.
    pub fn list(&self) -> Vec<Value> {
        let mut captures = self.lock();
        remove_expired(&mut captures);
        captures.iter().map(CallerCapture::summary).collect()
    }

    /// A capture with what it recorded; `None` if there is none with this id.
    pub fn content(&self, id: &str) -> Option<Value> {
        let mut captures = self.lock();
        remove_expired(&mut captures);
        let capture = captures.iter().find(|capture| capture.id == id)?;
        let (mut summary, exchanges) = (capture.summary(), capture.exchanges.clone());
        drop(captures);
        // Texts are masked without the lock, since that takes time.
        let exchanges: Vec<Value> = exchanges.iter().map(|exchange| exchange.json()).collect();
        summary["exchanges"] = exchanges.into();
        Some(summary)
    }

    /// The callers whose exchanges are recorded now, each with the time at which that ends.
    pub fn recording(&self) -> Vec<(Arc<str>, SystemTime)> {
        let captures = self.lock();
        let recording = captures.iter().filter(|capture| capture.is_recording());
        let recording = recording.map(|one| (one.caller.clone(), one.at + one.limits.duration));
        recording.collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<CallerCapture>> {
        self.captures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallerCapture {
    fn is_recording(&self) -> bool {
        self.exchanges.len() < self.limits.exchanges
            && self.bytes_left.load(Ordering::Relaxed) > 0
            && self.started.elapsed() < self.limits.duration
    }

    fn summary(&self) -> Value {
        let left = self.bytes_left.load(Ordering::Relaxed);
        json!({
            "id": self.id,
            "caller": &*self.caller,
            "recording": self.is_recording(),
            "at": rfc3339(self.at),
            "until": rfc3339(self.at + self.limits.duration),
            "removed_at": rfc3339(self.at + self.limits.duration + KEPT),
            "exchanges_recorded": self.exchanges.len(),
            "exchanges_max": self.limits.exchanges,
            "bytes_recorded": self.limits.bytes - left,
            "bytes_max": self.limits.bytes,
        })
    }
}

fn remove_expired(captures: &mut Vec<CallerCapture>) {
    captures.retain(|capture| capture.started.elapsed() < capture.limits.duration + KEPT);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_records_one_caller_within_its_limits() {
        let captures = ExchangeCaptures::default();
        let (ann, id) = (Arc::from("ann"), RequestId::from("req_1"));
        assert!(!captures.is_on());
        assert!(captures.begin("ann", &id).is_none());
        let limits = CaptureLimits {
            duration: Duration::from_secs(60),
            exchanges: 2,
            bytes: 100,
        };
        let capture = captures.start(&ann, limits).expect("room");
        assert!(captures.is_on());
        assert!(captures.begin("bob", &id).is_none());
        assert!(captures.begin("ann", &id).is_some());
        assert!(captures.is_on());
        assert!(captures.begin("ann", &id).is_some());
        assert!(!captures.is_on(), "it has all its exchanges");
        assert!(captures.begin("ann", &id).is_none());
        let content = captures.content(&capture).expect("the capture");
        assert_eq!(content["exchanges"].as_array().map(Vec::len), Some(2));
        assert!(captures.remove(&capture));
        assert!(captures.content(&capture).is_none());
        for _ in 0..CAPTURES_MAX {
            assert!(captures.start(&ann, limits).is_some());
        }
        assert!(captures.start(&ann, limits).is_none());
    }

    #[test]
    fn the_bytes_of_a_capture_are_those_of_all_its_exchanges() {
        let captures = ExchangeCaptures::default();
        let limits = CaptureLimits {
            duration: Duration::from_secs(60),
            exchanges: 10,
            bytes: 100,
        };
        let capture = captures.start(&"ann".into(), limits).expect("room");
        for _ in 0..3 {
            let exchange = captures.begin("ann", &"req_1".into());
            exchange.inspect(|exchange| exchange.request_body(&[b'x'; 60]));
        }
        let content = captures.content(&capture).expect("the capture");
        assert_eq!(content["bytes_recorded"], 100);
        assert_eq!(content["exchanges"].as_array().map(Vec::len), Some(2));
        assert_eq!(content["recording"], false);
    }
}
