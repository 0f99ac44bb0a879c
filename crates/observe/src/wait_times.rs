//! How long exchanges waited for the provider, for the caller and for the gateway.

use headgate_core::feature::metrics::registered;
use prometheus::local::LocalHistogram;
use prometheus::{HistogramOpts, HistogramVec, Registry};
use std::time::Duration;

/// Buckets in seconds, from the gateway's own overhead to the longest reasoning.
const BUCKETS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    120.0, 300.0, 600.0,
];

/// Wait times of an exchange by side; the three totals add up to its total time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangeWaitTimes {
    /// Waits for the provider to read or send data.
    pub upstream: WaitTime,
    /// Waits for the caller to read or send data.
    pub client: WaitTime,
    /// The rest of the time.
    pub gateway: WaitTime,
}

/// Wait time for one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitTime {
    pub total: Duration,
    /// The longest single wait.
    pub longest: Duration,
}

/// Wait time histograms.
pub(super) struct WaitTimeMetrics {
    totals: HistogramVec,
    longest: HistogramVec,
}

/// Histograms of one channel, which one thread observes: upstream, client, gateway.
pub(super) struct WaitTimeSeries([[LocalHistogram; 2]; 3]);

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

    pub fn series(&self, channel: &str) -> WaitTimeSeries {
        WaitTimeSeries(["upstream", "client", "gateway"].map(|side| {
            let labels = [channel, side];
            [&self.totals, &self.longest].map(|vec| vec.with_label_values(&labels).local())
        }))
    }
}

impl WaitTimeSeries {
    pub fn observe(&self, spent: &ExchangeWaitTimes) {
        let ExchangeWaitTimes {
            upstream,
            client,
            gateway,
        } = spent;
        for ([totals, longest], wait) in self.0.iter().zip([upstream, client, gateway]) {
            totals.observe(wait.total.as_secs_f64());
            longest.observe(wait.longest.as_secs_f64());
        }
    }

    /// Adds what was observed to the metrics.
    pub fn flush(&self) {
        self.0.iter().flatten().for_each(LocalHistogram::flush);
    }
}
