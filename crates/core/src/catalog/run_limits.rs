//! What each run of a caller may use, built once and shared by all requests.

use crate::state::run::RunCaps;
use std::time::Duration;

/// Time without a request after which a run is forgotten, by default.
const IDLE: Duration = Duration::from_secs(3_600);
/// Runs that a caller may have at a time, by default.
const LIVE: u64 = 100;

/// What each run of a caller may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunLimits {
    pub caps: RunCaps,
    /// Whether a request without the name of a run is refused.
    pub is_required: bool,
    /// Whether the trace id of a request names its run if no header does.
    pub takes_trace_id: bool,
    pub idle: Option<Duration>,
    pub live: Option<u64>,
}

impl RunLimits {
    /// Both of them: the lower cap of each kind.
    pub fn tighten(&self, other: &Self) -> Self {
        let live = self.live.into_iter().chain(other.live);
        Self {
            caps: self.caps.tighten(&other.caps),
            is_required: self.is_required || other.is_required,
            takes_trace_id: self.takes_trace_id || other.takes_trace_id,
            idle: self.idle.max(other.idle),
            live: live.min(),
        }
    }

    /// Time without a request after which a run is forgotten.
    pub fn idle(&self) -> Duration {
        self.idle.unwrap_or(IDLE)
    }

    /// The maximum number of runs that are not forgotten.
    pub fn live(&self) -> u64 {
        self.live.unwrap_or(LIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::run::RunCap;

    #[test]
    fn the_runs_of_a_caller_have_the_lower_caps_of_it_and_its_group() {
        let limits = |calls, tokens, idle: Option<u64>, live| {
            let mut caps = RunCaps::default();
            caps.set(RunCap::Calls, calls);
            caps.set(RunCap::Tokens, tokens);
            RunLimits {
                caps,
                idle: idle.map(Duration::from_secs),
                live,
                ..RunLimits::default()
            }
        };
        let own = limits(Some(5), None, None, Some(9));
        let group = limits(Some(7), Some(100), Some(60), None);
        let both = limits(Some(5), Some(100), Some(60), Some(9));
        assert_eq!(own.tighten(&group), both);
        assert_eq!(group.tighten(&own), both);
        assert_eq!(RunLimits::default().idle(), IDLE);
    }
}
