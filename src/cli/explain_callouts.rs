//! The callouts of a route that `headgate explain` prints; no service is called.

use super::explain_conditions::request_outcome;
use headgate_config::snapshot::router::Route;
use headgate_core::filter::chain::NamedFilter;
use headgate_core::filter::condition::StepCondition;
use headgate_core::filter::view::RequestView;

/// Prints a line for each filter of the route that calls a service.
pub(super) fn print_callouts(route: &Route, request: &RequestView) {
    for named in route.request.filters() {
        print_callout(named, |condition| request_outcome(condition, request));
    }
    for named in route.response.filters() {
        print_callout(named, |_| "decided for each response".into());
    }
}

fn print_callout(named: &NamedFilter, outcome: impl FnOnce(&StepCondition) -> String) {
    let Some(callout) = named.filter.callout() else {
        return;
    };
    let condition = match &named.condition {
        Some(condition) => format!("condition {}", outcome(condition)),
        None => "no condition".into(),
    };
    println!(
        "callout   {} service {}, phase {}, on_failure {}, {condition}",
        named.kind.name,
        callout.service,
        callout.phases.join(" and "),
        callout.on_failure,
    );
}
