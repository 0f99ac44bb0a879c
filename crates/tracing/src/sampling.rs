//! Which exchanges are exported: by the flag of the caller's trace, by ratio, and because they failed.

use super::context::CallerTraceContext;
use super::ids::random_number;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Bits of a random number that are compared with the ratio, as many as a ratio has.
const RATIO_BITS: u32 = 53;

/// Which exchanges are exported.
#[derive(Debug)]
pub struct TraceSampling {
    /// The ratio, of 2^53.
    threshold: u64,
    parent: ParentSampling,
    pub errors: ErrorSampling,
    sampled_parents: ParentSamplingLimiter,
}

/// What the flag of the caller's trace decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParentSampling {
    /// The exchange is sampled as the caller's trace is. No more than `per_second` exchanges are sampled only for that;
    /// the ratio decides for further ones.
    Follow { per_second: u32 },
    /// Nothing: the ratio decides.
    Ignore,
}

/// Which exchanges are exported although they are not sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorSampling {
    None,
    /// Those that a provider or the gateway caused to fail.
    Server,
    /// All that failed, also because of what the caller sent.
    All,
}

/// Counts events of a second.
#[derive(Debug)]
struct ParentSamplingLimiter {
    /// When the counting began.
    began: Instant,
    /// The second in the upper 32 bits, and its count.
    count: AtomicU64,
}

impl TraceSampling {
    /// `ratio` is from 0 to 1.
    pub fn new(ratio: f64, parent: ParentSampling, errors: ErrorSampling) -> Self {
        Self {
            threshold: (ratio.clamp(0.0, 1.0) * 2_f64.powi(RATIO_BITS as i32)) as u64,
            parent,
            errors,
            sampled_parents: ParentSamplingLimiter {
                began: Instant::now(),
                count: AtomicU64::new(0),
            },
        }
    }

    /// Whether an exchange is sampled that began at `now` and continues the trace of `parent`.
    pub(super) fn decide(&self, parent: Option<&CallerTraceContext>, now: Instant) -> bool {
        match (self.parent, parent) {
            (ParentSampling::Follow { per_second }, Some(parent)) => {
                match parent.flags.is_sampled() {
                    true => self.sampled_parents.admit(now, per_second) || self.is_drawn(),
                    false => false,
                }
            }
            _ => self.is_drawn(),
        }
    }

    /// A number of our own, since a caller chooses the id of its trace.
    fn is_drawn(&self) -> bool {
        random_number() >> (u64::BITS - RATIO_BITS) < self.threshold
    }
}

impl ParentSamplingLimiter {
    /// Counts an event, unless its second has `most` already.
    fn admit(&self, now: Instant, most: u32) -> bool {
        let second = now.saturating_duration_since(self.began).as_secs();
        let counted = |state: u64| {
            let count = match state >> 32 == second & u64::from(u32::MAX) {
                true => state & u64::from(u32::MAX),
                false => 0,
            };
            (count < u64::from(most)).then_some(second << 32 | (count + 1))
        };
        let order = Ordering::Relaxed;
        self.count.fetch_update(order, order, counted).is_ok()
    }
}

impl ErrorSampling {
    /// Whether a failed exchange is exported although it is not sampled.
    pub(super) fn takes(self, is_callers_fault: bool) -> bool {
        match self {
            Self::None => false,
            Self::Server => !is_callers_fault,
            Self::All => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, HeaderValue};
    use std::time::Duration;

    const FOLLOW: ParentSampling = ParentSampling::Follow { per_second: 3 };

    fn parent(flags: &str) -> CallerTraceContext {
        let value = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}");
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", HeaderValue::from_str(&value).unwrap());
        CallerTraceContext::from_headers(&headers).unwrap()
    }

    #[test]
    fn without_a_parent_the_ratio_decides() {
        let now = Instant::now();
        for (ratio, range) in [
            (0.0, 0..=0),
            (0.1, 800..=1_200),
            (0.5, 4_700..=5_300),
            (1.0, 10_000..=10_000),
        ] {
            let sampling = TraceSampling::new(ratio, FOLLOW, ErrorSampling::None);
            let sampled = (0..10_000).filter(|_| sampling.decide(None, now)).count();
            assert!(range.contains(&sampled), "{ratio}: {sampled}");
        }
    }

    #[test]
    fn a_parent_decides_up_to_its_limit_in_each_second() {
        let none = TraceSampling::new(0.0, FOLLOW, ErrorSampling::None);
        let now = Instant::now();
        let (yes, no) = (parent("01"), parent("00"));
        for now in [0, 1, 2].map(|seconds| now + Duration::from_secs(seconds)) {
            let sampled = (0..10).filter(|_| none.decide(Some(&yes), now)).count();
            assert_eq!(sampled, 3);
            assert!(!none.decide(Some(&no), now));
        }
        let all = TraceSampling::new(1.0, FOLLOW, ErrorSampling::None);
        assert!((0..10).all(|_| all.decide(Some(&yes), now)));
        assert!((0..10).all(|_| !all.decide(Some(&no), now)));
    }

    #[test]
    fn an_ignored_parent_decides_nothing() {
        let now = Instant::now();
        for (ratio, expected) in [(0.0, false), (1.0, true)] {
            let sampling = TraceSampling::new(ratio, ParentSampling::Ignore, ErrorSampling::None);
            for flags in ["00", "01"] {
                assert_eq!(sampling.decide(Some(&parent(flags)), now), expected);
            }
        }
    }
}
