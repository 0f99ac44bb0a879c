//! Where the time of an exchange went: waiting for the provider, for the caller, or with the gateway.

use super::registration::registered;
use prometheus::{Histogram, HistogramOpts, HistogramVec, Registry};
use std::time::Duration;

/// Seconds; from what the gateway takes for itself to the longest reasoning.
const BUCKETS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    120.0, 300.0,
];

/// The time of an exchange by whom it was spent with; the three totals add up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitTimes {
    /// Until the provider took or sent something.
    pub upstream: WaitTime,
    /// Until the caller took or sent something.
    pub client: WaitTime,
    /// All else.
    pub gateway: WaitTime,
}

/// Time in which one side kept the others waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitTime {
    pub total: Duration,
    /// The longest time in one piece.
    pub longest: Duration,
}

/// The histograms of it.
pub(super) struct WaitTimeMetrics {
    totals: HistogramVec,
    longest: HistogramVec,
}

/// Those of one channel, in the order of the sides.
pub(super) struct WaitTimeSeries([(Histogram, Histogram); 3]);

impl WaitTime {
    pub fn add(&mut self, time: Duration) {
        self.total += time;
        self.longest = self.longest.max(time);
    }
}

impl WaitTimeMetrics {
    pub fn new(registry: &Registry) -> Self {
        let histogram = |name: &str, help: &str| {
            let opts = HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
            registered(registry, HistogramVec::new(opts, &["channel", "side"]))
        };
        Self {
            totals: histogram(
                "headgate_wait_seconds",
                "Time a request spent waiting for a side: upstream, client or gateway, in seconds.",
            ),
            longest: histogram(
                "headgate_longest_wait_seconds",
                "Longest single wait of a request for a side, in seconds.",
            ),
        }
    }

    pub fn of(&self, channel: &str) -> WaitTimeSeries {
        WaitTimeSeries(["upstream", "client", "gateway"].map(|side| {
            let labels = [channel, side];
            (
                self.totals.with_label_values(&labels),
                self.longest.with_label_values(&labels),
            )
        }))
    }
}

impl WaitTimeSeries {
    pub fn observe(&self, spent: &WaitTimes) {
        let WaitTimes {
            upstream,
            client,
            gateway,
        } = spent;
        for ((totals, longest), silence) in self.0.iter().zip([upstream, client, gateway]) {
            totals.observe(silence.total.as_secs_f64());
            longest.observe(silence.longest.as_secs_f64());
        }
    }
}
