//! What features record of what requests have used.

use super::metrics::{ChargeChange, CostChange};
use crate::catalog::price::Cost;
use headgate_protocol::usage::TokenUsage;

/// Records what was used, request by request.
pub trait ExchangeRecorder: Send + Sync {
    /// Whether the configuration in use asks for records. Without that, nothing is recorded.
    fn is_on(&self) -> bool;

    /// Records a request that has ended, or what a batch has used of a model. Must not block.
    fn record(&self, used: &RecordedUse<'_>);

    /// Records by how much earlier costs differ from what was recorded. Must not block.
    fn change_cost(&self, change: &CostChange);

    /// Records by how much the charges of earlier requests differ from what was recorded. Must not block.
    fn change_charge(&self, change: &ChargeChange);
}

/// What a request has used, or a batch of a model.
#[derive(Clone, Copy, Debug)]
pub struct RecordedUse<'a> {
    /// Unix milliseconds: when the request came.
    pub time_ms: u64,
    /// `None` on routes without authentication.
    pub caller: Option<&'a str>,
    /// `None` if the request names none that there is.
    pub model: Option<&'a str>,
    /// That of the last attempt.
    pub channel: Option<&'a str>,
    /// `None` for a use beside requests.
    pub outcome: Option<RecordedOutcome>,
    pub usage: Option<&'a TokenUsage>,
    /// The cost and its currency; `None` for what has no price.
    pub cost: Option<(Cost, &'a str)>,
    /// What it has cost of its caller's budgets.
    pub charges: &'a [RecordedCharge<'a>],
}

/// What a request has cost of its caller's budgets on a model.
#[derive(Clone, Copy, Debug)]
pub struct RecordedCharge<'a> {
    /// Unix milliseconds: when the request was admitted.
    pub admitted_ms: u64,
    pub model: &'a str,
    /// That of the last attempt for the model.
    pub channel: Option<&'a str>,
    pub currency: &'a str,
    /// Billionths of the currency's unit.
    pub nanos: u64,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedOutcome {
    Served,
    /// The cause, one of a fixed number of words.
    Failed(&'static str),
}
