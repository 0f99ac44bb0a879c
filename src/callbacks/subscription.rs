//! A subscription to the status changes of a task, and when its status is queried.

use crate::task::state::TaskState;
use serde::{Deserialize, Serialize};

/// After this time without a callback, the status is polled.
const QUIET_MS: u64 = 60_000;
/// The first interval between polls, and how it grows.
const POLL_INTERVAL_MS: u64 = 15_000;
const POLL_INTERVAL_MAX_MS: u64 = 120_000;
/// The minimum time between two queries for callbacks, so that a flood of callbacks is no flood of queries.
const HINT_INTERVAL_MS: u64 = 1_000;

/// Format of the task's status for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusFormat {
    /// The generic protocol.
    Generic,
    /// The native protocol of the channel's family, with sealed ids.
    Native,
}

/// A subscription to the status changes of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    pub channel: String,
    /// Where status changes are delivered; `None` if the caller named no URL.
    pub url: Option<String>,
    pub format: StatusFormat,
    /// The caller's id of the task; `None` until the provider has accepted it.
    pub task: Option<String>,
    /// The last known state.
    pub state: TaskState,
    /// Whether the provider sends callbacks for the task.
    pub called_back: bool,
    /// A callback came, or the task is known to have ended, and the status was not queried since.
    pub hinted: bool,
    /// Number of polls since the last callback.
    pub polls: u32,
    /// Unix milliseconds of the last query, 0 if there was none.
    pub queried_ms: u64,
    /// Unix milliseconds from which the task is not polled.
    pub polled_until_ms: u64,
}

impl Subscription {
    /// Notes that the status may have changed; returns when it is to be queried, in Unix milliseconds.
    pub fn hint(&mut self, now_ms: u64) -> Option<u64> {
        self.hinted = true;
        self.polls = 0;
        self.next_query_ms(now_ms)
    }

    /// When the status is to be queried next, in Unix milliseconds; `None` for never.
    pub fn next_query_ms(&self, now_ms: u64) -> Option<u64> {
        if self.task.is_none() || self.state.is_terminal() {
            return None;
        }
        if self.hinted {
            return Some(now_ms.max(self.queried_ms.saturating_add(HINT_INTERVAL_MS)));
        }
        // Nobody is told of the status, so that nobody polls it.
        if self.url.is_none() || now_ms >= self.polled_until_ms {
            return None;
        }
        let wait = match (self.called_back, self.polls) {
            (true, 0) => QUIET_MS,
            (true, polls) => poll_interval_ms(polls - 1),
            (false, polls) => poll_interval_ms(polls),
        };
        Some(now_ms.saturating_add(wait))
    }
}

/// Each interval is half as long again as the one before.
fn poll_interval_ms(polls: u32) -> u64 {
    let mut interval = POLL_INTERVAL_MS;
    for _ in 0..polls {
        if interval >= POLL_INTERVAL_MAX_MS {
            return POLL_INTERVAL_MAX_MS;
        }
        interval = interval * 3 / 2;
    }
    interval.min(POLL_INTERVAL_MAX_MS)
}
