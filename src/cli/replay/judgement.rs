//! Whether a recorded request would end differently.

use crate::cli::comparable_plan::{ComparableRequestPlan, PlannedAttempt, PlannedOutcome};
use crate::cli::plan_changes::{channels, verdict};
use crate::cli::request_file::AccessLogLine;

/// Codes of errors that follow from what a line has.
const HEAD_CODES: [&str; 4] = [
    "invalid_api_key",
    "method_not_allowed",
    "permission_denied",
    "unknown_url",
];

/// What is known of the end of a recorded request.
pub enum RecordedEnd<'a> {
    /// The status of the response, if there was one.
    Status(Option<u16>),
    Line(&'a AccessLogLine),
}

/// The result of a comparison.
#[derive(Debug, PartialEq, Eq)]
pub enum ReplayJudgement {
    Same,
    Differs { recorded: String, now: String },
    NotJudged(&'static str),
}

/// Compares the plan of a request with its recorded end.
pub fn judge(plan: &ComparableRequestPlan, end: &RecordedEnd<'_>) -> ReplayJudgement {
    let judged = match end {
        RecordedEnd::Status(None) => {
            return ReplayJudgement::NotJudged("the file has no response to compare with");
        }
        RecordedEnd::Status(Some(status)) => status_difference(plan, *status),
        RecordedEnd::Line(line) => line_difference(plan, line),
    };
    match judged {
        Some(recorded) => ReplayJudgement::Differs {
            recorded,
            now: now(plan),
        },
        None => match (&plan.outcome, end) {
            (PlannedOutcome::NotJudged(reason), _) => ReplayJudgement::NotJudged(reason),
            (PlannedOutcome::Attempts(_), RecordedEnd::Line(line)) if was_refused(line) => {
                ReplayJudgement::NotJudged("refused for headers or a body, which lines have not")
            }
            _ => ReplayJudgement::Same,
        },
    }
}

/// The recorded end as text, if the plan is another one.
fn status_difference(plan: &ComparableRequestPlan, status: u16) -> Option<String> {
    let is_same = match &plan.outcome {
        PlannedOutcome::Refusal(refusal) => refusal.status == status,
        PlannedOutcome::LocalReply { status: reply, .. } => *reply == status,
        PlannedOutcome::Attempts(_) => status < 400 || is_transient(status),
        PlannedOutcome::NotJudged(_) => true,
    };
    (!is_same).then(|| match status {
        400.. => format!("refused with {status}, by the gateway or the provider"),
        _ => format!("{status}"),
    })
}

/// The recorded end as text, if the plan is another one.
fn line_difference(plan: &ComparableRequestPlan, line: &AccessLogLine) -> Option<String> {
    let is_same_route = plan.route.as_deref().unwrap_or("-") == line.route;
    let is_same = is_same_route
        && match &plan.outcome {
            PlannedOutcome::Refusal(refusal) => {
                !was_accepted(line) && refusal.status == line.status
            }
            PlannedOutcome::LocalReply { status, .. } => *status == line.status,
            PlannedOutcome::Attempts(attempts) => is_among(attempts, line),
            PlannedOutcome::NotJudged(_) => true,
        };
    (!is_same).then(|| recorded(line))
}

/// Whether the request was accepted, and the channel that it went to is one of these, with the same model.
fn is_among(attempts: &[PlannedAttempt], line: &AccessLogLine) -> bool {
    let Some(channel) = line.channel.as_deref() else {
        return !HEAD_CODES.contains(&line.error_code.as_deref().unwrap_or_default());
    };
    attempts.iter().any(|attempt| {
        let is_same_model = match &line.channel_model {
            Some(model) => attempt.model.as_deref() == Some(&**model),
            None => true,
        };
        *attempt.channel == *channel && is_same_model
    })
}

/// Whether the filters of the request accepted it.
fn was_accepted(line: &AccessLogLine) -> bool {
    line.attempts > 0 || line.status < 400
}

/// Whether the gateway refused the request for what it is.
fn was_refused(line: &AccessLogLine) -> bool {
    !was_accepted(line) && !is_transient(line.status)
}

/// Statuses of limits and failures, which say nothing about the configuration.
fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 429 | 499..)
}

