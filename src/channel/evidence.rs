//! What a failure proves about a channel: an error that one request can provoke counts only once another request gets the
//! same.

use super::clock::MonotonicTime;
use super::outcome::FailureReason;
use std::time::{Duration, SystemTime};

/// The longest time between two failures of which one confirms the other.
const CONFIRMATION_WINDOW: Duration = Duration::from_secs(60);

/// What a failed attempt proves about its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureEvidence {
    /// The gateway saw the failure itself, or the provider's status or code is unambiguous.
    Conclusive,
    /// The text of an error, or a 404: the request may have provoked it.
    Inconclusive {
        request: RequestFingerprint,
        /// Whether only the text of the error has the reason.
        is_text: bool,
    },
}

/// Tells two requests apart: who sent them, and what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestFingerprint {
    /// Hash of the caller's name.
    pub caller: u64,
    /// Hash of the body as the caller sent it.
    pub body: u64,
    /// Whether the configuration has no other caller.
    pub is_sole_caller: bool,
}

/// Inconclusive failures in a row, without a success between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnconfirmedFailures {
    pub reason: FailureReason,
    pub requests: u32,
    pub since: SystemTime,
    /// Whether only the text of the errors has the reason.
    pub is_text: bool,
    first: RequestFingerprint,
    last_at: MonotonicTime,
}

impl RequestFingerprint {
    /// Whether a failure of `self` confirms the same failure of `earlier`: another caller sent it, or the only caller sent
    /// another body.
    fn confirms(self, earlier: Self) -> bool {
        self.caller != earlier.caller || (self.is_sole_caller && self.body != earlier.body)
    }
}

impl UnconfirmedFailures {
    fn new(
        now: MonotonicTime,
        reason: FailureReason,
        request: RequestFingerprint,
        is_text: bool,
    ) -> Self {
        Self {
            reason,
            requests: 1,
            since: SystemTime::now(),
            is_text,
            first: request,
            last_at: now,
        }
    }

    /// Adds a failure to `earlier` ones; returns whether it confirms them, which then count.
    pub(super) fn record(
        earlier: &mut Option<Self>,
        now: MonotonicTime,
        reason: FailureReason,
        request: RequestFingerprint,
        is_text: bool,
    ) -> bool {
        match earlier {
            Some(failures)
                if failures.reason == reason
                    && failures.last_at.until(now) <= CONFIRMATION_WINDOW =>
            {
                if request.confirms(failures.first) {
                    *earlier = None;
                    return true;
                }
                failures.requests = failures.requests.saturating_add(1);
                failures.last_at = now;
                failures.is_text &= is_text;
            }
            _ => *earlier = Some(Self::new(now, reason, request, is_text)),
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(caller: u64, body: u64, is_sole_caller: bool) -> RequestFingerprint {
        RequestFingerprint {
            caller,
            body,
            is_sole_caller,
        }
    }

    /// Whether the last of these failures, at seconds, confirms those before it.
    fn is_confirmed(failures: &[(u64, FailureReason, RequestFingerprint)]) -> bool {
        let mut earlier = None;
        let mut confirmed = false;
        for (at, reason, request) in failures {
            let now = MonotonicTime(at * 1000);
            confirmed = UnconfirmedFailures::record(&mut earlier, now, *reason, *request, true);
        }
        confirmed
    }

    #[test]
    fn a_failure_is_confirmed_by_another_caller_or_another_body_of_the_only_caller() {
        use FailureReason::{ModelUnavailable, RefusedAccount};
        for (case, failures, confirmed) in [
            (
                "one failure",
                vec![(0, ModelUnavailable, request(1, 1, false))],
                false,
            ),
            (
                "the same caller with another body",
                vec![
                    (0, ModelUnavailable, request(1, 1, false)),
                    (1, ModelUnavailable, request(1, 2, false)),
                ],
                false,
            ),
            (
                "another caller",
                vec![
                    (0, ModelUnavailable, request(1, 1, false)),
                    (59, ModelUnavailable, request(2, 1, false)),
                ],
                true,
            ),
            (
                "another caller after more than a minute",
                vec![
                    (0, ModelUnavailable, request(1, 1, false)),
                    (61, ModelUnavailable, request(2, 1, false)),
                ],
                false,
            ),
            (
                "another caller with another reason",
                vec![
                    (0, ModelUnavailable, request(1, 1, false)),
                    (1, RefusedAccount, request(2, 1, false)),
                ],
                false,
            ),
            (
                "the only caller with the same body",
                vec![
                    (0, ModelUnavailable, request(1, 1, true)),
                    (1, ModelUnavailable, request(1, 1, true)),
                ],
                false,
            ),
            (
                "the only caller with another body",
                vec![
                    (0, ModelUnavailable, request(1, 1, true)),
                    (1, ModelUnavailable, request(1, 2, true)),
                ],
                true,
            ),
        ] {
            assert_eq!(is_confirmed(&failures), confirmed, "{case}");
        }
    }

    #[test]
    fn a_thousand_failures_of_one_caller_confirm_nothing_and_are_counted() {
        let mut earlier = None;
        for body in 0..1000 {
            let now = MonotonicTime(body * 100);
            let request = request(1, body, false);
            let reason = FailureReason::RefusedAccount;
            assert!(!UnconfirmedFailures::record(
                &mut earlier,
                now,
                reason,
                request,
                true
            ));
        }
        assert_eq!(earlier.unwrap().requests, 1000);
    }
}
