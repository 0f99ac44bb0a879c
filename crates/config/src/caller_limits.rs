//! `limits` of a caller in `routes.yaml`.

use crate::run_limits::RunLimitsConfig;
use headgate_core::scalar::UnitPrice;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Limits of a caller, in total and by model.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct CallerLimitsConfig {
    /// Requests in any 60 s.
    #[schemars(range(min = 1))]
    pub requests_per_minute: Option<u64>,
    /// Input and output tokens in any 60 s; reserved by estimate, settled by the reported usage.
    #[schemars(range(min = 1))]
    pub tokens_per_minute: Option<u64>,
    /// Requests at one time.
    #[schemars(range(min = 1))]
    pub concurrent: Option<u64>,
    /// Tokens in a calendar day, UTC.
    #[schemars(range(min = 1))]
    pub tokens_per_day: Option<u64>,
    /// Tokens in a calendar month, UTC.
    #[schemars(range(min = 1))]
    pub tokens_per_month: Option<u64>,
    /// Money in a calendar day, UTC, in the currency of `prices`: what a request can cost is reserved before it is sent, and
    /// settled on its cost. At most 9000000. Requires `prices`. Default: no limit.
    pub cost_per_day: Option<UnitPrice>,
    /// Money in a calendar month, UTC, as `cost_per_day`. Default: no limit.
    pub cost_per_month: Option<UnitPrice>,
    /// Money for ever, as `cost_per_day`. Raise it when the caller has spent it. Default: no limit.
    pub cost_total: Option<UnitPrice>,
    /// Whether a stream is cut, with an error event, where its cost passes what it has reserved and what is left of the budgets
    /// beside this key. Default: false, a stream that runs ends as its provider ends it.
    pub cut_streams: bool,
    /// Open client connections.
    #[schemars(range(min = 1))]
    pub connections: Option<u32>,
    /// What each run of an agent may use, and whether requests must belong to one. Default: requests belong to no runs.
    pub runs: Option<RunLimitsConfig>,
    /// Additional limits by platform model, counted separately for each model. `*` matches any
    /// characters; an exact name takes precedence over patterns, a longer pattern over a shorter one.
    pub models: BTreeMap<String, CallerModelLimitsConfig>,
}

/// Limits of a caller for a model.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct CallerModelLimitsConfig {
    /// Requests in any 60 s.
    #[schemars(range(min = 1))]
    pub requests_per_minute: Option<u64>,
    /// Input and output tokens in any 60 s; reserved by estimate, settled by the reported usage.
    #[schemars(range(min = 1))]
    pub tokens_per_minute: Option<u64>,
    /// Requests at one time.
    #[schemars(range(min = 1))]
    pub concurrent: Option<u64>,
    /// Tokens in a calendar day, UTC.
    #[schemars(range(min = 1))]
    pub tokens_per_day: Option<u64>,
    /// Tokens in a calendar month, UTC.
    #[schemars(range(min = 1))]
    pub tokens_per_month: Option<u64>,
    /// Money in a calendar day, UTC, in the currency of `prices`: what a request can cost is reserved before it is sent, and
    /// settled on its cost. At most 9000000. Requires `prices`. Default: no limit.
    pub cost_per_day: Option<UnitPrice>,
    /// Money in a calendar month, UTC, as `cost_per_day`. Default: no limit.
    pub cost_per_month: Option<UnitPrice>,
    /// Money for ever, as `cost_per_day`. Raise it when the caller has spent it. Default: no limit.
    pub cost_total: Option<UnitPrice>,
    /// Whether a stream is cut, with an error event, where its cost passes what it has reserved and what is left of the budgets
    /// beside this key. Default: false, a stream that runs ends as its provider ends it.
    pub cut_streams: bool,
}

/// A budget of a key, or of a model for all callers.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetConfig {
    /// Money in a calendar day, UTC, in the currency of `prices`: what a request can cost is reserved before it is sent, and
    /// settled on its cost. At most 9000000. Requires `prices`. Default: no limit.
    pub cost_per_day: Option<UnitPrice>,
    /// Money in a calendar month, UTC, as `cost_per_day`. Default: no limit.
    pub cost_per_month: Option<UnitPrice>,
    /// Money for ever, as `cost_per_day`. Raise it when it is spent. Default: no limit.
    pub cost_total: Option<UnitPrice>,
    /// Whether a stream is cut, with an error event, where its cost passes what it has reserved and what is left of the budgets
    /// beside this key. Default: false, a stream that runs ends as its provider ends it.
    pub cut_streams: bool,
}

impl BudgetConfig {
    /// The same as limits of a caller.
    pub fn limits(self) -> CallerLimitsConfig {
        let Self {
            cost_per_day,
            cost_per_month,
            cost_total,
            cut_streams,
        } = self;
        CallerLimitsConfig {
            cost_per_day,
            cost_per_month,
            cost_total,
            cut_streams,
            ..CallerLimitsConfig::default()
        }
    }
}
