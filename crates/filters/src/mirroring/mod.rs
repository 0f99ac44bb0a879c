//! Copies of requests for other channels: sent in the background, within bounds, and their responses are dropped.
//!
//! A copy never waits for others to end: what is above the bounds is dropped and counted. Outlives snapshots, so that the
//! bounds hold across reloads.

mod metrics;

pub(crate) use metrics::MirrorMetrics;

use headgate_core::subrequest::{SubrequestFuture, SubrequestResponse};
use headgate_protocol::fault::{Fault, FaultKind};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::timeout;

/// Largest size of the bodies of all copies in flight, in bytes.
const BYTES_MAX: usize = 64 << 20;
/// Bodies above this many bytes are copied on a thread that serves no requests.
const INLINE_BYTES_MAX: usize = 256 << 10;

/// The copies of all routes.
#[derive(Default)]
pub struct MirrorSendersByRoute {
    routes: Mutex<BTreeMap<Arc<str>, Arc<RouteMirrorSender>>>,
    bytes: Arc<AtomicUsize>,
}

/// The copies of one route.
pub struct RouteMirrorSender {
    in_flight: AtomicUsize,
    /// The bodies of all routes' copies.
    bytes: Arc<AtomicUsize>,
    counts: [AtomicU64; MirrorOutcome::ALL.len()],
}

/// The bounds of a copy.
#[derive(Clone, Copy, Debug)]
pub struct MirrorLimits {
    /// Maximum number of the route's copies in flight.
    pub concurrent: usize,
    /// How long the copy may take, from its start to the end of its response.
    pub timeout: Duration,
}

/// What became of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorOutcome {
    /// The response was read to its end.
    Completed,
    /// The provider sent an error, nothing, or not all in time.
    Failed,
    /// Not sent: too many copies in flight, or the channel takes no requests at the moment.
    Dropped,
}

/// A copy's share of the bounds, until it is dropped.
struct MirrorLease {
    mirror: Arc<RouteMirrorSender>,
    bytes: usize,
}

impl MirrorSendersByRoute {
    /// The copies of a route.
    pub fn for_route(&self, route: &str) -> Arc<RouteMirrorSender> {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = routes.get(route) {
            return known.clone();
        }
        let mirror = Arc::new(RouteMirrorSender {
            in_flight: AtomicUsize::new(0),
            bytes: self.bytes.clone(),
            counts: Default::default(),
        });
        routes.insert(route.into(), mirror.clone());
        mirror
    }

    /// Calls `visit` with each route and its copies.
    pub fn for_each_route(&self, mut visit: impl FnMut(&str, &RouteMirrorSender)) {
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        for (route, mirror) in &*routes {
            visit(route, mirror);
        }
    }
}

impl RouteMirrorSender {
    /// The number of copies with this outcome since the process started.
    pub fn total(&self, outcome: MirrorOutcome) -> u64 {
        self.counts[outcome as usize].load(Ordering::Relaxed)
    }

    /// Sends a copy in the background; `bytes` is the size of its body. `prepare` returns the subrequest.
    pub fn start(
        self: &Arc<Self>,
        limits: MirrorLimits,
        bytes: usize,
        prepare: impl FnOnce() -> SubrequestFuture + Send + 'static,
    ) {
        let Some(lease) = MirrorLease::acquire(self, limits, bytes) else {
            return self.count(MirrorOutcome::Dropped);
        };
        tokio::spawn(async move {
            let sending = async {
                match bytes > INLINE_BYTES_MAX {
                    false => prepare().await,
                    true => match tokio::task::spawn_blocking(prepare).await {
                        Ok(subrequest) => subrequest.await,
                        Err(error) => Err(Fault::new(
                            FaultKind::Internal,
                            "internal error: the copy of a request could not be made",
                        )
                        .source(error)),
                    },
                }
            };
            let outcome = timeout(limits.timeout, sending).await;
            lease
                .mirror
                .count(outcome.map_or(MirrorOutcome::Failed, |sent| {
                    MirrorOutcome::from_result(&sent)
                }));
        });
    }

