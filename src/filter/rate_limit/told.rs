//! What a caller is told of its limits: headers on every answer, and the error at a limit.

use crate::filter::view::RequestView;
use crate::protocol::allowance::{Allowance, Counted, in_words};
use crate::protocol::fault::{Fault, FaultKind};
use crate::state::demand::{Limit, Measure, Standing};
use http::{HeaderName, HeaderValue};
use std::time::Duration;

/// Tells of requests and of tokens: of several limits of a kind, the one with the least left.
pub fn add_headers(
    request: &mut RequestView,
    limits: &[Limit],
    standings: &[Standing],
    now_ms: u64,
) {
    for counted in [Counted::Requests, Counted::Tokens] {
        let Some(allowance) = tightest(counted, limits, standings) else {
            continue;
        };
        for (name, value) in allowance.headers(request.protocol, counted, now_ms) {
            let value = HeaderValue::try_from(value).expect("numbers and dates are plain text");
            let name = HeaderName::from_static(name);
            request.answer_headers.insert(name, value);
        }
    }
}

/// The error of a request that does not fit under `limit`, of which `left` are left.
pub fn refusal(limit: &Limit, tokens: u64, left: u64, wait: Duration) -> Fault {
    let most = limit.most;
    let when = in_words(wait);
    let on = |word: &str| match &limit.model {
        Some(model) => format!(" {word} model `{model}`"),
        None => String::new(),
    };
    let budget = |period: &str| {
        let on = on("on");
        format!(
            "this key has used up its {most} tokens a {period}{on}; try again in {when}, or ask the operator of this gateway for more"
        )
    };
    let (kind, message) = match limit.measure {
        Measure::RequestsPerMinute => (
            FaultKind::TooManyRequests,
            format!(
                "this key may send {most} requests a minute{}; try again in {when}",
                on("to")
            ),
        ),
        Measure::Concurrent => (
            FaultKind::TooManyRequests,
            format!(
                "this key may have {most} requests under way at a time{}; try again when one has ended",
                on("to")
            ),
        ),
        Measure::TokensPerMinute => (
            FaultKind::TooManyTokens,
            format!(
                "this key may use {most} tokens a minute{}, and has {left} left where this request needs about {tokens}; try again in {when}",
                on("on")
            ),
        ),
        Measure::TokensPerDay => (FaultKind::OverBudget, budget("day")),
        Measure::TokensPerMonth => (FaultKind::OverBudget, budget("month")),
    };
    Fault::new(kind, message).retry_after(wait)
}

fn tightest(counted: Counted, limits: &[Limit], standings: &[Standing]) -> Option<Allowance> {
    limits
        .iter()
        .zip(standings)
        .filter(|(limit, _)| told_as(limit.measure) == Some(counted))
        .map(|(limit, standing)| Allowance {
            limit: limit.most,
            remaining: standing.remaining,
            reset: standing.reset,
        })
        .min_by_key(|allowance| allowance.remaining)
}

/// The family that a limit is told in; none has a word for requests at one time.
fn told_as(measure: Measure) -> Option<Counted> {
    match measure {
        Measure::RequestsPerMinute => Some(Counted::Requests),
        Measure::Concurrent => None,
        Measure::TokensPerMinute | Measure::TokensPerDay | Measure::TokensPerMonth => {
            Some(Counted::Tokens)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(measure: Measure, most: u64, model: Option<&str>) -> Limit {
        Limit {
            caller: "ann".into(),
            model: model.map(Into::into),
            measure,
            most,
        }
    }

    #[test]
    fn a_refusal_says_which_limit_how_much_and_when() {
        use Measure::{Concurrent, RequestsPerMinute, TokensPerDay, TokensPerMinute};
        for (measure, model, kind, message) in [
            (
                RequestsPerMinute,
                None,
                FaultKind::TooManyRequests,
                "this key may send 60 requests a minute; try again in 12s",
            ),
            (
                Concurrent,
                Some("large"),
                FaultKind::TooManyRequests,
                "this key may have 60 requests under way at a time to model `large`; try again when one has ended",
            ),
            (
                TokensPerMinute,
                Some("large"),
                FaultKind::TooManyTokens,
                "this key may use 60 tokens a minute on model `large`, and has 5 left where this request needs about 40; try again in 12s",
            ),
            (
                TokensPerDay,
                None,
                FaultKind::OverBudget,
                "this key has used up its 60 tokens a day; try again in 12s, or ask the operator of this gateway for more",
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
    fn the_limit_with_the_least_left_is_told() {
        let limits = [
            limit(Measure::RequestsPerMinute, 60, None),
            limit(Measure::TokensPerMinute, 1000, None),
            limit(Measure::TokensPerDay, 5000, None),
            limit(Measure::RequestsPerMinute, 10, Some("large")),
            limit(Measure::Concurrent, 1, None),
        ];
        let standing = |remaining| Standing {
            remaining,
            reset: Duration::from_secs(1),
        };
        let standings = [5, 900, 40, 9, 0].map(standing);
        let told = |counted| {
            let allowance = tightest(counted, &limits, &standings).unwrap();
            (allowance.limit, allowance.remaining)
        };
        assert_eq!(told(Counted::Requests), (60, 5));
        assert_eq!(told(Counted::Tokens), (5000, 40));
        assert_eq!(
            tightest(Counted::Requests, &limits[4..], &standings[4..]),
            None
        );
    }
}
