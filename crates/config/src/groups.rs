//! `groups` of `routes.yaml`: callers that share limits.

use crate::caller_limits::CallerLimitsConfig;
use schemars::JsonSchema;
use serde::Deserialize;

/// Callers that share limits.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallerGroupConfig {
    /// Limits that all callers of the group use up together, besides those of each of them; enforced on routes with
    /// `rate_limit`. `connections` is for callers alone.
    pub limits: CallerLimitsConfig,
}
