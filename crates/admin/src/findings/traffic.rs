//! Findings about the requests that ended in the last minute: errors, limits, slow providers and slow callers.

use super::channels::model_on_channel;
use headgate_core::finding::{FindingSeverity, LiveFinding};
use headgate_observe::error_side::ErrorSide;
use headgate_observe::traffic::{CallerTraffic, ChannelTraffic, TrafficHistory, TrafficInterval};
use std::time::Duration;

/// The span of shares.
const RECENT_SECONDS: u64 = 60;
/// The span that [`SLOW_SECONDS`] are compared with.
const EARLIER_SECONDS: u64 = 1800;
/// Fewer requests than this in the last minute say nothing about shares.
const REQUESTS_MIN: u64 = 20;
/// The mean time in the gateway itself that is reported.
const GATEWAY_WAIT_MIN: Duration = Duration::from_millis(500);
/// Time that requests of the last minute must have waited for callers together to be reported.
const CLIENT_WAITS_MIN: Duration = Duration::from_secs(10);
/// The span in which a provider is slow, which is shorter so that it is reported within a minute.
const SLOW_SECONDS: u64 = 30;
/// Fewer responses than this say nothing about a mean.
const RESPONSES_MIN: u32 = 5;
/// Fewer failures under a success status than this may be chance.
const FALSE_SUCCESSES_MIN: u64 = 3;
/// A provider is slow if its mean time to the first byte exceeds this, and its former one by [`SLOWER_FACTOR`].
const SLOW_FIRST_BYTE_MIN: Duration = Duration::from_secs(1);
const SLOWER_FACTOR: u32 = 3;

/// `faults` are the subjects of findings that make the gateway refuse requests, `refused` those about models that their
/// providers refuse.
pub(super) fn findings(
    traffic: &TrafficHistory,
    faults: &[&str],
    refused: &[&str],
) -> Vec<LiveFinding> {
    let recent = traffic.last(RECENT_SECONDS);
    let (newest, earlier) = (traffic.last(SLOW_SECONDS), traffic.last(EARLIER_SECONDS));
    let mut findings = Vec::new();
    findings.extend(failing(&recent, faults));
    findings.extend(caller_errors(&recent, refused));
    findings.extend(slow_gateway(&recent));
    findings.extend(refused_by_limits(&recent));
    findings.extend(hogging(&recent));
    findings.extend(slow_channels(&newest, &earlier));
    findings.extend(false_successes(&recent));
    findings.extend(unstreamed(&recent));
    findings.extend(slow_callers(&recent));
    findings
}

/// At least every tenth request fails because of a provider or the gateway.
fn failing(recent: &TrafficInterval, faults: &[&str]) -> Vec<LiveFinding> {
    let in_gateway = match faults {
        [] => "the gateway itself".to_owned(),
        faults => faults.join(" and "),
    };
    let sides = [
        (
            ErrorSide::Upstream,
            "upstream_errors",
            "providers".to_owned(),
            "Look at the channels below and at `outcome` in the log lines `attempt failed`.",
        ),
        (
            ErrorSide::Gateway,
            "gateway_errors",
            in_gateway,
            "Look at `error_code` and `error_detail` in the recent requests.",
        ),
    ];
    let failing = sides.into_iter().filter_map(|(side, code, cause, advice)| {
        let errors = recent.errors[side as usize];
        let is_high = recent.requests >= REQUESTS_MIN && errors * 10 >= recent.requests;
        is_high.then(|| LiveFinding {
            severity: FindingSeverity::Critical,
            code,
            subject: "requests".into(),
            cause: format!(
                "{errors} of {} requests of the last minute failed because of {cause}.",
                recent.requests
            ),
            advice: advice.into(),
        })
    });
    failing.collect()
}

