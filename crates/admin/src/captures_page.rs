//! `/captures`: records exchanges of one caller for a while, and shows what was recorded.

use super::AdminApp;
use super::page::AdminRequest;
use headgate_core::feature::pages::PageQueryParameter;
use headgate_core::serve::AppResponse;
use headgate_observe::captures::{CAPTURES_MAX, CaptureLimits, KEPT};
use headgate_protocol::nearest::nearest;
use http::StatusCode;
use serde_json::json;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

const SECONDS: RangeInclusive<u64> = 1..=3600;
const EXCHANGES: RangeInclusive<u64> = 1..=100;
const BYTES: RangeInclusive<u64> = 1024..=16 << 20;

/// Parameters of the query that starts a capture.
pub(super) const START_PARAMETERS: &[PageQueryParameter] = &[
    PageQueryParameter::required("caller", "Name of the caller whose exchanges are recorded."),
    PageQueryParameter::optional("seconds", "Length of the recording, 1 to 3600."),
    PageQueryParameter::optional("exchanges", "Number of exchanges, 1 to 100."),
    PageQueryParameter::optional("bytes", "Size of the recording, 1024 to 16777216."),
];
/// The parameter of the query that names a capture.
pub(super) const ID_PARAMETER: &[PageQueryParameter] =
    &[PageQueryParameter::required("id", "Id of a capture.")];

/// The captures, without what they recorded.
pub(super) fn list(app: &AdminApp) -> AppResponse {
    let page = json!({"captures": app.metrics.captures.list()});
    AppResponse::json(StatusCode::OK, &page)
}

/// What the capture of the query recorded.
pub(super) fn content(app: &AdminApp, request: &AdminRequest) -> AppResponse {
    let id = request.parameter("id").unwrap_or_default();
    match app.metrics.captures.content(&id) {
        Some(capture) => AppResponse::json(StatusCode::OK, &capture),
        None => unknown(),
    }
}

/// Removes the capture of the query with all that it recorded.
pub(super) fn remove(app: &AdminApp, request: &AdminRequest) -> AppResponse {
    let id = request.parameter("id").unwrap_or_default();
    match app.metrics.captures.remove(&id) {
        true => list(app),
        false => unknown(),
    }
}

/// Starts to record exchanges of the caller of the query.
pub(super) fn start(app: &AdminApp, request: &AdminRequest) -> AppResponse {
    let limits = CaptureLimits {
        duration: Duration::from_secs(60),
        exchanges: 10,
        bytes: 1 << 20,
    };
    let limits = match parse_limits(request, limits) {
        Ok(limits) => limits,
        Err(error) => return refused(StatusCode::BAD_REQUEST, &error),
    };
    let Some(name) = request.parameter("caller") else {
        return refused(
            StatusCode::BAD_REQUEST,
            "expected the query `caller=NAME` with the name of a caller",
        );
    };
    let snapshot = app.reloader.current();
    let callers = &snapshot.callers;
    let Some(caller) = callers.by_name(Some(&name)) else {
        let known = callers.iter().map(|caller| &*caller.name);
        let error = match nearest(&name, known, 1).first() {
            Some(meant) => format!("unknown caller; did you mean `{meant}`?"),
            None => "unknown caller; use the name of a caller in the configuration".to_owned(),
        };
        return refused(StatusCode::NOT_FOUND, &error);
    };
    let Some(id) = app.metrics.captures.start(&caller.name, limits) else {
        return refused(
            StatusCode::CONFLICT,
            &format!(
                "there are {CAPTURES_MAX} captures; remove one with `POST /captures/remove?id=ID`"
            ),
        );
    };
    remove_later(app, limits.duration);
    match app.metrics.captures.content(&id) {
        Some(capture) => AppResponse::json(StatusCode::OK, &capture),
        None => unknown(),
    }
}

/// The limits of the query, by default those that are given.
fn parse_limits(request: &AdminRequest, defaults: CaptureLimits) -> Result<CaptureLimits, String> {
    let number = |name: &str, range: RangeInclusive<u64>| {
        let is_named = request.query().contains(&format!("{name}="));
        let number = request
            .parameter(name)
            .and_then(|text| text.parse::<u64>().ok())
            .filter(|number| range.contains(number));
        match number {
            None if is_named => Err(format!(
                "`{name}` must be a number from {} to {}",
                range.start(),
                range.end()
            )),
            number => Ok(number),
        }
    };
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(CaptureLimits {
        duration: number("seconds", SECONDS)?.map_or(defaults.duration, Duration::from_secs),
        exchanges: number("exchanges", EXCHANGES)?.map_or(defaults.exchanges, size),
        bytes: number("bytes", BYTES)?.map_or(defaults.bytes, size),
    })
}

/// Ends the recording, and later removes the capture, also if nobody looks at it.
fn remove_later(app: &AdminApp, duration: Duration) {
    let metrics = Arc::clone(&app.metrics);
    tokio::spawn(async move {
        for wait in [duration, KEPT] {
            tokio::time::sleep(wait + Duration::from_millis(10)).await;
            metrics.captures.expire();
        }
    });
}

fn unknown() -> AppResponse {
    refused(
        StatusCode::NOT_FOUND,
        "unknown capture; expected the query `id=ID` of a capture in `GET /captures`",
    )
}

fn refused(status: StatusCode, error: &str) -> AppResponse {
    AppResponse::json(status, &json!({"error": error}))
}
