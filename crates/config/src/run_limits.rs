//! `runs` of limits in `routes.yaml`: what each run of an agent may use.

use headgate_core::scalar::{HumanDuration, UnitPrice};
use schemars::JsonSchema;
use serde::Deserialize;

/// What each run of an agent may use. The header `x-headgate-run` names the run of a request.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct RunLimitsConfig {
    /// Requests of a run. Default: no cap.
    #[schemars(range(min = 1))]
    pub calls: Option<u64>,
    /// Input and output tokens of a run: the most that a request can use is reserved before it is sent, and settled by the
    /// reported usage. Default: no cap.
    #[schemars(range(min = 1))]
    pub tokens: Option<u64>,
    /// Money of a run, in the currency of `prices`: what a request can cost is reserved before it is sent, and settled on its
    /// cost. At most 9000000. Requires `prices`. Default: no cap.
    pub cost: Option<UnitPrice>,
    /// Time from the first request of a run to its last one. A request that has begun is not stopped. Default: no cap.
    pub time: Option<HumanDuration>,
    /// Requests in a row that are the same. Retries of SDKs count: set it above their number. Default: no cap.
    #[schemars(range(min = 1))]
    pub repeats: Option<u64>,
    /// Whether requests without the name of a run get 400. Default: false.
    pub require: bool,
    /// Whether the trace id in `traceparent` names the run of a request without `x-headgate-run`. Set it where agents send
    /// traces. Default: false.
    pub trace_id: bool,
    /// Time without a request after which a run is forgotten, and another one of its name begins, from 1m to 720h. Set it above
    /// the longest pause of an agent, and above its longest request. Default: 1h.
    pub idle: Option<HumanDuration>,
    /// Runs that the caller may have at a time, up to 10000; another one gets 429 until one is forgotten. Default: 100.
    #[schemars(range(min = 1, max = 10_000))]
    pub live: Option<u64>,
}
