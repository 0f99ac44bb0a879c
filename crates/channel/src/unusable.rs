//! Why a candidate cannot be used now, for operators: in the log and on the admin pages.

use super::live::ReachedLimit;
use super::outcome::{FailureReason, HealthScope};
use std::sync::Arc;
use std::time::Duration;

/// No candidate can be used now.
#[derive(Debug)]
pub struct NoUsableChannel {
    /// Each candidate with its reason; for operators, never for callers.
    pub reasons: Vec<(Arc<str>, UnusableReason)>,
}

/// Why a candidate cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnusableReason {
    /// The request has already tried this candidate.
    AlreadyTried,
    /// An operator has drained the channel.
    Drained,
    AtLimit(ReachedLimit),
    /// In cool-down: the channel, this model on it, or all its credentials.
    CoolingDown {
        scope: HealthScope,
        /// The fingerprint of the channel, model or credential in cool-down.
        fingerprint: u64,
        reason: FailureReason,
        left: Duration,
        /// Whether the cool-down is over and a trial is in flight.
        is_tested: bool,
        /// Whether it may be used as a last resort.
        allows_last_resort: bool,
    },
}

impl NoUsableChannel {
    /// Whether waiting can help: a candidate is at a limit and may be usable soon.
    pub fn is_full(&self) -> bool {
        self.reasons
            .iter()
            .any(|(_, reason)| matches!(reason, UnusableReason::AtLimit(_)))
    }

    /// When the first candidate may be used again, if that is known.
    pub fn retry_after(&self) -> Option<Duration> {
        self.reasons
            .iter()
            .filter_map(|(_, reason)| match reason {
                UnusableReason::CoolingDown { left, .. } => Some(*left),
                UnusableReason::AtLimit(_) => Some(Duration::from_secs(1)),
                UnusableReason::AlreadyTried | UnusableReason::Drained => None,
            })
            .min()
    }
}

impl std::fmt::Display for NoUsableChannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (channel, reason)) in self.reasons.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{channel}: {reason}")?;
        }
        Ok(())
    }
}

impl std::fmt::Display for UnusableReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AlreadyTried => f.write_str("already tried"),
            Self::Drained => f.write_str("drained by an operator"),
            Self::AtLimit(reached) => write!(f, "at its limit `{}`", reached.name()),
            Self::CoolingDown {
                scope,
                reason,
                is_tested: true,
                ..
            } => write!(
                f,
                "{} half open ({}), a request in flight tests it",
                scope.name(),
                reason.name()
            ),
            Self::CoolingDown {
                scope,
                reason,
                left,
                ..
            } => write!(
                f,
                "{} cooling down ({}), {:.1} s left",
                scope.name(),
                reason.name(),
                left.as_secs_f64()
            ),
        }
    }
}
