//! Findings about the requests in flight: who holds up whom.

use headgate_core::finding::{FindingSeverity, LiveFinding};
use headgate_observe::open_requests::{OpenRequestState, WaitSide};
use std::collections::HashMap;
use std::time::Duration;

/// A request that waits for its caller for so long is reported.
const CLIENT_WAIT_MIN: Duration = Duration::from_secs(10);
/// A request that waits for a provider for so long is reported.
const UPSTREAM_WAIT_MIN: Duration = Duration::from_secs(30);
/// Fewer requests than this that wait for the first byte of a provider may just be long ones.
const UNANSWERED_MIN: usize = 3;
/// Fewer requests in flight than this say nothing about shares.
const IN_FLIGHT_MIN: usize = 20;

/// Requests that wait for long, and callers that have most of all requests. `open` is sorted by the length of the waits.
pub(super) fn findings(open: &[OpenRequestState]) -> Vec<LiveFinding> {
    let found = [
        silent_client(open),
        silent_upstream(open),
        before_upstream(open),
        holding(open),
    ];
    found.into_iter().flatten().collect()
}

/// The caller with most of these requests, and how many it has; the first by name of several.
pub(super) fn most_frequent_caller<'o>(
    open: impl Iterator<Item = &'o OpenRequestState>,
) -> Option<(&'o str, usize)> {
    let mut counts = HashMap::<&str, usize>::new();
    for caller in open.filter_map(|state| state.details.caller.as_deref()) {
        *counts.entry(caller).or_default() += 1;
    }
    let most = counts.into_iter();
    most.max_by_key(|(name, count)| (*count, std::cmp::Reverse(*name)))
}

/// The request that has waited longest for its caller.
fn silent_client(open: &[OpenRequestState]) -> Option<LiveFinding> {
    let sides = [WaitSide::Client, WaitSide::ClientBody];
    let waiting = waiting_for(open, &sides, CLIENT_WAIT_MIN);
    let longest = waiting.first()?;
    let details = &longest.details;
    let stalled = match longest.waits_for {
        WaitSide::ClientBody => "has not sent the body of its request",
        _ => "has not read its response",
    };
    Some(LiveFinding {
        severity: FindingSeverity::Warning,
        code: "client_silent",
        subject: format!("request {}", details.id),
        cause: format!(
            "The client of caller `{}` {stalled} for {} s (request {}); {}.",
            name(&details.caller),
            longest.waiting.as_secs(),
            details.id,
            such_requests(waiting.len()),
        ),
        advice: "The provider is not the cause: look at the caller's program and its network; `server.limits.body_timeout` and `write_timeout` end such requests.".into(),
    })
}

/// The request that has waited longest for its provider.
fn silent_upstream(open: &[OpenRequestState]) -> Option<LiveFinding> {
    let waiting = waiting_for(open, &[WaitSide::Upstream], UPSTREAM_WAIT_MIN);
    let waiting = waiting.into_iter();
    let waiting: Vec<_> = waiting
        .filter(|state| state.details.channel.is_some())
        .collect();
    let longest = waiting.first()?;
    let details = &longest.details;
    let is_of_channel = |state: &&&OpenRequestState| state.details.channel == details.channel;
    let silent = waiting.iter().filter(is_of_channel).count();
    let all = open.iter().filter(|state| is_of_channel(&state)).count();
    // A long time to the first byte is usual for some models; silence within a stream is not.
    let is_stalled = details.streamed || (silent >= UNANSWERED_MIN && silent * 2 >= all);
    let what = match details.streamed {
        true => "has sent nothing within a stream",
        false => "has not responded",
    };
    Some(LiveFinding {
        severity: match is_stalled {
            true => FindingSeverity::Warning,
            false => FindingSeverity::Notice,
        },
        code: "upstream_silent",
        subject: format!("channel {}", name(&details.channel)),
        cause: format!(
            "The provider of channel `{}` {what} for {} s (request {} of caller `{}`); {silent} of {all} requests in flight on the channel wait so long.",
            name(&details.channel),
            longest.waiting.as_secs(),
            details.id,
            name(&details.caller),
        ),
        advice: "Look at the provider's status page; `timeouts.first_byte` and `timeouts.idle` of the channel end such waits.".into(),
    })
}

/// The request that has waited longest before it was sent to a provider.
fn before_upstream(open: &[OpenRequestState]) -> Option<LiveFinding> {
    let waiting = waiting_for(open, &[WaitSide::Upstream], UPSTREAM_WAIT_MIN);
    let waiting = waiting.into_iter();
    let waiting: Vec<_> = waiting
        .filter(|state| state.details.channel.is_none())
        .collect();
    let details = &waiting.first()?.details;
    Some(LiveFinding {
        severity: FindingSeverity::Warning,
        code: "not_sent",
        subject: format!("route {}", details.route),
        cause: format!(
            "Request {} of caller `{}` on route `{}` has waited {} s and is sent to no provider yet; {}.",
            details.id,
            name(&details.caller),
            details.route,
            waiting[0].waiting.as_secs(),
            such_requests(waiting.len()),
        ),
        advice: "It waits for a channel that has reached its `limits`, for a service that a filter calls, or for the first request with its idempotency key.".into(),
    })
}