/// At least half of the requests fail because of what callers send, limits and refused models aside.
fn caller_errors(recent: &TrafficInterval, refused: &[&str]) -> Option<LiveFinding> {
    let is_refused = |name: &str| {
        let (channel, model) = name.split_once('\n').unwrap_or_default();
        refused.contains(&&*model_on_channel(model, channel))
    };
    let refusals = recent.refusals.iter();
    let refusals = refusals.filter(|(name, _)| is_refused(name));
    let refusals: u64 = refusals.map(|(_, refusals)| refusals.requests).sum();
    let errors = recent.errors[ErrorSide::Caller as usize];
    let errors = errors.saturating_sub(recent.rate_limited + refusals);
    let is_high = recent.requests >= REQUESTS_MIN && errors * 2 >= recent.requests;
    is_high.then(|| LiveFinding {
        severity: FindingSeverity::Notice,
        code: "caller_errors",
        subject: "requests".into(),
        cause: format!(
            "{errors} of {} requests of the last minute failed because of their callers: invalid requests or keys, or callers that left.",
            recent.requests
        ),
        advice: "Group the recent requests by `caller` and `error_code`; a caller with a wrong key or an outdated request needs to be informed.".into(),
    })
}

/// Requests wait long in the gateway itself.
fn slow_gateway(recent: &TrafficInterval) -> Option<LiveFinding> {
    let [.., in_gateway] = recent.waits;
    let count = u32::try_from(recent.requests).unwrap_or(u32::MAX);
    let mean = in_gateway.checked_div(count)?;
    let is_slow = recent.requests >= REQUESTS_MIN && mean >= GATEWAY_WAIT_MIN;
    is_slow.then(|| LiveFinding {
        severity: FindingSeverity::Warning,
        code: "slow_gateway",
        subject: "requests".into(),
        cause: format!(
            "Requests of the last minute spent {} in the gateway itself on average.",
            in_seconds(mean)
        ),
        advice: "Compare the processor time of the process with its number of workers, and look at slow services and plugins; add workers or another gateway.".into(),
    })
}

/// At least every tenth request exceeds a limit of its caller.
fn refused_by_limits(recent: &TrafficInterval) -> Option<LiveFinding> {
    let is_high = recent.requests >= REQUESTS_MIN && recent.rate_limited * 10 >= recent.requests;
    let (name, caller) = most(recent, |caller| caller.rate_limited).filter(|_| is_high)?;
    Some(LiveFinding {
        severity: FindingSeverity::Warning,
        code: "rate_limited",
        subject: format!("caller {name}"),
        cause: format!(
            "Limits of callers refused {} of {} requests of the last minute with status 429, {} of them from caller `{name}`.",
            recent.rate_limited, recent.requests, caller.rate_limited
        ),
        advice: format!("Ask the owner of `{name}` to slow down, or raise `limits` of the caller."),
    })
}

/// One of several callers makes most of the requests.
fn hogging(recent: &TrafficInterval) -> Option<LiveFinding> {
    let (name, caller) = most(recent, |caller| caller.requests)?;
    let is_hogging = recent.callers.len() > 1
        && recent.requests >= 5 * REQUESTS_MIN
        && caller.requests * 10 >= recent.requests * 8;
    is_hogging.then(|| LiveFinding {
        severity: FindingSeverity::Notice,
        code: "caller_dominates",
        subject: format!("caller {name}"),
        cause: format!(
            "Caller `{name}` made {} of {} requests of the last minute, with {} tokens; {} other callers made the rest.",
            caller.requests,
            recent.requests,
            caller.tokens,
            recent.callers.len() - 1
        ),
        advice: format!("Set `limits` for `{name}` if the others should have room."),
    })
}

fn most(
    recent: &TrafficInterval,
    count: impl Fn(&CallerTraffic) -> u64,
) -> Option<(&str, &CallerTraffic)> {
    let callers = recent.callers.iter();
    let callers = callers.filter(|(_, caller)| count(caller) > 0);
    let most = callers.max_by_key(|(name, caller)| (count(caller), *name));
    most.map(|(name, caller)| (&**name, caller))
}

