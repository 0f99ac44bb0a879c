//! `usage` of `routes.yaml`.

use headgate_core::scalar::HumanDuration;
use headgate_core::state::calendar::DAY_MS;
use schemars::JsonSchema;
use serde::Deserialize;

/// The section of this feature.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DailyUsageSection {
    /// Counts what callers, models and channels use, by day, for `headgate usage` and the page *Usage*. Default: nothing is
    /// counted.
    pub usage: Option<DailyUsageConfig>,
}

/// How usage is counted. It is stored where `state` says.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DailyUsageConfig {
    /// How long a day is kept, from `1d` to `3660d`. Default: `400d`.
    pub keep: HumanDuration,
    /// Rows of a day in which one process names callers: one for each caller, model, channel and currency that were used
    /// together. Others count as the caller `other`. Raise it if `headgate usage` shows that one. A row takes about 300 bytes of
    /// memory. Default: 10000.
    #[schemars(range(min = 100, max = 1_000_000))]
    pub rows_per_day: usize,
}

impl Default for DailyUsageConfig {
    fn default() -> Self {
        Self {
            keep: HumanDuration::milliseconds(400 * DAY_MS),
            rows_per_day: 10_000,
        }
    }
}