fn recorded(line: &AccessLogLine) -> String {
    let AccessLogLine {
        route,
        status,
        channel,
        channel_model,
        error_code,
        ..
    } = line;
    let code = error_code.iter().map(|code| format!(" {code}"));
    let channel = channel.iter().map(|channel| format!(" from {channel}"));
    let model = channel_model.iter().map(|model| format!(" ({model})"));
    let rest: String = code.chain(channel).chain(model).collect();
    format!("{status}{rest}, route {route}")
}

fn now(plan: &ComparableRequestPlan) -> String {
    let outcome = match &plan.outcome {
        PlannedOutcome::Attempts(attempts) if attempts.iter().any(|one| one.model.is_some()) => {
            let models = attempts.iter().map(|attempt| {
                let model = attempt.model.as_deref().unwrap_or("no model");
                format!("{} ({model})", attempt.channel)
            });
            let models: Vec<String> = models.collect();
            format!("accepted, for {}", models.join(", "))
        }
        PlannedOutcome::Attempts(attempts) => format!("accepted, for {}", channels(attempts)),
        outcome => verdict(outcome),
    };
    match &plan.route {
        Some(route) => format!("{outcome}, route {route}"),
        None => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::fault::FaultKind;
    use serde_json::json;

    fn plan(outcome: PlannedOutcome) -> ComparableRequestPlan {
        ComparableRequestPlan {
            route: Some("chat".into()),
            filters: Vec::new(),
            outcome,
        }
    }

    fn sent() -> PlannedOutcome {
        PlannedOutcome::Attempts(vec![PlannedAttempt {
            channel: "one".into(),
            tier: 0,
            weight: 1,
            model: Some("m-1".into()),
            request: None,
        }])
    }

    #[test]
    fn a_line_is_compared_by_route_channel_model_and_status() {
        let line = |changes: serde_json::Value| -> AccessLogLine {
            let mut line = json!({"method": "POST", "path": "/", "route": "chat", "channel": "one",
                "channel_model": "m-1", "status": 200, "attempts": 1});
            for (key, value) in changes.as_object().unwrap() {
                line[key] = value.clone();
            }
            serde_json::from_value(line).unwrap()
        };
        let refused = || PlannedOutcome::refused(FaultKind::UnknownModel, "m".into());
        for (outcome, changes, is_same) in [
            (sent(), json!({}), true),
            (sent(), json!({"status": 503}), true),
            (sent(), json!({"route": "other"}), false),
            (sent(), json!({"channel": "two"}), false),
            (sent(), json!({"channel_model": "m-2"}), false),
            (
                sent(),
                json!({"channel": null, "attempts": 0, "status": 429}),
                true,
            ),
            (
                sent(),
                json!({"channel": null, "attempts": 0, "status": 400}),
                false,
            ),
            (
                sent(),
                json!({"channel": null, "attempts": 0, "status": 401, "error_code": "invalid_api_key"}),
                false,
            ),
            (refused(), json!({}), false),
            (
                refused(),
                json!({"channel": null, "attempts": 0, "status": 404}),
                true,
            ),
            (
                refused(),
                json!({"channel": null, "attempts": 0, "status": 400}),
                false,
            ),
        ] {
            let line = line(changes.clone());
            let judged = judge(&plan(outcome), &RecordedEnd::Line(&line));
            assert_eq!(judged == ReplayJudgement::Same, is_same, "{changes}");
        }
    }

    #[test]
    fn a_response_is_compared_by_its_status() {
        let refused = || PlannedOutcome::refused(FaultKind::Invalid, "m".into());
        for (outcome, status, is_same) in [
            (sent(), 200, true),
            (sent(), 502, true),
            (sent(), 400, false),
            (refused(), 400, true),
            (refused(), 200, false),
        ] {
            let judged = judge(&plan(outcome), &RecordedEnd::Status(Some(status)));
            assert_eq!(judged == ReplayJudgement::Same, is_same, "{status}");
        }
    }
}
