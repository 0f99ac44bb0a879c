//! The section `usage` as built.

use std::time::Duration;

/// How usage is counted and kept.
pub(crate) struct DailyUsageSettings {
    /// The number of rows of a day with names of callers; `None` if nothing is counted.
    pub rows_max: Option<usize>,
    /// How long a day is kept after its end.
    pub keep: Duration,
}
