//! `/overview`: the state of the gateway at one moment, on one page: traffic, channels, requests in flight, findings.

use super::{AdminApp, channels_page, findings, log_filter_page};
use headgate_core::serve::AppResponse;
use headgate_core::timestamp::rfc3339;
use headgate_observe::error_side::ErrorSide;
use headgate_observe::open_requests::OpenRequestState;
use headgate_observe::traffic::latency_counts::LatencyCounts;
use headgate_observe::traffic::{INTERVAL_SECONDS, TrafficInterval};
use http::StatusCode;
use serde_json::{Map, Value, json};
use std::time::SystemTime;

/// Number of requests in flight that are listed; those that have waited longest.
const OPEN_MAX: usize = 50;

pub(super) fn page(app: &AdminApp) -> AppResponse {
    AppResponse::json(StatusCode::OK, &content(app))
}

/// The page as JSON. It contains no secrets and no bodies.
pub(super) fn content(app: &AdminApp) -> Value {
    let snapshot = app.reloader.current();
    let store = app.reloader.state().health();
    let open = app.metrics.open_requests.states();
    let minute = app.metrics.traffic.last(60);
    let mut overview = json!({
        "time": rfc3339(SystemTime::now()),
        "version": env!("CARGO_PKG_VERSION"),
        "ready": app.ready.load(std::sync::atomic::Ordering::Relaxed),
        "revision": &*snapshot.revision,
        "loaded_at": rfc3339(snapshot.loaded_at),
        "last_rejection": app.reloader.refusal().map(|refusal| json!({
            "at": rfc3339(refusal.at),
            "report": &refusal.report,
        })),
        "in_flight": app.metrics.in_flight().sum(),
        "connections": app.metrics.connections().get(),
        "minute": traffic(&minute),
        "last_intervals": last_intervals(app),
        "findings": findings::list(app),
        "channels": channels(app, &minute),
        "open_requests": open.iter().take(OPEN_MAX).map(open_request).collect::<Vec<_>>(),
        "store": {"kind": store.store, "up": store.up},
        "log_filter": log_filter_page::change(&app.log_filter),
    });
    if let Some(members) = overview.as_object_mut() {
        for feature in app.features.iter() {
            feature.add_overview(&snapshot.features, members);
        }
    }
    // Creates of which no task is known, since the start.
    overview["tasks"]["outcome_unknown"] = app.metrics.creates.unknown_outcomes().into();
    overview
}

/// The last two intervals, of which the first is complete.
fn last_intervals(app: &AdminApp) -> Vec<Value> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let since = now
        .unwrap_or_default()
        .as_secs()
        .saturating_sub(2 * INTERVAL_SECONDS);
    app.metrics
        .traffic
        .since(since, |intervals| intervals.map(traffic).collect())
}

/// The channels with their traffic of the last minute.
fn channels(app: &AdminApp, minute: &TrafficInterval) -> Vec<Map<String, Value>> {
    let mut channels = channels_page::summaries(app);
    for channel in &mut channels {
        let name = channel["name"].as_str().unwrap_or_default();
        let of_minute = minute.channels.get(name).copied().unwrap_or_default();
        let first_byte = of_minute.first_byte();
        let entry = json!({
            "requests": of_minute.requests,
            "upstream_errors": of_minute.upstream_errors,
            "first_byte_ms": first_byte.map(|time| time.as_millis() as u64),
        });
        channel.insert("minute".into(), entry);
    }
    channels
}

/// An interval as JSON. Times are in milliseconds.
pub(super) fn traffic(interval: &TrafficInterval) -> Value {
    let errors = ErrorSide::ALL.map(|side| {
        (
            side.name().to_owned(),
            json!(interval.errors[side as usize]),
        )
    });
    let callers = interval.callers.iter().map(|(name, caller)| {
        let entry = json!({
            "requests": caller.requests,
            "rate_limited": caller.rate_limited,
            "tokens": caller.tokens,
        });
        (name.to_string(), entry)
    });
    json!({
        "start": interval.start,
        "requests": interval.requests,
        "errors": errors.into_iter().collect::<Map<_, _>>(),
        "rate_limited": interval.rate_limited,
        "input_tokens": interval.input_tokens,
        "output_tokens": interval.output_tokens,
        "first_byte_ms": latency(&interval.first_byte),
        "total_ms": latency(&interval.total),
        "callers": callers.collect::<Map<_, _>>(),
    })
}

fn latency(counts: &LatencyCounts) -> Value {
    let millis = |percent| {
        counts
            .quantile(percent)
            .map(|time| time.as_micros() as f64 / 1000.0)
    };
    json!({"p50": millis(50), "p99": millis(99)})
}

fn open_request(state: &OpenRequestState) -> Value {
    let details = &state.details;
    json!({
        "id": &*details.id,
        "route": &*details.route,
        "caller": details.caller.as_deref(),
        "model": details.model.as_deref(),
        "channel": details.channel.as_deref(),
        "streamed": details.streamed,
        "age_ms": state.age.as_millis() as u64,
        "waits_for": state.waits_for.name(),
        "waiting_ms": state.waiting.as_millis() as u64,
    })
}
