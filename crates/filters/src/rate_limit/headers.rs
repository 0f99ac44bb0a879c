//! Rate limit headers of every response, and the error for a request above a limit.

use super::priced_maximum::CostMaximum;
use headgate_core::catalog::price::Cost;
use headgate_core::filter::view::RequestView;
use headgate_core::state::admission::{AdmissionLimit, LimitKind, LimitStatus};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::rate_limit_headers::{CallerRateLimitStatus, RateLimitUnit, duration_text};
use headgate_protocol::{Protocol, rate_limit_headers};
use std::borrow::Cow;
use std::time::Duration;

/// Adds the headers for requests and for tokens. Of several limits of a unit, the one with the least remaining counts.
pub fn add_headers(
    request: &mut RequestView,
    limits: &[AdmissionLimit],
    limit_statuses: &[LimitStatus],
    now_ms: u64,
) {
    let units = [RateLimitUnit::Requests, RateLimitUnit::Tokens];
    let reported = units
        .into_iter()
        .filter_map(|counted| Some((counted, tightest(counted, limits, limit_statuses)?)));
    let format = Protocol::descriptor_for(request.protocol).rate_limits;
    let headers = rate_limit_headers::headers(format, reported, now_ms);
    match request.response_headers.is_empty() {
        true => request.response_headers = headers,
        false => request.response_headers.extend(headers),
    }
}

/// The error for a request above `limit`, of which `left` remain.
pub fn refusal(limit: &AdmissionLimit, tokens: u64, left: u64, wait: Duration) -> Fault {
    let most = limit.most;
    let when = duration_text(wait);
    let who = holder(limit);
    let on = |word: &str| match limit.counter.model() {
        Some(model) => format!(" {word} model `{model}`"),
        None => String::new(),
    };
    let budget = |period: &str| {
        let on = on("on");
        format!(
            "quota exceeded: {who} may use {most} tokens per {period}{on}; try again in {when}, or ask the operator of this gateway for more"
        )
    };
    let (kind, message) = match limit.measure() {
        LimitKind::RequestsPerMinute => (
            FaultKind::TooManyRequests,
            format!(
                "rate limit reached: {who} may send {most} requests per minute{}; try again in {when}",
                on("to")
            ),
        ),
        LimitKind::Concurrent => (
            FaultKind::TooManyRequests,
            format!(
                "rate limit reached: {who} may have {most} concurrent requests{}; try again when one has finished",
                on("to")
            ),
        ),
        LimitKind::TokensPerMinute => (
            FaultKind::TooManyTokens,
            format!(
                "rate limit reached: {who} may use {most} tokens per minute{}, {left} are left and this request needs about {tokens}; try again in {when}",
                on("on")
            ),
        ),
        LimitKind::TokensPerDay => (FaultKind::OverBudget, budget("day")),
        LimitKind::TokensPerMonth => (FaultKind::OverBudget, budget("month")),
        LimitKind::CostPerDay | LimitKind::CostPerMonth | LimitKind::CostTotal => (
            FaultKind::OverBudget,
            format!("quota exceeded: the budget of {who} is used up"),
        ),
    };
    let fault = Fault::new(kind, message);
    match limit.measure() {
        LimitKind::CostTotal => fault,
        _ => fault.retry_after(wait),
    }
}

/// The error for a request that may cost more than what is left of a budget in money.
pub fn money_refusal(
    limit: &AdmissionLimit,
    bound: &CostMaximum,
    left: u64,
    wait: Duration,
) -> Fault {
    let (nanos, currency) = (&bound.nanos, bound.currency());
    let amount = |nanos: u64| format!("{} {currency}", Cost(nanos));
    let (most, left, need) = (amount(limit.most), amount(left), amount(*nanos));
    let (on, period) = (on_model(limit), period(limit));
    let (name, who) = (limit.measure().name(), holder(limit));
    let resets = resets(limit, *nanos);
    let advice = match resets {
        true => format!(
            "try again in {}, or ask the operator of this gateway for more",
            duration_text(wait)
        ),
        false => "or ask the operator of this gateway for more".to_owned(),
    };
    let message = match limit.counter.is_every_callers() {
        false => format!(
            "quota exceeded: {who} may spend {most}{period}{on} (`{name}`), {left} are left, and this request may cost {need}; shorten it or its limit of output, {advice}"
        ),
        // What others have spent is not this caller's business.
        true => format!(
            "quota exceeded: the budget of {who}{period}{on} (`{name}`) has not enough left for this request, which may cost {need}; shorten it or its limit of output, {advice}"
        ),
    };
    let fault = Fault::new(FaultKind::OverBudget, message);
    match resets {
        true => fault.retry_after(wait),
        false => fault,
    }
}

/// The error event for a stream that a budget does not cover, which is free again after `wait`.
pub fn cut_refusal(limit: &AdmissionLimit, wait: Duration) -> Fault {
    let (name, period, on) = (limit.measure().name(), period(limit), on_model(limit));
    let (whose, resets) = match limit.counter.channel() {
        Some(_) => ("this gateway for the model".into(), false),
        None => (
            format!("{}{period}{on} (`{name}`)", holder(limit)),
            limit.measure() != LimitKind::CostTotal,
        ),
    };
    let advice = match (resets, limit.counter.channel()) {
        (true, _) => format!("try again in {}, or ", duration_text(wait)),
        (false, Some(_)) => "try again, or ".to_owned(),
        (false, None) => String::new(),
    };
    let message = format!(
        "quota exceeded: the budget of {whose} is used up, and the stream ends here; {advice}ask the operator of this gateway for more"
    );
    Fault::new(FaultKind::OverBudget, message)
}

