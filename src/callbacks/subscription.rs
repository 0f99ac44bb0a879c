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

/// How often a failed query for a callback is tried again, and after how long, times the number of failures.
const HINT_TRIES: u32 = 6;
const HINT_RETRY_MS: u64 = 2_000;

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

    /// When the query for a callback is tried again that failed, in Unix milliseconds: soon at first, then like a poll.
    pub fn retry_hint_ms(&mut self, now_ms: u64) -> Option<u64> {
        if self.state.is_terminal() || self.polls > HINT_TRIES {
            return self.next_query_ms(now_ms);
        }
        self.hinted = true;
        let wait = HINT_RETRY_MS.saturating_mul(u64::from(self.polls));
        Some(now_ms.saturating_add(wait))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription() -> Subscription {
        Subscription {
            channel: "a".into(),
            url: Some("https://receiver.example/done".into()),
            format: StatusFormat::Generic,
            task: Some("task_x".into()),
            state: TaskState::Queued,
            called_back: true,
            hinted: false,
            polls: 0,
            queried_ms: 0,
            polled_until_ms: 10_000_000,
        }
    }

    #[test]
    fn polls_begin_after_a_quiet_minute_and_become_rarer() {
        let mut quiet = subscription();
        let waits = (0..8).map(|polls| {
            quiet.polls = polls;
            quiet.next_query_ms(0).unwrap()
        });
        let waits: Vec<u64> = waits.collect();
        let expected = [
            60_000, 15_000, 22_500, 33_750, 50_625, 75_937, 113_905, 120_000,
        ];
        assert_eq!(waits, expected);
        let mut polled = Subscription {
            called_back: false,
            ..subscription()
        };
        assert_eq!(polled.next_query_ms(0), Some(15_000));
        polled.polls = 100;
        assert_eq!(polled.next_query_ms(0), Some(120_000));
    }

    #[test]
    fn a_task_is_polled_until_it_ends_or_expires_and_for_somebody() {
        for unpolled in [
            Subscription {
                task: None,
                hinted: true,
                ..subscription()
            },
            Subscription {
                state: TaskState::Failed,
                hinted: true,
                ..subscription()
            },
            Subscription {
                url: None,
                ..subscription()
            },
            Subscription {
                polled_until_ms: 5,
                ..subscription()
            },
        ] {
            assert_eq!(unpolled.next_query_ms(5), None, "{unpolled:?}");
        }
    }

    #[test]
    fn a_callback_is_queried_at_once_but_a_flood_of_them_every_second() {
        let mut called = Subscription {
            url: None,
            polls: 7,
            ..subscription()
        };
        assert_eq!(called.hint(5_000), Some(5_000));
        assert_eq!((called.hinted, called.polls), (true, 0));
        called.queried_ms = 5_000;
        assert_eq!(called.hint(5_001), Some(6_000));
        // A callback before the create's answer waits for it.
        called.task = None;
        assert_eq!(called.hint(9_000), None);
    }

    #[test]
    fn a_failed_query_for_a_callback_is_tried_again_soon_then_like_a_poll() {
        let mut called = subscription();
        let mut waits = Vec::new();
        for polls in 1..=8 {
            called.hinted = false;
            called.polls = polls;
            waits.push(called.retry_hint_ms(0).unwrap());
        }
        let expected = [2_000, 4_000, 6_000, 8_000, 10_000, 12_000, 120_000, 120_000];
        assert_eq!(waits, expected);
    }
}