/// One of several callers has most of the requests in flight.
fn holding(open: &[OpenRequestState]) -> Option<LiveFinding> {
    if open.len() < IN_FLIGHT_MIN {
        return None;
    }
    let (caller, count) = most_frequent_caller(open.iter())?;
    let is_shared = open.iter().any(|state| {
        let other = state.details.caller.as_deref();
        other.is_some_and(|other| other != caller)
    });
    (is_shared && count * 10 >= open.len() * 8).then(|| LiveFinding {
        severity: FindingSeverity::Notice,
        code: "caller_holds",
        subject: format!("caller {caller}"),
        cause: format!(
            "Caller `{caller}` has {count} of {} requests in flight.",
            open.len()
        ),
        advice: format!("Set `limits.concurrent` for `{caller}` if the others should have room."),
    })
}

/// The requests that have waited for one of `sides` for `least` or longer, the longest wait first.
fn waiting_for<'o>(
    open: &'o [OpenRequestState],
    sides: &[WaitSide],
    least: Duration,
) -> Vec<&'o OpenRequestState> {
    let waiting = open.iter();
    let waiting =
        waiting.filter(|state| sides.contains(&state.waits_for) && state.waiting >= least);
    waiting.collect()
}

fn such_requests(count: usize) -> String {
    match count {
        1 => "it is the only such request in flight".into(),
        _ => format!("{count} such requests are in flight"),
    }
}

fn name(name: &Option<std::sync::Arc<str>>) -> &str {
    name.as_deref().unwrap_or("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_observe::open_requests::OpenRequestLabels;

    fn request(caller: &str, side: WaitSide, seconds: u64) -> OpenRequestState {
        let waiting = Duration::from_secs(seconds);
        OpenRequestState {
            details: OpenRequestLabels {
                caller: Some(caller.into()),
                channel: Some("main".into()),
                ..OpenRequestLabels::new("req_1".into(), "chat".into())
            },
            age: waiting,
            waits_for: side,
            waiting,
        }
    }

    fn codes(open: &[OpenRequestState]) -> Vec<(&'static str, FindingSeverity)> {
        let findings = findings(open).into_iter();
        findings
            .map(|finding| (finding.code, finding.severity))
            .collect()
    }

    #[test]
    fn a_wait_is_that_of_the_side_that_is_silent() {
        use FindingSeverity::{Notice, Warning};
        let stream = |mut request: OpenRequestState| {
            request.details.streamed = true;
            request
        };
        let unsent = |mut request: OpenRequestState| {
            request.details.channel = None;
            request
        };
        let upstream = |seconds| request("ann", WaitSide::Upstream, seconds);
        let client = |seconds| request("ann", WaitSide::Client, seconds);
        for (open, expected) in [
            (vec![], vec![]),
            (vec![client(9), upstream(29)], vec![]),
            (vec![client(10)], vec![("client_silent", Warning)]),
            (
                vec![stream(upstream(30))],
                vec![("upstream_silent", Warning)],
            ),
            (vec![upstream(30)], vec![("upstream_silent", Notice)]),
            (
                vec![upstream(31), upstream(30), upstream(30), upstream(1)],
                vec![("upstream_silent", Warning)],
            ),
            (vec![unsent(upstream(30))], vec![("not_sent", Warning)]),
            (vec![unsent(client(30))], vec![("client_silent", Warning)]),
        ] {
            assert_eq!(codes(&open), expected);
        }
        let sending = request("ann", WaitSide::ClientBody, 10);
        let of = |request| findings(&[request]).remove(0).cause;
        assert!(of(client(10)).contains("has not read its response for 10 s"));
        assert!(of(sending).contains("has not sent the body of its request for 10 s"));
    }

    #[test]
    fn a_caller_with_most_requests_in_flight_is_named_if_there_are_others() {
        let of = |ann: usize, bob: usize| {
            let names = std::iter::repeat_n("ann", ann).chain(std::iter::repeat_n("bob", bob));
            let open: Vec<_> = names
                .map(|name| request(name, WaitSide::Gateway, 0))
                .collect();
            findings(&open).pop().map(|finding| finding.cause)
        };
        let expected = "Caller `ann` has 18 of 20 requests in flight.";
        assert_eq!(of(18, 2).as_deref(), Some(expected));
        assert_eq!(of(15, 5), None);
        assert_eq!(of(20, 0), None);
        assert_eq!(of(9, 1), None);
    }
}
