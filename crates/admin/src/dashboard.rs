//! The dashboard: one page with its style and scripts, and the events that keep it up to date.
//!
//! The files are written without a build step, so that an engineer needs no further tool to change them.

use super::{AdminApp, overview};
use bytes::Bytes;
use headgate_core::serve::{AppResponse, AppResponseBodyStream};
use http::{HeaderValue, StatusCode, header};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{Interval, MissedTickBehavior, interval};

const PAGE: &str = include_str!("dashboard/page.html");
const STYLE: &str = include_str!("dashboard/style.css");
const SCRIPT: &str = include_str!("dashboard/script.js");
const CHARTS: &str = include_str!("dashboard/charts.js");
const ELEMENTS: &str = include_str!("dashboard/elements.js");
const PROMPT_CACHE: &str = include_str!("dashboard/prompt_cache.js");
const USAGE: &str = include_str!("dashboard/usage.js");
const USAGE_PAGES: &str = include_str!("dashboard/usage_pages.js");
const SAMPLES: &str = include_str!("dashboard/samples.js");
const RUNS: &str = include_str!("dashboard/runs.js");
/// The browser loads nothing from elsewhere, and runs no script but the page's own.
const CONTENT_SECURITY_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);
/// Time between two events.
const EVENT_INTERVAL: Duration = Duration::from_secs(1);

pub(super) fn page() -> AppResponse {
    AppResponse::full(StatusCode::OK, "text/html; charset=utf-8", PAGE)
        .with_header(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY)
}

pub(super) fn style() -> AppResponse {
    AppResponse::full(StatusCode::OK, "text/css; charset=utf-8", STYLE)
}

pub(super) fn script() -> AppResponse {
    script_file(SCRIPT)
}

pub(super) fn charts() -> AppResponse {
    script_file(CHARTS)
}

pub(super) fn elements() -> AppResponse {
    script_file(ELEMENTS)
}

pub(super) fn prompt_cache() -> AppResponse {
    script_file(PROMPT_CACHE)
}

pub(super) fn usage() -> AppResponse {
    script_file(USAGE)
}

pub(super) fn usage_pages() -> AppResponse {
    script_file(USAGE_PAGES)
}

pub(super) fn samples() -> AppResponse {
    script_file(SAMPLES)
}

pub(super) fn runs() -> AppResponse {
    script_file(RUNS)
}

/// A stream of events, each with the content of `/overview`.
pub(super) fn events(app: &AdminApp) -> AppResponse {
    let mut ticks = interval(EVENT_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    app.event_streams.respond(OverviewEventStream {
        app: app.clone(),
        ticks,
    })
}

fn script_file(content: &'static str) -> AppResponse {
    AppResponse::full(StatusCode::OK, "text/javascript; charset=utf-8", content)
}

struct OverviewEventStream {
    app: AdminApp,
    ticks: Interval,
}

impl AppResponseBodyStream for OverviewEventStream {
    fn next_piece(&mut self) -> Pin<Box<dyn Future<Output = Option<Bytes>> + Send + '_>> {
        Box::pin(async {
            self.ticks.tick().await;
            let app = self.app.clone();
            // On a thread of its own: the page takes locks.
            let event = spawn_blocking(move || {
                let overview = overview::content(&app);
                format!("event: overview\ndata: {overview}\n\n")
            });
            event.await.ok().map(Bytes::from)
        })
    }
}
