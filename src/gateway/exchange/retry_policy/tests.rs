//! The table, row by row, and what follows from it for SDKs.

use super::AttemptEnd::{
    self, Broken, ClientError, CutShort, Drained, ErrorEvent, ForeignBody, Redirect, ServerError,
    StaleConnection, TimedOut, Unreadable, Unsent,
};
use super::CallerReply::{
    self, AccountRefused, InvalidResponse, OutcomeUnknown, PaidFailure, ProviderError,
};
use super::Next::{Candidate, FreshConnection, Stop};
use super::RetrySafety::{self, Background, Free, Paid, Stored, Streamed};
use super::{Next, RetryPolicy, Verdict};
use crate::protocol::blame::Blame::{self, Account, Busy, Caller, Credential, NotHere, Provider};
use crate::protocol::fault::{Fault, FaultKind};

const BLAMES: [Blame; 6] = [Caller, Busy, Provider, Credential, Account, NotHere];
const UNPAID: [RetrySafety; 3] = [Free, Stored, Background];

fn verdict(safety: RetrySafety, end: AttemptEnd) -> Verdict {
    let on_silence = true;
    RetryPolicy { safety, on_silence }.verdict(end)
}

fn is(safety: RetrySafety, end: AttemptEnd, next: Next, reply: CallerReply, sdk_may_retry: bool) {
    let expected = Verdict {
        next,
        reply,
        sdk_may_retry,
    };
    assert_eq!(verdict(safety, end), expected, "{safety:?} {end:?}");
}

fn all_ends() -> Vec<AttemptEnd> {
    let mut ends = vec![
        Unsent,
        StaleConnection,
        Broken,
        TimedOut,
        Drained,
        CutShort,
        Redirect,
        ForeignBody,
        Unreadable,
    ];
    for blame in BLAMES {
        ends.extend([ClientError(blame), ServerError(blame), ErrorEvent(blame)]);
    }
    ends
}

/// The table of paid creates in the design, row by row.
#[test]
fn a_paid_request_goes_on_only_where_the_provider_has_nothing() {
    // No connection, TLS failed, nothing of the request written.
    is(Paid, Unsent, Candidate, CallerReply::Fault, true);
    // 429, or a 4xx whose code is listed as a refusal of this account, key, model or moment.
    for blame in [Busy, NotHere] {
        is(Paid, ClientError(blame), Candidate, ProviderError, true);
    }
    for blame in [Credential, Account] {
        is(Paid, ClientError(blame), Candidate, AccountRefused, false);
    }
    // Any other 4xx.
    for blame in [Caller, Provider] {
        is(Paid, ClientError(blame), Stop, ProviderError, false);
    }
    // 5xx, reset or timeout after a byte was written.
    for blame in BLAMES {
        is(Paid, ServerError(blame), Stop, PaidFailure, false);
    }
    for end in [StaleConnection, Broken, TimedOut, Drained] {
        is(Paid, end, Stop, OutcomeUnknown, false);
    }
    is(Paid, CutShort, Stop, PaidFailure, false);
    // 200 without a readable id.
    is(Paid, Unreadable, Stop, CallerReply::Fault, false);
    is(Paid, ForeignBody, Stop, InvalidResponse, false);
    is(Paid, Redirect, Stop, CallerReply::Fault, false);
    let goes_on = |end: &AttemptEnd| verdict(Paid, *end).next != Stop;
    let on: Vec<AttemptEnd> = all_ends().into_iter().filter(goes_on).collect();
    assert_eq!(on.len(), 5, "{on:?}");
}

#[test]
fn an_error_that_is_not_the_callers_goes_elsewhere_unless_it_costs_money() {
    for safety in UNPAID {
        for end in [ClientError, ServerError, ErrorEvent] {
            is(safety, end(Caller), Stop, ProviderError, true);
            for blame in [Busy, Provider, NotHere] {
                is(safety, end(blame), Candidate, ProviderError, true);
            }
            for blame in [Credential, Account] {
                is(safety, end(blame), Candidate, AccountRefused, true);
            }
        }
        for end in [Redirect, ForeignBody] {
            is(safety, end, Candidate, CallerReply::Fault, true);
        }
        is(safety, Unreadable, Stop, CallerReply::Fault, true);
    }
}

#[test]
fn what_may_be_at_work_is_asked_for_again_only_where_that_costs_little() {
    for (end, free, stored, background) in [
        (Unsent, Candidate, Candidate, Candidate),
        (StaleConnection, FreshConnection, FreshConnection, Stop),
        (Broken, Candidate, Candidate, Stop),
        (TimedOut, Candidate, Stop, Stop),
        (Drained, Stop, Stop, Stop),
        (CutShort, Stop, Stop, Stop),
    ] {
        for (safety, next) in [(Free, free), (Stored, stored), (Background, background)] {
            is(safety, end, next, CallerReply::Fault, true);
        }
    }
    let patient = RetryPolicy {
        safety: Free,
        on_silence: false,
    };
    assert_eq!(patient.verdict(TimedOut).next, Stop);
}

#[test]
fn a_streamed_body_is_sent_once() {
    for end in all_ends() {
        let next = if end == Unsent { Candidate } else { Stop };
        let reply = match end {
            ClientError(Credential | Account)
            | ServerError(Credential | Account)
            | ErrorEvent(Credential | Account) => AccountRefused,
            ClientError(_) | ServerError(_) | ErrorEvent(_) => ProviderError,
            _ => CallerReply::Fault,
        };
        is(Streamed, end, next, reply, true);
    }
}

#[test]
fn only_paid_requests_are_not_sent_again_by_sdks_and_their_faults_say_so() {
    for safety in [Free, Stored, Background, Streamed, Paid] {
        for end in all_ends() {
            let verdict = verdict(safety, end);
            assert!(
                verdict.sdk_may_retry || safety == Paid,
                "{safety:?} {end:?}"
            );
            let fault = verdict.fault(Fault::new(FaultKind::Upstream, "try again"));
            assert_eq!(fault.costs_twice, !verdict.sdk_may_retry);
            let (kind, asks_again) = match verdict.reply {
                OutcomeUnknown => (FaultKind::OutcomeUnknown, false),
                InvalidResponse => (FaultKind::UnreadableAnswer, false),
                PaidFailure => (FaultKind::Upstream, false),
                CallerReply::Fault | ProviderError | AccountRefused => (FaultKind::Upstream, true),
            };
            assert_eq!(fault.kind, kind, "{safety:?} {end:?}");
            assert_eq!(
                fault.message == "try again",
                asks_again,
                "{safety:?} {end:?}"
            );
        }
    }
}
