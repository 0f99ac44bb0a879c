//! Buckets of the durations of requests and attempts.

/// Buckets in seconds, from a cached response to the longest reasoning.
pub(super) const DURATION_BUCKETS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    120.0, 300.0, 600.0,
];