/// Whether waiting makes room for what costs `nanos`: not in a budget for ever, nor in one that is too small.
pub fn resets(limit: &AdmissionLimit, nanos: u64) -> bool {
    limit.measure() != LimitKind::CostTotal && nanos <= limit.most
}

/// Whose limit it is.
fn holder(limit: &AdmissionLimit) -> Cow<'static, str> {
    let counter = &limit.counter;
    match (counter.group(), counter.key()) {
        (Some(group), _) => format!("group `{group}` of this API key").into(),
        (None, Some(label)) => format!("key `{label}`").into(),
        (None, None) if counter.is_every_callers() => "all callers together".into(),
        (None, None) => "this API key".into(),
    }
}

fn on_model(limit: &AdmissionLimit) -> String {
    match limit.counter.model() {
        Some(model) => format!(" on model `{model}`"),
        None => String::new(),
    }
}

/// The period of a budget in money.
fn period(limit: &AdmissionLimit) -> &'static str {
    match limit.measure() {
        LimitKind::CostPerDay => " per day",
        LimitKind::CostPerMonth => " per month",
        _ => " in total",
    }
}

fn tightest(
    counted: RateLimitUnit,
    limits: &[AdmissionLimit],
    limit_statuses: &[LimitStatus],
) -> Option<CallerRateLimitStatus> {
    limits
        .iter()
        .zip(limit_statuses)
        .filter(|(limit, _)| header_unit(limit.measure()) == Some(counted))
        .map(|(limit, status)| CallerRateLimitStatus {
            limit: limit.most,
            remaining: status.remaining,
            reset: status.reset,
        })
        .min_by_key(|rate_limit| rate_limit.remaining)
}

/// The unit of a limit's headers. Concurrent requests and money have none: no protocol has headers for them.
fn header_unit(measure: LimitKind) -> Option<RateLimitUnit> {
    match measure {
        LimitKind::RequestsPerMinute => Some(RateLimitUnit::Requests),
        LimitKind::Concurrent
        | LimitKind::CostPerDay
        | LimitKind::CostPerMonth
        | LimitKind::CostTotal => None,
        LimitKind::TokensPerMinute | LimitKind::TokensPerDay | LimitKind::TokensPerMonth => {
            Some(RateLimitUnit::Tokens)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(measure: LimitKind, most: u64, model: Option<&str>) -> AdmissionLimit {
        AdmissionLimit::new(&"ann".into(), model.map(Into::into).as_ref(), measure, most)
    }

    #[test]
    fn a_refusal_names_the_limit_its_value_and_the_retry_time() {
        use LimitKind::{Concurrent, RequestsPerMinute, TokensPerDay, TokensPerMinute};
        for (measure, model, kind, message) in [
            (
                RequestsPerMinute,
                None,
                FaultKind::TooManyRequests,
                "rate limit reached: this API key may send 60 requests per minute; try again in 12s",
            ),
            (
                Concurrent,
                Some("large"),
                FaultKind::TooManyRequests,
                "rate limit reached: this API key may have 60 concurrent requests to model `large`; try again when one has finished",
            ),
            (
                TokensPerMinute,
                Some("large"),
                FaultKind::TooManyTokens,
                "rate limit reached: this API key may use 60 tokens per minute on model `large`, 5 are left and this request needs about 40; try again in 12s",
            ),
            (
                TokensPerDay,
                None,
                FaultKind::OverBudget,
                "quota exceeded: this API key may use 60 tokens per day; try again in 12s, or ask the operator of this gateway for more",
            ),
        ] {
            let fault = refusal(
                &limit(measure, 60, model),
                40,
                5,
                Duration::from_millis(11_200),
            );
            assert_eq!((fault.kind, fault.message.as_str()), (kind, message));
        }
    }

    #[test]
    fn headers_show_the_limit_with_the_least_remaining() {
        let limits = [
            limit(LimitKind::RequestsPerMinute, 60, None),
            limit(LimitKind::TokensPerMinute, 1000, None),
            limit(LimitKind::TokensPerDay, 5000, None),
            limit(LimitKind::RequestsPerMinute, 10, Some("large")),
            limit(LimitKind::Concurrent, 1, None),
        ];
        let status = |remaining| LimitStatus {
            remaining,
            reset: Duration::from_secs(1),
        };
        let limit_statuses = [5, 900, 40, 9, 0].map(status);
        let reported = |counted| {
            let rate_limit = tightest(counted, &limits, &limit_statuses).unwrap();
            (rate_limit.limit, rate_limit.remaining)
        };
        assert_eq!(reported(RateLimitUnit::Requests), (60, 5));
        assert_eq!(reported(RateLimitUnit::Tokens), (5000, 40));
        assert_eq!(
            tightest(RateLimitUnit::Requests, &limits[4..], &limit_statuses[4..]),
            None
        );
    }
}
