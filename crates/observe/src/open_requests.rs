//! The requests in flight, each with the side that it waits for and since when.

use super::captures::exchange_capture::ExchangeCapture;
use headgate_core::request_id::RequestId;
use headgate_core::state::lock::lock;
use headgate_core::thread_shards::ThreadShards;
use slab::Slab;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// The requests in flight.
#[derive(Default)]
pub struct OpenRequests {
    requests: ThreadShards<OpenRequestList>,
}

/// The requests that began on one thread.
type OpenRequestList = Mutex<Slab<Arc<OpenRequest>>>;

/// A request in flight.
pub struct OpenRequest {
    started: Instant,
    /// The current wait: its [`WaitSide`] in the upper 8 bits, and when it began, in milliseconds after the start.
    wait: AtomicU64,
    details: Mutex<OpenRequestLabels>,
    /// What is captured of the exchange.
    capture: OnceLock<Arc<ExchangeCapture>>,
}

/// What is known about a request in flight so far.
#[derive(Clone)]
pub struct OpenRequestLabels {
    pub id: RequestId,
    pub route: Arc<str>,
    pub caller: Option<Arc<str>>,
    pub model: Option<Arc<str>>,
    pub channel: Option<Arc<str>>,
    /// Whether the response streams.
    pub streamed: bool,
}

/// The side that a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitSide {
    /// The request waits for neither of the other sides.
    Gateway,
    Upstream,
    /// The caller reads the response.
    Client,
    /// The caller sends the body of its request.
    ClientBody,
}

/// The state of a request in flight at one moment.
pub struct OpenRequestState {
    pub details: OpenRequestLabels,
    pub age: Duration,
    pub waits_for: WaitSide,
    pub waiting: Duration,
}

/// Removes a request from the requests in flight when it is dropped.
pub struct OpenRequestGuard<'o> {
    requests: &'o OpenRequestList,
    key: usize,
    request: Arc<OpenRequest>,
}

impl OpenRequestLabels {
    /// What is known when a route was found.
    pub fn new(id: RequestId, route: Arc<str>) -> Self {
        Self {
            id,
            route,
            caller: None,
            model: None,
            channel: None,
            streamed: false,
        }
    }
}

impl OpenRequests {
    /// Adds a request that started at `started`.
    pub fn add(&self, started: Instant, details: OpenRequestLabels) -> OpenRequestGuard<'_> {
        let request = Arc::new(OpenRequest {
            started,
            wait: AtomicU64::new(0),
            details: Mutex::new(details),
            capture: OnceLock::new(),
        });
        let requests = self.requests.own();
        let key = lock(requests).insert(request.clone());
        OpenRequestGuard {
            requests,
            key,
            request,
        }
    }

    /// The state of all requests in flight, the longest waits first.
    pub fn states(&self) -> Vec<OpenRequestState> {
        let mut requests = Vec::new();
        for list in self.requests.iter() {
            requests.extend(lock(list).iter().map(|(_, request)| request.clone()));
        }
        let mut states: Vec<_> = requests.iter().map(|request| request.state()).collect();
        states.sort_by_key(|state| std::cmp::Reverse(state.waiting));
        states
    }
}

impl OpenRequest {
    /// Records that the request waits for `side` since `since`.
    pub fn waits_for(&self, side: WaitSide, since: Instant) {
        let after = since.saturating_duration_since(self.started).as_millis() as u64;
        self.wait
            .store((side as u64) << SIDE_SHIFT | after, Ordering::Relaxed);
    }

    /// Captures the exchange from now on.
    pub fn set_capture(&self, capture: Arc<ExchangeCapture>) {
        // An exchange has one caller, and so one capture.
        let _ = self.capture.set(capture);
    }

    /// What is captured of the exchange; `None` if it is not captured.
    pub fn capture(&self) -> Option<&ExchangeCapture> {
        self.capture.get().map(|capture| &**capture)
    }

    /// Changes what is known about the request.
    pub fn update(&self, change: impl FnOnce(&mut OpenRequestLabels)) {
        change(&mut lock(&self.details));
    }

    fn state(&self) -> OpenRequestState {
        let age = self.started.elapsed();
        let wait = self.wait.load(Ordering::Relaxed);
        let since = Duration::from_millis(wait & ((1 << SIDE_SHIFT) - 1));
        let details = lock(&self.details);
        OpenRequestState {
            details: details.clone(),
            age,
            waits_for: WaitSide::ALL[(wait >> SIDE_SHIFT) as usize],
            waiting: age.saturating_sub(since),
        }
    }
}

/// Position of the side in [`OpenRequest::wait`].
const SIDE_SHIFT: u32 = 56;

impl WaitSide {
    const ALL: [Self; 4] = [
        Self::Gateway,
        Self::Upstream,
        Self::Client,
        Self::ClientBody,
    ];

    /// The name on the admin pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Upstream => "upstream",
            Self::Client | Self::ClientBody => "client",
        }
    }
}

impl OpenRequestGuard<'_> {
    pub fn request(&self) -> &Arc<OpenRequest> {
        &self.request
    }
}

impl Drop for OpenRequestGuard<'_> {
    fn drop(&mut self) {
        lock(self.requests).remove(self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_listed_from_its_start_to_its_end() {
        let requests = OpenRequests::default();
        let started = Instant::now() - Duration::from_secs(9);
        let details = OpenRequestLabels::new("req_1".into(), "chat".into());
        let open = requests.add(started, details);
        let silent_since = started + Duration::from_secs(4);
        open.request().waits_for(WaitSide::Client, silent_since);
        open.request().update(|details| details.streamed = true);
        let _other = requests.add(
            Instant::now(),
            OpenRequestLabels::new("req_2".into(), "chat".into()),
        );

        let states = requests.states();
        assert_eq!(states.len(), 2);
        let longest = &states[0];
        assert_eq!(&*longest.details.id, "req_1");
        assert!(longest.details.streamed);
        assert_eq!(longest.waits_for, WaitSide::Client);
        assert_eq!(longest.waiting.as_secs(), 5);
        assert_eq!(longest.age.as_secs(), 9);
        assert_eq!(states[1].waits_for, WaitSide::Gateway);

        drop(open);
        assert_eq!(requests.states().len(), 1);
    }
}
