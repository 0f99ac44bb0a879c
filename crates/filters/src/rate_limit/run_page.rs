//! The pages `/runs` and `/runs/NAME`: what runs of agents have used, and the last calls of one.

use headgate_core::feature::pages::{
    FeatureAdminPage, FeatureAdminPageAccess, FeatureAdminPageRequest, PageQueryParameter,
};
use headgate_core::serve::AppResponse;
use headgate_core::state::run::{RunCall, RunCap};
use headgate_core::state::run_usage::RunStatus;
use headgate_core::timestamp::rfc3339;
use headgate_protocol::credential_names::decoded;
use http::{Method, StatusCode};
use serde_json::{Map, Value, json};
use std::time::{Duration, UNIX_EPOCH};

/// Runs that a page looks at, and lists.
const READ_MAX: usize = 1_000;
const LISTED_MAX: usize = 200;
/// Billionths in one unit of a currency.
const NANOS: f64 = 1e9;

const CALLER: PageQueryParameter =
    PageQueryParameter::optional("caller", "Name of a caller: only its runs.");

pub(crate) static PAGES: &[FeatureAdminPage] = &[
    FeatureAdminPage {
        method: Method::GET,
        path: "/runs",
        summary: "Runs of agents that are not forgotten: what each has used.",
        parameters: &[CALLER],
        access: FeatureAdminPageAccess::Read,
        respond: |request| Box::pin(list(request)),
    },
    FeatureAdminPage {
        method: Method::GET,
        path: "/runs/{name}",
        summary: "The runs of one name, with their last calls.",
        parameters: &[CALLER],
        access: FeatureAdminPageAccess::Read,
        respond: |request| Box::pin(show(request)),
    },
];

/// The runs that were in use last.
async fn list(request: FeatureAdminPageRequest<'_>) -> AppResponse {
    read(&request, None).await.unwrap_or_else(|runs| {
        let more = runs.len() > LISTED_MAX;
        let runs = runs
            .iter()
            .take(LISTED_MAX)
            .map(|run| Value::Object(summary(run)));
        let page = json!({"runs": runs.collect::<Vec<_>>(), "has_more": more});
        AppResponse::json(StatusCode::OK, &page)
    })
}

/// The runs of a name, with their calls.
async fn show(request: FeatureAdminPageRequest<'_>) -> AppResponse {
    let name = decoded(request.name.unwrap_or_default().as_bytes()).collect();
    // No run has a name that is not UTF-8.
    let name = String::from_utf8(name).unwrap_or_default();
    read(&request, Some(&name)).await.unwrap_or_else(|runs| {
        if runs.is_empty() {
            let error =
                json!({"error": "no run has this name; a run is forgotten when it was idle"});
            return AppResponse::json(StatusCode::NOT_FOUND, &error);
        }
        let runs = runs.iter().map(|run| {
            let mut shown = summary(run);
            let calls = run.calls.iter().map(history_entry);
            shown.insert("history".into(), calls.collect());
            Value::Object(shown)
        });
        let page = json!({"runs": runs.collect::<Vec<_>>()});
        AppResponse::json(StatusCode::OK, &page)
    })
}

/// The runs that the query selects as `Err`, or the response if they cannot be read.
async fn read(
    request: &FeatureAdminPageRequest<'_>,
    name: Option<&str>,
) -> Result<AppResponse, Vec<RunStatus>> {
    let caller = match caller(request.query) {
        Ok(caller) => caller,
        Err(error) => {
            let error = json!({"error": error});
            return Ok(AppResponse::json(StatusCode::BAD_REQUEST, &error));
        }
    };
    match request.state.runs(name, READ_MAX).get().await {
        Ok(mut runs) => {
            runs.retain(|run| {
                caller
                    .as_ref()
                    .is_none_or(|caller| *run.key.caller == **caller)
            });
            Err(runs)
        }
        Err(unavailable) => {
            let error = json!({"error": unavailable.to_string()});
            Ok(AppResponse::json(StatusCode::SERVICE_UNAVAILABLE, &error))
        }
    }
}

/// The caller whose runs the query selects.
fn caller(query: &str) -> Result<Option<String>, &'static str> {
    let mut selected = None;
    for member in query.split('&').filter(|member| !member.is_empty()) {
        let caller = member
            .strip_prefix("caller=")
            .filter(|_| selected.is_none());
        let caller = caller.ok_or("expected no query, or `caller=NAME`")?;
        let caller = String::from_utf8(decoded(caller.as_bytes()).collect());
        selected = Some(caller.map_err(|_| "`caller` is not UTF-8")?);
    }
    Ok(selected)
}

fn summary(run: &RunStatus) -> Map<String, Value> {
    let usage = &run.usage;
    let caps = RunCap::ALL.into_iter().filter_map(|cap| {
        let most = usage.tightened.get(cap)?;
        let most = match cap {
            RunCap::Cost => json!(money(most)),
            RunCap::Time => json!(most / 1_000),
            RunCap::Calls | RunCap::Repeats | RunCap::Tokens => json!(most),
        };
        Some((cap.name().to_owned(), most))
    });
    let Value::Object(summary) = json!({
        "name": &*run.key.name,
        "caller": &*run.key.caller,
        "started": time(usage.started_ms),
        "used": time(usage.used_ms),
        "forgotten": time(usage.expires_ms),
        "calls": usage.calls,
        "tokens": usage.tokens,
        "cost": money(usage.cost),
        "repeats": usage.repeats,
        "tightened": caps.collect::<Map<_, _>>(),
    }) else {
        return Map::new();
    };
    summary
}

fn history_entry(call: &RunCall) -> Value {
    json!({
        "time": time(call.at_ms),
        "id": call.id,
        "model": call.model,
        "status": call.status,
        "tokens": call.tokens,
        "cost": call.cost.map(money),
        "refused_by": call.refused_by,
    })
}

fn money(nanos: u64) -> f64 {
    nanos as f64 / NANOS
}

fn time(unix_ms: u64) -> String {
    rfc3339(UNIX_EPOCH + Duration::from_millis(unix_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_selects_one_caller_or_none() {
        for (query, expected) in [
            ("", Ok(None)),
            ("caller=ann", Ok(Some("ann"))),
            ("caller=my%20team", Ok(Some("my team"))),
            ("caller=ann&caller=bob", Err(())),
            ("run=7", Err(())),
            ("caller=%ff", Err(())),
        ] {
            let selected = caller(query).map_err(|_| ());
            assert_eq!(
                selected.as_ref().map(|it| it.as_deref()),
                expected.as_ref().map(|it| *it),
                "{query}"
            );
        }
    }
}