/// Channels that respond much later than before. `earlier` contains `newest`.
fn slow_channels(newest: &TrafficInterval, earlier: &TrafficInterval) -> Vec<LiveFinding> {
    let slow = newest.channels.iter().filter_map(|(name, channel)| {
        let all = earlier.channels.get(name)?;
        let others = ChannelTraffic {
            responses: all.responses.saturating_sub(channel.responses),
            first_bytes: all.first_bytes.saturating_sub(channel.first_bytes),
            ..ChannelTraffic::default()
        };
        if channel.responses.min(others.responses) < RESPONSES_MIN {
            return None;
        }
        let (now, before) = (channel.first_byte()?, others.first_byte()?);
        let is_slow = now >= SLOW_FIRST_BYTE_MIN && now >= before * SLOWER_FACTOR;
        is_slow.then(|| LiveFinding {
            severity: FindingSeverity::Warning,
            code: "slow_upstream",
            subject: format!("channel {name}"),
            cause: format!(
                "The provider of channel `{name}` takes {} to the first byte on average, {} in the half hour before.",
                in_seconds(now),
                in_seconds(before)
            ),
            advice: "Look at the provider's status page; lower the channel's `weight`, or drain it.".into(),
        })
    });
    slow.collect()
}

/// Channels whose provider reports failures under a success status.
fn false_successes(recent: &TrafficInterval) -> Vec<LiveFinding> {
    let failing = (recent.channels.iter())
        .filter(|(_, channel)| channel.false_successes >= FALSE_SUCCESSES_MIN);
    let findings = failing.map(|(name, channel)| LiveFinding {
        severity: FindingSeverity::Warning,
        code: "false_successes",
        subject: format!("channel {name}"),
        cause: format!(
            "Channel `{name}` responded to {} of {} requests of the last minute with a success status and an error or no result in the body.",
            channel.false_successes, channel.requests
        ),
        advice: "These requests count as failed, and other channels serve them if there are any; check `base_url` and `protocols` of the channel, and report it to the provider.".into(),
    });
    findings.collect()
}

/// Channels whose provider sends whole bodies where streams were requested.
fn unstreamed(recent: &TrafficInterval) -> Vec<LiveFinding> {
    let channels = recent
        .channels
        .iter()
        .filter(|(_, channel)| channel.unstreamed > 0);
    let findings = channels.map(|(name, channel)| LiveFinding {
        severity: FindingSeverity::Warning,
        code: "unstreamed",
        subject: format!("channel {name}"),
        cause: format!(
            "Channel `{name}` responded to {} of {} requests of the last minute with a whole JSON body although they requested a stream.",
            channel.unstreamed, channel.requests
        ),
        advice: "Callers got these bodies as they came, which streaming SDKs take for empty streams; check that the provider streams this model, or remove the channel from it.".into(),
    });
    findings.collect()
}

/// Responses wait longer for callers than for providers.
fn slow_callers(recent: &TrafficInterval) -> Option<LiveFinding> {
    let [upstream, client, _] = recent.waits;
    let is_slow = recent.requests > 0 && client > upstream && client >= CLIENT_WAITS_MIN;
    is_slow.then(|| LiveFinding {
        severity: FindingSeverity::Notice,
        code: "slow_callers",
        subject: "requests".into(),
        cause: format!(
            "Requests of the last minute waited {:.0} s for callers and {:.0} s for providers: callers send or read slowly.",
            client.as_secs_f64(),
            upstream.as_secs_f64()
        ),
        advice: "Compare `client_ms` of the recent requests; `server.limits.write_timeout` ends responses that are not read.".into(),
    })
}

