//! Runs of agents: what a request of a run asks of its caps, and what refuses it.

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of calls that a store keeps of a run.
pub const RUN_CALLS_KEPT: usize = 50;

/// What a cap of a run counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunCap {
    /// Requests that were admitted.
    Calls,
    /// Time since the first request, in milliseconds.
    Time,
    /// Requests in a row that are the same.
    Repeats,
    /// Input and output tokens: reserved by the most that a request can use, then corrected to the tokens used.
    Tokens,
    /// Money, in billionths of the currency's unit: reserved as budgets are.
    Cost,
}

/// What refuses a call of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunLimit {
    Cap(RunCap),
    /// The number of the caller's runs.
    Live,
}

/// The maximum of each cap; `None` for no cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCaps([Option<u64>; RunCap::ALL.len()]);

/// A run of a caller. Runs of different callers are different runs, whatever their names are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunKey {
    pub caller: Arc<str>,
    pub name: Arc<str>,
}

/// What a request needs of its run.
#[derive(Clone, Debug)]
pub struct RunDemand {
    pub key: RunKey,
    /// The operator's caps.
    pub caps: RunCaps,
    /// Those of the request. They hold for the rest of the run, and no later request can widen them.
    pub tightened: RunCaps,
    /// 1; 0 for another model of a request that is counted.
    pub calls: u64,
    /// Identifies what would be sent; `None` if that is not compared.
    pub fingerprint: Option<String>,
    /// The most tokens that the request can use.
    pub tokens: u64,
    /// The most that the request can cost, in billionths; `None` if nothing limits it.
    pub cost: Option<u64>,
    /// Time without a request after which the run is forgotten, in milliseconds.
    pub idle_ms: u64,
    /// The maximum number of the caller's runs that are not forgotten.
    pub live_max: u64,
}

/// A call of a run that was admitted; it ends exactly once.
#[derive(Clone, Debug)]
pub struct RunTicket {
    pub key: RunKey,
    /// The time of admission on the store's clock, in Unix milliseconds.
    pub taken_ms: u64,
    /// The tokens that were reserved.
    pub tokens: u64,
    /// The store's number for the admission; 0 if the store numbers none.
    pub lease: u64,
}

/// Why a run admits no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunRefusal {
    Cap {
        cap: RunCap,
        most: u64,
        used: u64,
        /// What the request needs; `u64::MAX` if nothing limits it.
        need: u64,
    },
    /// The caller has as many runs as it may have.
    Live {
        most: u64,
        /// The time until the first of them is forgotten.
        retry_after: Duration,
    },
}

/// A call as the page of its run shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCall {
    /// When it was decided about, in Unix milliseconds.
    pub at_ms: u64,
    /// Id of the request.
    pub id: String,
    pub model: Option<String>,
    /// 0 if no status was sent.
    pub status: u16,
    pub tokens: u64,
    /// In billionths; `None` if nothing was reserved for it.
    pub cost: Option<u64>,
    /// The limit that refused it.
    pub refused_by: Option<String>,
}

/// The end of a call: it corrects what was reserved of tokens, and is added to the calls of the run.
#[derive(Clone, Debug)]
pub struct RunCallEnd {
    pub key: RunKey,
    /// `None` for a call that was refused.
    pub ticket: Option<RunTicket>,
    pub call: RunCall,
}

/// The name of the run of a request; in [`RequestFilterValues`](crate::filter::state::RequestFilterValues).
pub struct RunName(pub Arc<str>);

/// The status that the caller of a run was sent; in [`RequestFilterValues`](crate::filter::state::RequestFilterValues).
pub struct SentStatus(pub u16);

impl RunCall {
    /// The text in stores.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("numbers and texts have a form in JSON")
    }

    /// What was stored as `text`; `None` for any other text.
    pub fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

impl RunCap {
    /// In the order in which they are checked.
    pub const ALL: [Self; 5] = [
        Self::Calls,
        Self::Time,
        Self::Repeats,
        Self::Tokens,
        Self::Cost,
    ];

    /// The key in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Time => "time",
            Self::Repeats => "repeats",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
        }
    }
}

impl RunLimit {
    /// The name in metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cap(RunCap::Calls) => "run_calls",
            Self::Cap(RunCap::Time) => "run_time",
            Self::Cap(RunCap::Repeats) => "run_repeats",
            Self::Cap(RunCap::Tokens) => "run_tokens",
            Self::Cap(RunCap::Cost) => "run_cost",
            Self::Live => "run_live",
        }
    }
}

impl RunCaps {
    pub fn get(&self, cap: RunCap) -> Option<u64> {
        self.0[cap as usize]
    }

    pub fn set(&mut self, cap: RunCap, most: Option<u64>) {
        self.0[cap as usize] = most;
    }

    /// The lower one of each cap.
    pub fn tighten(&self, other: &Self) -> Self {
        let mut tighter = *self;
        for (most, other) in tighter.0.iter_mut().zip(other.0) {
            *most = match (*most, other) {
                (Some(most), Some(other)) => Some(most.min(other)),
                (most, other) => most.or(other),
            };
        }
        tighter
    }
}

impl RunRefusal {
    pub fn limit(&self) -> RunLimit {
        match self {
            Self::Cap { cap, .. } => RunLimit::Cap(*cap),
            Self::Live { .. } => RunLimit::Live,
        }
    }
}
