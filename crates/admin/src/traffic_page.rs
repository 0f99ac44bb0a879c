//! `/traffic`: the traffic of the last hour in intervals of ten seconds.

use super::AdminApp;
use super::overview::traffic;
use super::page::AdminRequest;
use headgate_core::feature::pages::PageQueryParameter;
use headgate_core::serve::AppResponse;
use headgate_observe::traffic::INTERVAL_SECONDS;
use http::StatusCode;
use serde_json::{Value, json};

/// Parameters of the query.
pub(super) const PARAMETERS: &[PageQueryParameter] = &[PageQueryParameter::optional(
    "since",
    "Begin of the first interval, in Unix seconds.",
)];

/// The intervals that start at the time in the parameter `since`, in seconds since the epoch, or later. Intervals
/// without requests are absent.
pub(super) fn page(app: &AdminApp, request: &AdminRequest) -> AppResponse {
    let since = request.parameter("since").map(|since| since.parse());
    let since = match since {
        None => 0,
        Some(Ok(since)) => since,
        Some(Err(_)) => {
            let error = "`since` must be a number of seconds since 1970, such as 1796000000";
            return AppResponse::json(StatusCode::BAD_REQUEST, &json!({"error": error}));
        }
    };
    let intervals: Vec<Value> = app
        .metrics
        .traffic
        .since(since, |intervals| intervals.map(traffic).collect());
    let page = json!({"interval_seconds": INTERVAL_SECONDS, "intervals": intervals});
    AppResponse::json(StatusCode::OK, &page)
}