fn in_seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds < 0.1 {
        true => format!("{} ms", time.as_millis()),
        false => format!("{seconds:.1} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_observe::traffic::ChannelTraffic;

    fn traffic(callers: &[(&str, u64, u64)]) -> TrafficInterval {
        let mut interval = TrafficInterval::default();
        for (name, requests, rate_limited) in callers {
            interval.requests += requests;
            interval.rate_limited += rate_limited;
            let caller = CallerTraffic {
                requests: *requests,
                rate_limited: *rate_limited,
                tokens: 0,
            };
            interval.callers.insert((*name).into(), caller);
        }
        interval
    }

    #[test]
    fn the_caller_that_a_limit_refused_most_is_named() {
        let found = refused_by_limits(&traffic(&[("ann", 30, 5), ("bob", 40, 25)]));
        assert_eq!(found.expect("a finding").subject, "caller bob");
        assert_eq!(refused_by_limits(&traffic(&[("ann", 100, 9)])), None);
        assert_eq!(refused_by_limits(&traffic(&[("ann", 10, 10)])), None);
    }

    #[test]
    fn one_of_several_callers_with_most_requests_is_named() {
        let found = hogging(&traffic(&[("ann", 180, 0), ("bob", 20, 0)]));
        assert_eq!(found.expect("a finding").subject, "caller ann");
        assert_eq!(hogging(&traffic(&[("ann", 120, 0), ("bob", 80, 0)])), None);
        assert_eq!(hogging(&traffic(&[("ann", 500, 0)])), None);
    }

    #[test]
    fn refusals_of_a_model_are_no_errors_of_callers_once_they_are_a_finding() {
        let mut recent = traffic(&[("ann", 30, 0)]);
        recent.errors[ErrorSide::Caller as usize] = 30;
        let refusals = recent.refusals.entry("main\nopus".into()).or_default();
        refusals.requests = 28;
        let subject = model_on_channel("opus", "main");
        assert!(caller_errors(&recent, &[]).is_some());
        assert_eq!(caller_errors(&recent, &[&subject]), None);
    }

    #[test]
    fn a_channel_that_became_slow_is_named() {
        let channel = |responses: u32, seconds: u64| ChannelTraffic {
            responses,
            first_bytes: Duration::from_secs(seconds),
            ..ChannelTraffic::default()
        };
        let of = |channel| {
            let mut interval = TrafficInterval::default();
            interval.channels.insert("main".into(), channel);
            interval
        };
        let found = slow_channels(&of(channel(10, 40)), &of(channel(110, 90)));
        assert_eq!(found[0].subject, "channel main");
        assert_eq!(
            slow_channels(&of(channel(10, 40)), &of(channel(110, 300))),
            []
        );
        assert_eq!(
            slow_channels(&of(channel(10, 40)), &of(channel(10, 40))),
            []
        );
    }

    #[test]
    fn a_channel_that_reports_failures_as_successes_is_named() {
        let mut recent = TrafficInterval::default();
        for (name, false_successes, unstreamed) in [("a", 3, 0), ("b", 2, 0), ("c", 0, 1)] {
            let channel = ChannelTraffic {
                requests: 10,
                false_successes,
                unstreamed,
                ..ChannelTraffic::default()
            };
            recent.channels.insert(name.into(), channel);
        }
        let subjects = |findings: Vec<LiveFinding>| {
            let subjects = findings.into_iter().map(|finding| finding.subject);
            subjects.collect::<Vec<_>>()
        };
        assert_eq!(subjects(false_successes(&recent)), ["channel a"]);
        assert_eq!(subjects(unstreamed(&recent)), ["channel c"]);
    }

    #[test]
    fn errors_of_providers_are_distinct_from_those_of_the_gateway() {
        let mut recent = traffic(&[("ann", 100, 0)]);
        recent.errors = [50, 3, 12];
        let found = failing(&recent, &[]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].code, "upstream_errors");
        recent.errors = [0, 0, 12];
        recent.errors[ErrorSide::Gateway as usize] = 30;
        for (faults, cause) in [
            (&[][..], "because of the gateway itself."),
            (&["service moderation"], "because of service moderation."),
        ] {
            let found = failing(&recent, faults);
            let found = found.iter().find(|one| one.code == "gateway_errors");
            let found = found.expect("a finding");
            assert!(found.cause.ends_with(cause), "{}", found.cause);
        }
    }

    #[test]
    fn errors_of_callers_are_reported_without_what_limits_refused() {
        let mut recent = traffic(&[("ann", 100, 40)]);
        recent.errors[ErrorSide::Caller as usize] = 89;
        assert_eq!(caller_errors(&recent, &[]), None);
        recent.errors[ErrorSide::Caller as usize] = 90;
        assert!(caller_errors(&recent, &[]).is_some());
    }

    #[test]
    fn a_long_time_in_the_gateway_is_reported() {
        let mut recent = traffic(&[("ann", 20, 0)]);
        recent.waits[2] = Duration::from_millis(9_999);
        assert_eq!(slow_gateway(&recent), None);
        recent.waits[2] = Duration::from_secs(10);
        assert!(slow_gateway(&recent).is_some());
    }
}
