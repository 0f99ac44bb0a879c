//! A subscription to the status changes of a task, and when its status is queried.

use headgate_core::task::state::TaskState;
use serde::{Deserialize, Serialize};

/// After this time without a callback, the status is polled.
const QUIET_MS: u64 = 60_000;
/// The first interval between polls, and how it grows.
const POLL_INTERVAL_MS: u64 = 15_000;
const POLL_INTERVAL_MAX_MS: u64 = 120_000;
/// The minimum time between two queries for callbacks, so that a flood of callbacks is no flood of queries.
const HINT_INTERVAL_MS: u64 = 1_000;

/// How often a query for a callback is tried again that failed, and one that found no change, since the provider's query
/// may be behind its callback; and after how long, times the number of such queries.
const FAILED_TRIES: u32 = 6;
const UNCHANGED_TRIES: u32 = 2;
const HINT_RETRY_MS: u64 = 2_000;

/// In this time before a task is not polled any more, a provider that does not find it has forgotten it: the task has
/// expired, and no later status is to be expected.
const FORGOTTEN_MS: u64 = 10 * 60 * 1_000;

/// Format of the task's status for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallerStatusFormat {
    /// The generic protocol.
    Generic,
    /// The native protocol of the channel's family, with sealed ids.
    Native,
    /// OpenAI's events, which report only the end of a task.
    OpenAi,
}

/// What a query of the task's status led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusQueryOutcome {
    Changed(TaskState),
    Unchanged,
    Failed,
}

/// A subscription to the status changes of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    pub channel: String,
    /// Where status changes are delivered; `None` if the caller named no URL.
    pub url: Option<String>,
    /// Whether events may only be sent with a signature.
    #[serde(default)]
    pub signed_only: bool,
    pub format: CallerStatusFormat,
    /// The caller's id of the task; `None` until the provider has accepted it.
    pub task: Option<String>,
    /// The last known state.
    pub state: TaskState,
    /// Whether the provider sends callbacks for the task.
    pub expects_callbacks: bool,
    /// How often the provider called back, or the task was known to have ended.
    #[serde(default)]
    pub hints: u32,
    /// How many of these a query that began later has settled.
    #[serde(default)]
    pub hints_settled: u32,
    /// How many of these there were when the last query began.
    #[serde(default)]
    pub hints_queried: u32,
    /// Number of queries that began after the last hint, and did not settle it.
    #[serde(default)]
    pub queries_since_hint: u32,
    /// Number of polls since the last callback.
    pub polls: u32,
    /// Unix milliseconds of the last query, 0 if there was none.
    pub queried_ms: u64,
    /// Unix milliseconds from which the task is not polled.
    pub polled_until_ms: u64,
}

impl Subscription {
    /// Whether the status may have changed since it was queried.
    pub fn is_hinted(&self) -> bool {
        self.hints != self.hints_settled
    }

    /// Whether a query is due that begins after now: it settles further hints as well, which need not be noted.
    pub fn has_query_ahead(&self) -> bool {
        self.hints != self.hints_queried
    }

    /// Whether a provider that does not find the task now is not expected to find it again.
    pub fn is_forgotten_if_not_found(&self, now_ms: u64) -> bool {
        now_ms.saturating_add(FORGOTTEN_MS) >= self.polled_until_ms
    }

    /// Notes that a query begins.
    pub fn query_begins(&mut self, now_ms: u64) {
        self.queried_ms = now_ms;
        self.hints_queried = self.hints;
    }

    /// Notes that the status may have changed; returns when it is to be queried, in Unix milliseconds.
    pub fn hint(&mut self, now_ms: u64) -> Option<u64> {
        self.hints = self.hints.wrapping_add(1);
        self.queries_since_hint = 0;
        self.polls = 0;
        self.next_query_ms(now_ms)
    }

    /// Notes a query that began when there were `hints`; returns when the next one is due, in Unix milliseconds.
    pub fn queried(&mut self, outcome: StatusQueryOutcome, hints: u32, now_ms: u64) -> Option<u64> {
        let tries = match outcome {
            StatusQueryOutcome::Changed(state) => {
                self.state = state.after(self.state);
                0
            }
            StatusQueryOutcome::Unchanged => UNCHANGED_TRIES,
            StatusQueryOutcome::Failed => FAILED_TRIES,
        };
        // Another query may have found the end.
        if self.state.is_terminal() {
            return None;
        }
        if hints == self.hints_settled {
            self.polls = self.polls.saturating_add(1);
        } else if self.queries_since_hint < tries {
            self.queries_since_hint += 1;
            let wait_ms = HINT_RETRY_MS * u64::from(self.queries_since_hint);
            return Some(now_ms.saturating_add(wait_ms));
        } else {
            self.hints_settled = hints;
            self.queries_since_hint = 0;
            // After failures the task is polled without a quiet minute before.
            self.polls = u32::from(outcome == StatusQueryOutcome::Failed);
        }
        self.next_query_ms(now_ms)
    }

