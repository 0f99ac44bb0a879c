//! The conditions of a request that `headgate explain` prints: which held, and what they read.

use headgate_config::snapshot::router::Route;
use headgate_core::filter::chain::NamedFilter;
use headgate_core::filter::condition::StepCondition;
use headgate_core::filter::expression::ExchangeValues;
use headgate_core::filter::view::RequestView;
use headgate_expression::EvaluationPhase;

/// Prints a line for each condition of the route's filters and of the channels that serve the model.
pub(super) fn print_conditions(route: &Route, request: &RequestView) {
    for named in route.request.filters() {
        print_step(named, request, |condition| {
            request_outcome(condition, request)
        });
    }
    for named in route.response.filters() {
        print_step(named, request, |_| "decided for each response".into());
    }
    print_channels(route, request);
}

/// What became of the condition of a step of the request chain.
pub(super) fn request_outcome(condition: &StepCondition, request: &RequestView) -> String {
    match (condition.expression.phase(), condition.outcome(request)) {
        (EvaluationPhase::Attempt, _) => "decided for each attempt".into(),
        (_, None) => "not reached".into(),
        (_, Some(outcome)) => {
            let runs = if outcome.runs { "runs" } else { "skipped" };
            match outcome.error {
                None => runs.into(),
                Some(error) => format!("{runs}, although it failed: {error}"),
            }
        }
    }
}

fn print_step(
    named: &NamedFilter,
    request: &RequestView,
    outcome: impl FnOnce(&StepCondition) -> String,
) {
    let Some(condition) = &named.condition else {
        return;
    };
    let expression = &condition.expression;
    let seen = expression.observed(ExchangeValues::for_request(request));
    println!(
        "condition {} {}: {}{}",
        named.kind.name,
        outcome(condition),
        one_line(expression.text()),
        values(&seen)
    );
}

fn print_channels(route: &Route, request: &RequestView) {
    let (Some(model), Some(protocol)) = (request.model(), route.protocol) else {
        return;
    };
    let read = ExchangeValues::for_request(request);
    for candidate in model.candidates(protocol).iter() {
        let Some(condition) = &candidate.channel.condition else {
            continue;
        };
        let outcome = match condition.is_true(&read) {
            Ok(true) => "candidate".into(),
            Ok(false) => "no candidate".into(),
            Err(error) => format!("failed: {}", error.message),
        };
        println!(
            "condition channel {} {outcome}: {}{}",
            candidate.channel.name,
            one_line(condition.text()),
            values(&condition.observed(&read))
        );
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What an expression read, in brackets.
fn values(seen: &[(String, String)]) -> String {
    let each: Vec<String> = seen
        .iter()
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    match each.is_empty() {
        true => String::new(),
        false => format!(" ({})", each.join(", ")),
    }
}
