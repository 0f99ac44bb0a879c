//! `/openapi.json`: the HTTP API of the configuration in use, and the descriptions of the admin pages in it.

use super::AdminApp;
use super::page::{AdminPage, PageAccess};
use super::refusal::internal_error;
use crate::openapi::{self, AdminPageDescription, AdminPageUser, ApiServers, PageParameter};
use crate::reload::running::ListenerSummary;
use crate::serve::AppResponse;
use http::StatusCode;

const JSON: &str = "application/json";
const HTML: &str = "text/html";
const CSS: &str = "text/css";
const SCRIPT: &str = "text/javascript";
const PLAIN: &str = "text/plain";
const EVENTS: &str = "text/event-stream";

const CHANNEL: &[PageParameter] = &[required("channel", "Name of a channel.")];
const ID: &[PageParameter] = &[required("id", "Id of a capture.")];
const REQUEST_FIELDS: &[PageParameter] = &[
    optional(
        "status",
        "A status such as `502`, or a class such as `5xx`.",
    ),
    optional("limit", "Number of requests; 100 by default, at most 1000."),
    optional("id", "Request id."),
    optional("caller", "Name of a caller."),
    optional("route", "Name of a route."),
    optional("model", "Platform model."),
    optional("channel", "Name of a channel."),
    optional("protocol", "Protocol of the route."),
    optional("settlement", "How the exchange ended."),
    optional("error_code", "Code of the error."),
];
const CAPTURE_LIMITS: &[PageParameter] = &[
    required("caller", "Name of the caller whose exchanges are recorded."),
    optional("seconds", "Length of the recording, 1 to 3600."),
    optional("exchanges", "Number of exchanges, 1 to 100."),
    optional("bytes", "Size of the recording, 1024 to 16777216."),
];
const LOG_FILTER: &[PageParameter] = &[
    required(
        "filter",
        "A filter such as `debug`, or `usual` to end the change.",
    ),
    optional("seconds", "Length of the change, at most 86400."),
];

/// Method and path, a summary, the parameters of the query, the content type.
type PageRow = (
    &'static str,
    &'static str,
    &'static [PageParameter],
    &'static str,
);

/// The descriptions of all pages, in the order of the router's table.
const DESCRIPTIONS: &[PageRow] = &[
    (
        "GET /metrics",
        "Metrics in the Prometheus text format.",
        &[],
        PLAIN,
    ),
    ("GET /healthz", "200 while the process lives.", &[], PLAIN),
    (
        "GET /readyz",
        "200 while the gateway takes requests, 503 while it drains.",
        &[],
        PLAIN,
    ),
    (
        "GET /config",
        "The running configuration, without secrets.",
        &[],
        JSON,
    ),
    (
        "GET /openapi.json",
        "This document, for the configuration in use.",
        &[],
        JSON,
    ),
    (
        "GET /channels",
        "Health of channels, models and credentials.",
        &[],
        JSON,
    ),
    (
        "GET /callbacks",
        "Deliveries that wait, and those that failed for good.",
        &[optional("after", "Id of the last one of the page before.")],
        JSON,
    ),
    ("GET /", "The dashboard.", &[], HTML),
    ("GET /dashboard.css", "Style of the dashboard.", &[], CSS),
    ("GET /charts.js", "Script of the dashboard.", &[], SCRIPT),
    ("GET /elements.js", "Script of the dashboard.", &[], SCRIPT),
    ("GET /dashboard.js", "Script of the dashboard.", &[], SCRIPT),
    ("GET /overview", "What the gateway does now.", &[], JSON),
    ("GET /events", "The overview, each second.", &[], EVENTS),
    ("GET /findings", "What is wrong, and what to do.", &[], JSON),
    (
        "GET /traffic",
        "Traffic of the last hours by interval.",
        &[optional(
            "since",
            "Begin of the first interval, in Unix seconds.",
        )],
        JSON,
    ),
    ("GET /requests", "The last requests.", REQUEST_FIELDS, JSON),
    (
        "GET /log-filter",
        "The filter of the process log.",
        &[],
        JSON,
    ),
    (
        "POST /log-filter",
        "Changes the filter of the process log.",
        LOG_FILTER,
        JSON,
    ),
    (
        "GET /captures",
        "The captures, without their contents.",
        &[],
        JSON,
    ),
    (
        "POST /captures",
        "Records exchanges of one caller.",
        CAPTURE_LIMITS,
        JSON,
    ),
    (
        "GET /captures/content",
        "What a capture recorded.",
        ID,
        JSON,
    ),
    ("POST /captures/remove", "Removes a capture.", ID, JSON),
    (
        "GET /session",
        "Whether the browser has a session.",
        &[],
        JSON,
    ),
    (
        "POST /login",
        "Opens a session for the key in the body.",
        &[],
        JSON,
    ),
    ("POST /logout", "Ends the session.", &[], JSON),
    (
        "POST /reload",
        "Reloads the configuration; 422 with the report if it is invalid.",
        &[],
        JSON,
    ),
    (
        "POST /callbacks/redrive",
        "Delivers again what failed for good: one event, or a page of them.",
        &[
            optional("id", "Id of one event."),
            optional("after", "Id of the last one of the page before."),
        ],
        JSON,
    ),
    (
        "POST /channels/drain",
        "Sends no new requests to a channel.",
        CHANNEL,
        JSON,
    ),
    (
        "POST /channels/undrain",
        "Ends the drain of a channel.",
        CHANNEL,
        JSON,
    ),
    (
        "POST /channels/reset",
        "Forgets the failures of a channel.",
        CHANNEL,
        JSON,
    ),
];

/// The document, with the addresses that the process listens on. Built on a blocking thread, because it is large.
pub(super) async fn page(app: &AdminApp, pages: &'static [AdminPage]) -> AppResponse {
    let reloader = app.reloader.clone();
    let document = tokio::task::spawn_blocking(move || {
        let snapshot = reloader.current();
        let running = reloader.with_running(|running| running.settings());
        openapi::document(&snapshot, &servers(&running), &descriptions(pages))
    });
    match document.await {
        Ok(document) => AppResponse::json(StatusCode::OK, &document),
        Err(error) => internal_error(&error),
    }
}

/// The base URLs of a gateway with these listeners.
pub fn servers(listeners: &ListenerSummary) -> ApiServers {
    ApiServers::of_listeners(
        (&listeners.listen, listeners.tls),
        (&listeners.admin, listeners.admin_tls),
    )
}

/// The descriptions of `pages`, in their order.
pub(super) fn descriptions(pages: &[AdminPage]) -> Vec<AdminPageDescription> {
    pages.iter().filter_map(described).collect()
}

fn described(page: &AdminPage) -> Option<AdminPageDescription> {
    let name = format!("{} {}", page.method, page.path);
    let (_, summary, parameters, content_type) =
        DESCRIPTIONS.iter().find(|(row, ..)| *row == name)?;
    Some(AdminPageDescription {
        method: page.method.clone(),
        path: page.path,
        summary,
        user: match &page.access {
            PageAccess::Public | PageAccess::Open(_) => AdminPageUser::Everyone,
            PageAccess::Read => AdminPageUser::Reader,
            PageAccess::Act(action) => AdminPageUser::Actor {
                needs_key: action.needs_key,
            },
        },
        parameters,
        content_type,
    })
}

const fn required(name: &'static str, description: &'static str) -> PageParameter {
    PageParameter {
        name,
        description,
        required: true,
    }
}

const fn optional(name: &'static str, description: &'static str) -> PageParameter {
    PageParameter {
        name,
        description,
        required: false,
    }
}