    /// When the status is to be queried next, in Unix milliseconds; `None` for never.
    pub fn next_query_ms(&self, now_ms: u64) -> Option<u64> {
        if self.task.is_none() || self.state.is_terminal() {
            return None;
        }
        // Without a URL no event is delivered, so that the status is not queried, whatever the provider calls.
        self.url.as_ref()?;
        if self.is_hinted() {
            return Some(now_ms.max(self.queried_ms.saturating_add(HINT_INTERVAL_MS)));
        }
        if now_ms >= self.polled_until_ms {
            return None;
        }
        let wait = match (self.expects_callbacks, self.polls) {
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
            signed_only: false,
            format: CallerStatusFormat::Generic,
            task: Some("task_x".into()),
            state: TaskState::Queued,
            expects_callbacks: true,
            hints: 0,
            hints_settled: 0,
            hints_queried: 0,
            queries_since_hint: 0,
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
            expects_callbacks: false,
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
                hints: 1,
                ..subscription()
            },
            Subscription {
                state: TaskState::Failed,
                hints: 1,
                ..subscription()
            },
            Subscription {
                url: None,
                ..subscription()
            },
            Subscription {
                url: None,
                hints: 1,
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
            polls: 7,
            ..subscription()
        };
        assert_eq!(called.hint(5_000), Some(5_000));
        assert_eq!((called.is_hinted(), called.polls), (true, 0));
        called.queried_ms = 5_000;
        assert_eq!(called.hint(5_001), Some(6_000));
        // A callback before the create's response waits for it.
        called.task = None;
        assert_eq!(called.hint(9_000), None);
    }

    #[test]
    fn callbacks_are_noted_once_for_each_query() {
        let mut called = subscription();
        assert!(!called.has_query_ahead());
        called.hint(5_000);
        assert!(called.has_query_ahead());
        called.query_begins(5_100);
        assert!(!called.has_query_ahead(), "the query may have begun before");
        called.hint(5_200);
        assert!(called.has_query_ahead());
    }

    #[test]
    fn a_task_is_forgotten_only_when_its_polls_end() {
        let task = subscription();
        assert!(!task.is_forgotten_if_not_found(task.polled_until_ms - FORGOTTEN_MS - 1));
        assert!(task.is_forgotten_if_not_found(task.polled_until_ms - FORGOTTEN_MS));
    }

    #[test]
    fn a_query_that_does_not_settle_a_callback_is_tried_again_soon_then_like_a_poll() {
        use StatusQueryOutcome::{Changed, Failed, Unchanged};
        for (outcome, expected) in [
            (
                Failed,
                &[2_000, 4_000, 6_000, 8_000, 10_000, 12_000, 15_000, 22_500][..],
            ),
            (Unchanged, &[2_000, 4_000, 60_000, 15_000]),
            (Changed(TaskState::Running), &[60_000, 15_000]),
        ] {
            let mut called = subscription();
            called.hint(0);
            let waits = expected.iter();
            let waits: Vec<u64> = waits
                .map(|_| called.queried(outcome, 1, 0).unwrap())
                .collect();
            assert_eq!(waits, expected, "{outcome:?}");
        }
        let mut called = subscription();
        called.hint(0);
        assert_eq!(called.queried(Changed(TaskState::Failed), 1, 0), None);
        assert_eq!(
            called.queried(Unchanged, 1, 0),
            None,
            "a query that ends later"
        );
    }

    #[test]
    fn a_callback_that_comes_during_a_query_is_queried_again() {
        let mut called = subscription();
        called.hint(5_000);
        let hints = called.hints;
        called.queried_ms = 5_000;
        called.hint(5_200);
        let outcome = StatusQueryOutcome::Changed(TaskState::Running);
        assert_eq!(called.queried(outcome, hints, 5_500), Some(6_000));
        assert!(called.is_hinted());
    }
}
