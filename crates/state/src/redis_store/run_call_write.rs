//! How a call of a run ends in Redis.

use headgate_core::state::run::RunCall;

/// The keys of a call of a run: the run's, its caller's runs, and all callers with runs.
pub const RUN_KEYS: usize = 3;

/// How a call of a run ends.
#[derive(Debug)]
pub enum RunCallWrite {
    Ended(Box<RunCall>),
    /// Nobody awaited its admission, which has reserved so much money, in billionths.
    Cancelled(u64),
}
