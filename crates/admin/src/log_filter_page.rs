//! `/log-filter`: shows and changes the filter of the process log.

use super::AdminApp;
use super::page::AdminRequest;
use headgate_core::feature::pages::PageQueryParameter;
use headgate_core::serve::AppResponse;
use headgate_core::timestamp::rfc3339;
use headgate_observe::log_filter::{LogFilterChange, LogFilterControl};
use http::StatusCode;
use serde_json::{Value, json};
use std::time::Duration;

/// The longest time that a change can be limited to: a day.
const SECONDS_MAX: u64 = 86_400;

/// Parameters of the query that changes the filter.
pub(super) const PARAMETERS: &[PageQueryParameter] = &[
    PageQueryParameter::required(
        "filter",
        "A filter such as `debug`, or `usual` to end the change.",
    ),
    PageQueryParameter::optional("seconds", "Length of the change, at most 86400."),
];

/// Responds with the filter.
pub(super) fn page(app: &AdminApp) -> AppResponse {
    AppResponse::json(StatusCode::OK, &content(&app.log_filter))
}

/// The change in effect as JSON; null if there is none.
pub(super) fn change(filter: &LogFilterControl) -> Value {
    let change = filter.change().map(|change| {
        let LogFilterChange {
            filter, at, until, ..
        } = change;
        json!({"filter": filter, "at": rfc3339(at), "until": until.map(rfc3339)})
    });
    change.into()
}

/// Changes the filter to that of the query; `filter=usual` ends the change.
pub(super) fn set(app: &AdminApp, request: &AdminRequest) -> AppResponse {
    let refused =
        |error: String| AppResponse::json(StatusCode::BAD_REQUEST, &json!({"error": error}));
    let Some(filter) = request.parameter("filter") else {
        return refused("expected the query `filter=LEVEL`, such as `filter=debug&seconds=600`, or `filter=usual`".into());
    };
    if filter == "usual" {
        app.log_filter.reset();
        return page(app);
    }
    let duration = match request.parameter("seconds").map(|text| text.parse()) {
        None if request.query().contains("seconds=") => Err(()),
        None => Ok(None),
        Some(Ok(seconds @ 1..=SECONDS_MAX)) => Ok(Some(Duration::from_secs(seconds))),
        Some(_) => Err(()),
    };
    let Ok(duration) = duration else {
        return refused(format!(
            "`seconds` must be a number from 1 to {SECONDS_MAX}"
        ));
    };
    match app.log_filter.set(&filter, duration) {
        Ok(change) => {
            end_later(app.log_filter.clone(), change, duration);
            page(app)
        }
        Err(error) => refused(format!("`filter` is not usable: {error}")),
    }
}

fn end_later(filter: LogFilterControl, change: LogFilterChange, duration: Option<Duration>) {
    let Some(duration) = duration else {
        return;
    };
    tokio::spawn(async move {
        tokio::time::sleep(duration).await;
        filter.end(&change);
    });
}

fn content(filter: &LogFilterControl) -> Value {
    let changed = filter.change();
    let current = changed.map_or_else(|| filter.usual().to_owned(), |change| change.filter);
    json!({
        "filter": current,
        "usual": filter.usual(),
        "change": change(filter),
    })
}
