//! What a configuration does with a request of which only the access-log line is known.

use super::comparable_plan::{ComparableRequestPlan, PlannedAttempt, PlannedOutcome, find_route};
use super::request_file::AccessLogLine;
use headgate_config::snapshot::Snapshot;
use headgate_config::snapshot::router::Route;
use headgate_core::filter::descriptor::FilterProvision;
use headgate_protocol::fault::FaultKind;
use http::Method;

/// The plan, as far as route, caller and model decide; `caller` is the name of the caller of requests without one.
pub fn plan(
    snapshot: &Snapshot,
    line: &AccessLogLine,
    caller: Option<&str>,
) -> ComparableRequestPlan {
    let Ok(method) = Method::from_bytes(line.method.as_bytes()) else {
        return ComparableRequestPlan {
            route: None,
            filters: Vec::new(),
            outcome: PlannedOutcome::NotJudged("the line has an invalid method"),
        };
    };
    // Lines have `…` in place of a token in the gateway's own URLs, whose routes take any token.
    let path = line.path.replace('…', "token");
    let route = match find_route(snapshot, &method, &path) {
        Ok((route, _)) => route,
        Err(plan) => return plan,
    };
    ComparableRequestPlan::on(route, outcome(snapshot, route, line, caller))
}

fn outcome(
    snapshot: &Snapshot,
    route: &Route,
    line: &AccessLogLine,
    caller: Option<&str>,
) -> PlannedOutcome {
    let name = line.caller.as_deref().or(caller);
    let caller = match ComparableRequestPlan::caller(snapshot, route, name) {
        Ok(caller) => caller,
        Err(plan) => return plan.outcome,
    };
    if caller.is_none()
        && route
            .request
            .first_with_provision(FilterProvision::Caller)
            .is_some()
    {
        if line.route == *route.name && was_refused_before_its_caller_was_known(line) {
            return PlannedOutcome::NotJudged("refused before its caller was known");
        }
        let message = "the request has no known key".to_owned();
        return PlannedOutcome::refused(FaultKind::Unauthenticated, message);
    }
    let (Some(_), Some(protocol)) = (
        route.request.first_with_provision(FilterProvision::Model),
        route.protocol,
    ) else {
        return PlannedOutcome::NotJudged("the route needs more than the line has");
    };
    let Some(name) = line.model.as_deref() else {
        return PlannedOutcome::NotJudged("the line has no model");
    };
    let Some(model) = snapshot.catalog.get(name) else {
        let message = format!("no channel serves model `{name}`");
        return PlannedOutcome::refused(FaultKind::UnknownModel, message);
    };
    if caller.is_some_and(|caller| !caller.may_use_model(name)) {
        let message = format!("the caller may not use model `{name}`");
        return PlannedOutcome::refused(FaultKind::Forbidden, message);
    }
    let candidates = model.candidates(protocol);
    if candidates.is_empty() {
        let protocol = protocol.name();
        let message = format!("no channel serves model `{name}` for {protocol} requests");
        return PlannedOutcome::refused(FaultKind::UnknownModel, message);
    }
    PlannedOutcome::Attempts(candidates.iter().map(PlannedAttempt::new).collect())
}

/// Whether a filter refused the request for something that lines do not have, such as its content type, and so did not
/// ask for its key.
fn was_refused_before_its_caller_was_known(line: &AccessLogLine) -> bool {
    let code = line.error_code.as_deref();
    line.attempts == 0 && line.status >= 400 && code != Some(FaultKind::Unauthenticated.code())
}