    fn count(&self, outcome: MirrorOutcome) {
        self.counts[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }
}

impl MirrorOutcome {
    pub const ALL: [Self; 3] = [Self::Completed, Self::Failed, Self::Dropped];

    /// The value in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Dropped => "dropped",
        }
    }

    fn from_result(sent: &Result<SubrequestResponse, Fault>) -> Self {
        match sent {
            Ok(response) if response.status.is_success() => Self::Completed,
            Err(fault) if fault.kind == FaultKind::NoChannel => Self::Dropped,
            Ok(_) | Err(_) => Self::Failed,
        }
    }
}

impl MirrorLease {
    /// A lease within the bounds; `None` if the copy would exceed them.
    fn acquire(
        mirror: &Arc<RouteMirrorSender>,
        limits: MirrorLimits,
        bytes: usize,
    ) -> Option<Self> {
        let lease = Self {
            mirror: mirror.clone(),
            bytes,
        };
        // The lease is released when it is dropped, also here.
        let in_flight = mirror.in_flight.fetch_add(1, Ordering::Relaxed);
        let others = mirror.bytes.fetch_add(bytes, Ordering::Relaxed);
        (in_flight < limits.concurrent && others + bytes <= BYTES_MAX).then_some(lease)
    }
}

impl Drop for MirrorLease {
    fn drop(&mut self) {
        self.mirror.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.mirror.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use http::{HeaderMap, StatusCode};
    use std::future::pending;
    use tokio::time::sleep;

    const LIMITS: MirrorLimits = MirrorLimits {
        concurrent: 2,
        timeout: Duration::from_secs(30),
    };

    fn responds(status: u16) -> SubrequestFuture {
        Box::pin(async move {
            Ok(SubrequestResponse {
                inline_file: None,
                status: StatusCode::from_u16(status).unwrap(),
                headers: HeaderMap::new(),
                body: Bytes::new(),
            })
        })
    }

    async fn counts_reach(mirror: &RouteMirrorSender, expected: [u64; 3]) {
        let counts = || MirrorOutcome::ALL.map(|outcome| mirror.total(outcome));
        for _ in 0..1_000 {
            if counts() == expected {
                return;
            }
            sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(counts(), expected);
    }

    #[tokio::test]
    async fn copies_are_counted_by_their_outcome() {
        let mirrors = MirrorSendersByRoute::default();
        let mirror = mirrors.for_route("chat");
        mirror.start(LIMITS, 0, || responds(200));
        counts_reach(&mirror, [1, 0, 0]).await;
        mirror.start(LIMITS, 0, || responds(500));
        counts_reach(&mirror, [1, 1, 0]).await;
        let full = || -> SubrequestFuture {
            Box::pin(async { Err(Fault::new(FaultKind::NoChannel, "none")) })
        };
        mirror.start(LIMITS, INLINE_BYTES_MAX + 1, full);
        counts_reach(&mirror, [1, 1, 1]).await;
        let slow = MirrorLimits {
            timeout: Duration::from_millis(10),
            ..LIMITS
        };
        mirror.start(slow, 0, || Box::pin(pending()));
        counts_reach(&mirror, [1, 2, 1]).await;
        assert_eq!(mirror.in_flight.load(Ordering::Relaxed), 0);
        assert_eq!(mirrors.bytes.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn copies_above_the_bounds_are_dropped() {
        let mirrors = MirrorSendersByRoute::default();
        let (mirror, other) = (mirrors.for_route("chat"), mirrors.for_route("other"));
        for _ in 0..5 {
            mirror.start(LIMITS, 0, || Box::pin(pending()));
        }
        counts_reach(&mirror, [0, 0, 3]).await;
        // Routes share the bytes of their bodies.
        other.start(LIMITS, BYTES_MAX, || Box::pin(pending()));
        other.start(LIMITS, 1, || Box::pin(pending()));
        counts_reach(&other, [0, 0, 1]).await;
        assert_eq!(mirrors.for_route("chat").total(MirrorOutcome::Dropped), 3);
    }
}
