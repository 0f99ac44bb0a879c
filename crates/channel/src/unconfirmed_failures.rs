//! Failures that one request may have provoked, until another request confirms them.

use super::clock::MonotonicTime;
use super::evidence::{RequestFingerprint, SuspectRequest};
use super::outcome::FailureReason;
use std::time::{Duration, SystemTime};

/// The longest time between two failures of which one confirms the other.
const CONFIRMATION_WINDOW: Duration = Duration::from_secs(60);

/// Inconclusive failures for one reason in a row, without a success between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnconfirmedFailures {
    pub reason: FailureReason,
    pub requests: u32,
    pub since: SystemTime,
    /// Those whose error repeats no text of the request.
    pub unquoted: u32,
    /// The first request that another one may confirm.
    first: RequestFingerprint,
    last_at: MonotonicTime,
}

impl UnconfirmedFailures {
    fn new(now: MonotonicTime, reason: FailureReason, request: SuspectRequest) -> Self {
        Self {
            reason,
            requests: 1,
            since: SystemTime::now(),
            unquoted: u32::from(!request.is_quoted),
            first: request.fingerprint,
            last_at: now,
        }
    }

    /// Adds a failure to `earlier` ones; returns whether it confirms them, which then count.
    pub(super) fn record(
        earlier: &mut Option<Self>,
        now: MonotonicTime,
        reason: FailureReason,
        request: SuspectRequest,
    ) -> bool {
        let fingerprint = request.fingerprint;
        match earlier {
            Some(failures) if failures.reason == reason => {
                let is_recent = failures.last_at.until(now) <= CONFIRMATION_WINDOW;
                if is_recent && fingerprint.confirms(failures.first) {
                    *earlier = None;
                    return true;
                }
                if !is_recent {
                    failures.first = fingerprint;
                }
                failures.requests = failures.requests.saturating_add(1);
                failures.last_at = now;
                let unquoted = u32::from(!request.is_quoted);
                failures.unquoted = failures.unquoted.saturating_add(unquoted);
            }
            _ => *earlier = Some(Self::new(now, reason, request)),
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::{HealthPermit, HealthTracker};
    use crate::health_status::HealthStatus;
    use crate::outcome::AttemptFailure;

    fn request(caller: u64, body: u64, is_sole_caller: bool) -> SuspectRequest {
        let fingerprint = RequestFingerprint {
            caller,
            body,
            is_sole_caller,
        };
        SuspectRequest {
            fingerprint,
            is_quoted: body.is_multiple_of(2),
        }
    }

    /// Whether the last of these failures, at seconds, confirms those before it.
    fn is_confirmed(failures: &[(u64, FailureReason, SuspectRequest)]) -> bool {
        let mut earlier = None;
        let mut confirmed = false;
        for (at, reason, request) in failures {
            let now = MonotonicTime(at * 1000);
            confirmed = UnconfirmedFailures::record(&mut earlier, now, *reason, *request);
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
                request
            ));
        }
        let failures = earlier.unwrap();
        assert_eq!((failures.requests, failures.unquoted), (1000, 500));
    }

    #[test]
    fn rare_failures_are_counted_until_a_success_and_confirm_none_of_another_minute() {
        let mut earlier = None;
        for (at, caller, confirmed) in [
            (0, 1, false),
            (90, 2, false),
            (180, 1, false),
            (230, 2, true),
        ] {
            let now = MonotonicTime(at * 1000);
            let request = request(caller, 1, false);
            let reason = FailureReason::ModelUnavailable;
            let is_confirmed = UnconfirmedFailures::record(&mut earlier, now, reason, request);
            assert_eq!(is_confirmed, confirmed, "{at}");
            if at == 180 {
                assert_eq!(earlier.unwrap().requests, 3);
            }
        }
    }

    #[test]
    fn failures_that_a_request_may_have_provoked_count_once_another_caller_has_the_same() {
        let health = HealthTracker::default();
        let failed = AttemptFailure::new(FailureReason::ModelUnavailable);
        let confirm = |at, caller| {
            health.confirm_failure(
                MonotonicTime(at),
                &failed,
                request(caller, 1, false),
                "req_1",
            )
        };
        assert!((0..100).all(|at| !confirm(at, 1)));
        let report = health.report(MonotonicTime(100));
        assert_eq!(report.status, HealthStatus::Healthy);
        assert_eq!(report.unconfirmed.unwrap().requests, 100);
        assert_eq!(
            report.last_error.unwrap().reason,
            FailureReason::ModelUnavailable
        );
        assert!(confirm(101, 2));

        // A success shows that the channel is usable.
        assert!(!confirm(200, 1));
        health.record_success(MonotonicTime(201), HealthPermit::Normal);
        assert!(!confirm(202, 2));
    }
}
