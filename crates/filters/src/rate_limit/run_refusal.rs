//! The error for a request that its run refuses.

use super::run_name::RUN;
use headgate_core::catalog::price::Cost;
use headgate_core::state::run::{RunCap, RunDemand, RunRefusal};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::rate_limit_headers::duration_text;
use http::{HeaderName, HeaderValue};
use std::time::Duration;

/// The header with the cap that refuses.
const CAP: HeaderName = HeaderName::from_static("x-headgate-run-cap");
const ADVICE: &str = "end the run, or ask the operator of this gateway for more";

/// The error for a request that its run refuses. Agents and SDKs send none again after `insufficient_quota`, since no run has
/// more of a cap a moment later.
pub fn run_refusal(refusal: &RunRefusal, demand: &RunDemand, currency: &str) -> Fault {
    let name = &demand.key.name;
    match *refusal {
        RunRefusal::Cap {
            cap,
            most,
            used,
            need,
        } => {
            let reason = reason(cap, most, used, need, currency);
            let message = format!("quota exceeded: run `{name}` {reason}");
            Fault::new(FaultKind::OverBudget, message)
        }
        RunRefusal::Live { most, retry_after } => {
            let noun = if most == 1 { "run" } else { "runs" };
            let idle = duration_text(Duration::from_millis(demand.idle_ms));
            let message = format!(
                "rate limit reached: this API key may have {most} {noun} at a time, and `{name}` would be one more; a run ends when it was idle for {idle}; try again in {}",
                duration_text(retry_after)
            );
            Fault::new(FaultKind::TooManyRequests, message).retry_after(retry_after)
        }
    }
}

/// The headers of a refusal: the name of the run, and its cap if one refused the request; `limit` is the name in metrics.
pub fn refusal_headers(name: &str, limit: &'static str) -> Vec<(HeaderName, HeaderValue)> {
    let name = HeaderValue::from_str(name).ok();
    let cap = limit.strip_prefix("run_").map(HeaderValue::from_static);
    let headers = [(RUN, name), (CAP, cap)].into_iter();
    headers
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

fn reason(cap: RunCap, most: u64, used: u64, need: u64, currency: &str) -> String {
    let left = most.saturating_sub(used);
    let key = cap.name();
    let time = |ms| duration_text(Duration::from_millis(ms));
    let money = |nanos| format!("{} {currency}", Cost(nanos));
    match cap {
        RunCap::Calls => {
            format!("may make {most} calls (`{key}`), and has made {used}; {ADVICE}")
        }
        RunCap::Time => format!(
            "may last {} (`{key}`), and began {} ago; {ADVICE}",
            time(most),
            time(used)
        ),
        RunCap::Repeats => format!(
            "has sent this request {used} times in a row, and may do so {most} times (`{key}`); change the request, or end the run"
        ),
        RunCap::Tokens => format!(
            "may use {most} tokens (`{key}`), {left} are left, and this request may use {need}; shorten it or its limit of output, {ADVICE}"
        ),
        RunCap::Cost if need == u64::MAX => format!(
            "may spend {} (`{key}`), and nothing limits what this request may cost; set its limit of output",
            money(most)
        ),
        RunCap::Cost => format!(
            "may spend {} (`{key}`), {} are left, and this request may cost {}; shorten it or its limit of output, {ADVICE}",
            money(most),
            money(left),
            money(need)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::state::run::{RunCaps, RunKey};

    fn demand() -> RunDemand {
        RunDemand {
            key: RunKey {
                caller: "ann".into(),
                name: "job-7".into(),
            },
            caps: RunCaps::default(),
            tightened: RunCaps::default(),
            calls: 1,
            fingerprint: None,
            tokens: 0,
            cost: None,
            idle_ms: 60_000,
            live_max: 3,
        }
    }

    #[test]
    fn a_refusal_names_the_run_the_cap_and_what_is_left() {
        for (cap, most, used, need, message) in [
            (
                RunCap::Calls,
                20,
                20,
                1,
                "quota exceeded: run `job-7` may make 20 calls (`calls`), and has made 20; end the run, or ask the operator of this gateway for more",
            ),
            (
                RunCap::Time,
                600_000,
                660_000,
                1,
                "quota exceeded: run `job-7` may last 10m0s (`time`), and began 11m0s ago; end the run, or ask the operator of this gateway for more",
            ),
            (
                RunCap::Repeats,
                3,
                3,
                1,
                "quota exceeded: run `job-7` has sent this request 3 times in a row, and may do so 3 times (`repeats`); change the request, or end the run",
            ),
            (
                RunCap::Tokens,
                1_000,
                900,
                500,
                "quota exceeded: run `job-7` may use 1000 tokens (`tokens`), 100 are left, and this request may use 500; shorten it or its limit of output, end the run, or ask the operator of this gateway for more",
            ),
            (
                RunCap::Cost,
                500_000_000,
                490_000_000,
                20_000_000,
                "quota exceeded: run `job-7` may spend 0.5 USD (`cost`), 0.01 USD are left, and this request may cost 0.02 USD; shorten it or its limit of output, end the run, or ask the operator of this gateway for more",
            ),
            (
                RunCap::Cost,
                500_000_000,
                0,
                u64::MAX,
                "quota exceeded: run `job-7` may spend 0.5 USD (`cost`), and nothing limits what this request may cost; set its limit of output",
            ),
        ] {
            let refusal = RunRefusal::Cap {
                cap,
                most,
                used,
                need,
            };
            let fault = run_refusal(&refusal, &demand(), "USD");
            assert_eq!(
                (fault.kind, &*fault.message),
                (FaultKind::OverBudget, message)
            );
            assert_eq!(fault.retry_after, None, "a run has no more of it later");
        }
    }

    #[test]
    fn a_run_too_many_may_be_tried_again() {
        let refusal = RunRefusal::Live {
            most: 3,
            retry_after: Duration::from_secs(40),
        };
        let fault = run_refusal(&refusal, &demand(), "USD");
        assert_eq!(fault.kind, FaultKind::TooManyRequests);
        assert_eq!(fault.retry_after, Some(Duration::from_secs(40)));
        assert!(fault.message.contains("3 runs at a time"), "{fault}");
    }
}
