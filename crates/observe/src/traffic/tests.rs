//! Counts of requests, callers and channels.

use super::*;
use crate::access_log::FailedAttempt;
use crate::wait_times::{ExchangeWaitTimes, WaitTime};
use headgate_protocol::fault::FaultKind;
use headgate_protocol::usage::TokenUsage;

fn request(caller: &str, settlement: ExchangeSettlement, status: u16) -> FinishedExchange<'_> {
    FinishedExchange {
        route: "chat",
        caller: Some(caller),
        caller_name: Some(caller),
        channel: Some("main"),
        model: None,
        protocol: None,
        status,
        settlement,
        total: Duration::from_millis(50),
        first_byte: Some(Duration::from_millis(20)),
        upstream_first_byte: Some(Duration::from_millis(15)),
        wait_times: ExchangeWaitTimes {
            upstream: WaitTime {
                total: Duration::from_millis(30),
                longest: Duration::from_millis(30),
            },
            ..ExchangeWaitTimes::default()
        },
        usage: None,
        is_usage_of_batches: false,
        cost: None,
        charges: &[],
        fault: None,
        failed_attempts: &[],
        has_last_attempt_failed: false,
        is_unstreamed: false,
    }
}

fn failed_on(channel: &str) -> FailedAttempt {
    FailedAttempt {
        channel: channel.into(),
        outcome: "connect_error",
        status: None,
        after: Duration::from_millis(1),
    }
}

#[test]
fn tokens_beyond_all_numbers_stop_no_count() {
    let history = TrafficHistory::default();
    let usage = TokenUsage {
        input_tokens: Some(u64::MAX),
        output_tokens: Some(u64::MAX),
        ..TokenUsage::default()
    };
    for _ in 0..2 {
        history.count(&FinishedExchange {
            usage: Some(&usage),
            ..request("ann", ExchangeSettlement::Complete, 200)
        });
    }
    let minute = history.last(60);
    assert_eq!((minute.requests, minute.input_tokens), (2, u64::MAX));
    assert_eq!(minute.callers["ann"].tokens, u64::MAX);
}

#[test]
fn a_channel_that_fails_has_errors_also_where_another_one_serves_the_caller() {
    let history = TrafficHistory::default();
    let once = [failed_on("first")];
    history.count(&FinishedExchange {
        failed_attempts: &once,
        ..request("ann", ExchangeSettlement::Complete, 200)
    });
    let both = [failed_on("first"), failed_on("main")];
    history.count(&FinishedExchange {
        failed_attempts: &both,
        has_last_attempt_failed: true,
        ..request("ann", ExchangeSettlement::UpstreamError, 502)
    });
    let minute = history.last(60);
    let counts = |name: &str| {
        let channel = minute.channels[name];
        (channel.requests, channel.upstream_errors)
    };
    assert_eq!((counts("first"), counts("main")), ((2, 2), (2, 1)));
    assert_eq!((minute.requests, minute.errors), (2, [0, 0, 1]));
}

#[test]
fn failures_under_a_success_status_count_for_the_channel_that_sent_them() {
    let history = TrafficHistory::default();
    let failed = |status| FailedAttempt {
        status: Some(status),
        ..failed_on("first")
    };
    let (before, as_error) = ([failed(200)], [failed(500)]);
    for failed_attempts in [&before, &as_error] {
        history.count(&FinishedExchange {
            failed_attempts,
            ..request("ann", ExchangeSettlement::Complete, 200)
        });
    }
    history.count(&request("ann", ExchangeSettlement::UpstreamError, 200));
    history.count(&FinishedExchange {
        is_unstreamed: true,
        ..request("ann", ExchangeSettlement::Complete, 200)
    });
    let minute = history.last(60);
    let counts = |name: &str| {
        let channel = minute.channels[name];
        (channel.false_successes, channel.unstreamed)
    };
    assert_eq!((counts("first"), counts("main")), ((1, 0), (1, 1)));
}

#[test]
fn the_last_minute_has_the_sum_of_its_requests() {
    let history = TrafficHistory::default();
    history.count(&request("ann", ExchangeSettlement::Complete, 200));
    history.count(&request("ann", ExchangeSettlement::UpstreamError, 502));
    history.count(&FinishedExchange {
        fault: Some(FaultKind::TooManyRequests),
        ..request("bob", ExchangeSettlement::GatewayReply, 429)
    });
    let minute = history.last(60);
    assert_eq!(minute.requests, 3);
    assert_eq!(minute.errors, [1, 0, 1]);
    assert_eq!(minute.callers["ann"].requests, 2);
    assert_eq!(minute.callers["bob"].rate_limited, 1);
    assert_eq!(minute.channels["main"].upstream_errors, 1);
    assert_eq!(minute.first_byte.count(), 3);
    assert_eq!(minute.waits[0], Duration::from_millis(90));
}

#[test]
fn a_flood_of_names_takes_bounded_memory() {
    let history = TrafficHistory::default();
    for number in 0..3 * NAMES_MAX {
        let caller = format!("caller-{number}");
        history.count(&request(&caller, ExchangeSettlement::Complete, 200));
    }
    let minute = history.last(60);
    assert_eq!(minute.requests, 3 * NAMES_MAX as u64);
    assert_eq!(minute.callers.len(), NAMES_MAX);
}
