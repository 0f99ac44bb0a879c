//! The table of admin pages.

use super::page::{
    AdminAction, AdminPage, CSS, EVENTS, HTML, JSON, PLAIN, PageAccess, PageResponder, SCRIPT,
};
use super::refusal::TEXT;
use super::{
    callbacks_page, captures_page, channel_actions, channels_page, config_page, dashboard,
    findings, log_filter_page, login, metrics_page, openapi_page, overview, reload_page,
    requests_page, traffic_page,
};
use crate::openapi::AdminPageDescription;
use headgate_config::snapshot::admin::OpenAdminPage;
use headgate_core::serve::AppResponse;
use http::{HeaderValue, Method, StatusCode, header};

/// All pages. A new one is a new row.
pub(super) static PAGES: &[AdminPage] = &[
    AdminPage {
        method: Method::GET,
        path: "/metrics",
        summary: "Metrics in the Prometheus text format.",
        parameters: &[],
        content_type: PLAIN,
        access: PageAccess::Open(OpenAdminPage::Metrics),
        respond: PageResponder::Blocking(|app, _| metrics_page::page(app)),
    },
    AdminPage {
        method: Method::GET,
        path: "/healthz",
        summary: "200 while the process lives.",
        parameters: &[],
        content_type: PLAIN,
        access: PageAccess::Open(OpenAdminPage::Healthz),
        respond: PageResponder::Immediate(|_, _| AppResponse::full(StatusCode::OK, TEXT, "ok\n")),
    },
    AdminPage {
        method: Method::GET,
        path: "/readyz",
        summary: "200 while the gateway takes requests, 503 while it drains.",
        parameters: &[],
        content_type: PLAIN,
        access: PageAccess::Open(OpenAdminPage::Readyz),
        respond: PageResponder::Immediate(|app, _| app.readiness()),
    },
    AdminPage {
        method: Method::GET,
        path: "/config",
        summary: "The running configuration, without secrets.",
        parameters: &[],
        content_type: JSON,
        access: PageAccess::Read,
        respond: PageResponder::Blocking(|app, _| config_page::page(&app.reloader)),
    },
    AdminPage {
        method: Method::GET,
        path: "/openapi.json",
        summary: "This document, for the configuration in use.",
        parameters: &[],
        content_type: JSON,
        access: PageAccess::Read,
        respond: PageResponder::Blocking(|app, _| openapi_page::page(app, PAGES)),
    },
    AdminPage {
        method: Method::GET,
        path: "/channels",
        summary: "Health of channels, models and credentials.",
        parameters: &[],
        content_type: JSON,
        access: PageAccess::Read,
        respond: PageResponder::Blocking(|app, _| channels_page::page(app)),
    },
    AdminPage {
        method: Method::GET,
        path: "/callbacks",
        summary: "Deliveries that wait, and those that failed for good.",
        parameters: callbacks_page::PAGE_PARAMETERS,
        content_type: JSON,
        access: PageAccess::Read,
        respond: PageResponder::Asynchronous(|app, request| {
            Box::pin(callbacks_page::page(&app.reloader, request.query()))
        }),
    },
    AdminPage {
        method: Method::GET,
        path: "/",
        summary: "The dashboard.",
        parameters: &[],
        content_type: HTML,
        access: PageAccess::Public,
        respond: PageResponder::Immediate(|_, _| dashboard::page()),
    },
    AdminPage {
        method: Method::GET,
        path: "/dashboard.css",
        summary: "Style of the dashboard.",
        parameters: &[],
        content_type: CSS,
        access: PageAccess::Public,
        respond: PageResponder::Immediate(|_, _| dashboard::style()),
    },
    AdminPage {
        method: Method::GET,
        path: "/charts.js",
        summary: "Script of the dashboard.",
        parameters: &[],
        content_type: SCRIPT,
        access: PageAccess::Public,
        respond: PageResponder::Immediate(|_, _| dashboard::charts()),
    },
    AdminPage {
        method: Method::GET,
        path: "/elements.js",
        summary: "Script of the dashboard.",
        parameters: &[],
        content_type: SCRIPT,
        access: PageAccess::Public,
        respond: PageResponder::Immediate(|_, _| dashboard::elements()),
    },
    AdminPage {
        method: Method::GET,
        path: "/dashboard.js",
        summary: "Script of the dashboard.",
        parameters: &[],
        content_type: SCRIPT,
        access: PageAccess::Public,
        respond: PageResponder::Immediate(|_, _| dashboard::script()),
    },
    AdminPage {
        method: Method::GET,
        path: "/overview",
        summary: "What the gateway does now.",
        parameters: &[],
        content_type: JSON,
        access: PageAccess::Read,
        respond: PageResponder::Blocking(|app, _| overview::page(app)),
    },
    AdminPage {
        method: Method::GET,
        path: "/events",
        summary: "The overview, each second.",
        parameters: &[],
        content_type: EVENTS,
        access: PageAccess::Read,
        respond: PageResponder::Immediate(|app, _| dashboard::events(app)),
    },
    AdminPage {
        method: Method::GET,
        path: "/findings",
        summary: "What is wrong, and what to do.",
        parameters: &[],
        content_type: JSON,
        access: PageAccess::Read,
        respond: PageResponder::Blocking(|app, _| findings::page(app)),
    },
    AdminPage {
        method: Method::GET,
        path: "/traffic",
        summary: "Traffic of the last hours by interval.",
        parameters: traffic_page::PARAMETERS,
        content_type: JSON,
        access: PageAccess::Read,
        respond: PageResponder::Blocking(traffic_page::page),
    },
    AdminPage {
        method: Method::GET,
        path: "/requests",
        summary: "The last requests.",
        parameters: requests_page::PARAMETERS,
        content_type: JSON,
        access: PageAccess::Read,
        respond: PageResponder::Blocking(requests_page::page),
    },
    AdminPage {
        method: Method::GET,
        path: "/log-filter",
        summary: "The filter of the process log.",
        parameters: &[],
        content_type: JSON,
        access: PageAccess::Read,
        respond: PageResponder::Blocking(|app, _| log_filter_page::page(app)),
    },
    AdminPage {
        method: Method::POST,
        path: "/log-filter",
        summary: "Changes the filter of the process log.",
        parameters: log_filter_page::PARAMETERS,
        content_type: JSON,
        access: PageAccess::Act(AdminAction {
            name: "set_log_filter",
            subject: Some("filter"),
            needs_key: true,
        }),
        respond: PageResponder::Blocking(log_filter_page::set),
    },
    AdminPage {
        method: Method::GET,
        path: "/captures",
        summary: "The captures, without their contents.",
        parameters: &[],
        content_type: JSON,
        access: PageAccess::Read,
        respond: PageResponder::Blocking(|app, _| captures_page::list(app)),
    },
    AdminPage {
        method: Method::POST,
        path: "/captures",
        summary: "Records exchanges of one caller.",
        parameters: captures_page::START_PARAMETERS,
        content_type: JSON,
        access: PageAccess::Act(AdminAction {
            name: "start_capture",
            subject: Some("caller"),
            needs_key: true,
        }),
        respond: PageResponder::Blocking(captures_page::start),
    },
    AdminPage {
        method: Method::GET,
        path: "/captures/content",
        summary: "What a capture recorded.",
        parameters: captures_page::ID_PARAMETER,
        content_type: JSON,
        access: PageAccess::Act(AdminAction {
            name: "read_capture",
            subject: Some("id"),
            needs_key: true,
        }),
        respond: PageResponder::Blocking(captures_page::content),
    },
    AdminPage {
        method: Method::POST,
        path: "/captures/remove",
        summary: "Removes a capture.",
        parameters: captures_page::ID_PARAMETER,
        content_type: JSON,
        access: PageAccess::Act(AdminAction {
            name: "remove_capture",
            subject: Some("id"),
            needs_key: true,
        }),
        respond: PageResponder::Blocking(captures_page::remove),
    },
    AdminPage {
        method: Method::GET,
        path: "/session",
        summary: "Whether the browser has a session.",
        parameters: &[],
        content_type: JSON,
        access: PageAccess::Public,
        respond: PageResponder::Blocking(login::session),
    },
    AdminPage {
        method: Method::POST,
        path: "/login",
        summary: "Opens a session for the key in the body.",
        parameters: &[],
        content_type: JSON,
        access: PageAccess::Public,
        respond: PageResponder::Blocking(login::log_in),
    },
    AdminPage {
        method: Method::POST,
        path: "/logout",
        summary: "Ends the session.",
        parameters: &[],
        content_type: JSON,
        access: PageAccess::Public,
        respond: PageResponder::Blocking(login::log_out),
    },
    AdminPage {
        method: Method::POST,
        path: "/reload",
        summary: "Reloads the configuration; 422 with the report if it is invalid.",
        parameters: &[],
        content_type: JSON,
        access: PageAccess::Act(AdminAction {
            name: "reload",
            subject: None,
            needs_key: false,
        }),
        respond: PageResponder::Blocking(|app, _| reload_page::reload(&app.reloader)),
    },
    AdminPage {
        method: Method::POST,
        path: "/callbacks/redrive",
        summary: "Delivers again what failed for good: one event, or a page of them.",
        parameters: callbacks_page::REDRIVE_PARAMETERS,
        content_type: JSON,
        access: PageAccess::Act(AdminAction {
            name: "redrive_callbacks",
            subject: Some("id"),
            needs_key: true,
        }),
        respond: PageResponder::Asynchronous(|app, request| {
            Box::pin(callbacks_page::redrive(&app.reloader, request.query()))
        }),
    },
    AdminPage {
        method: Method::POST,
        path: "/channels/drain",
        summary: "Sends no new requests to a channel.",
        parameters: channel_actions::PARAMETERS,
        content_type: JSON,
        access: PageAccess::Act(AdminAction::on_channel("drain_channel")),
        respond: PageResponder::Blocking(channel_actions::drain),
    },
    AdminPage {
        method: Method::POST,
        path: "/channels/undrain",
        summary: "Ends the drain of a channel.",
        parameters: channel_actions::PARAMETERS,
        content_type: JSON,
        access: PageAccess::Act(AdminAction::on_channel("undrain_channel")),
        respond: PageResponder::Blocking(channel_actions::undrain),
    },
    AdminPage {
        method: Method::POST,
        path: "/channels/reset",
        summary: "Forgets the failures of a channel.",
        parameters: channel_actions::PARAMETERS,
        content_type: JSON,
        access: PageAccess::Act(AdminAction::on_channel("reset_channel")),
        respond: PageResponder::Blocking(channel_actions::reset),
    },
];

/// The descriptions of all pages, for the document of the HTTP API.
pub fn page_descriptions() -> Vec<AdminPageDescription> {
    PAGES.iter().map(AdminPage::description).collect()
}

/// The page for a method and path.
///
/// # Errors
/// The response if there is none: 404 with the paths, or 405 with the methods of the path.
pub(super) fn page_for(
    method: &Method,
    path: &str,
) -> Result<&'static AdminPage, Box<AppResponse>> {
    let of_path = || PAGES.iter().filter(|page| page.path == path);
    if let Some(page) = of_path().find(|page| page.method == *method) {
        return Ok(page);
    }
    let methods: Vec<&str> = of_path().map(|page| page.method.as_str()).collect();
    if methods.is_empty() {
        let pages = PAGES
            .iter()
            .map(|page| format!("{} {}", page.method, page.path));
        let pages = pages.collect::<Vec<_>>().join(", ");
        let text = format!("unknown path; the admin pages are {pages}\n");
        return Err(Box::new(AppResponse::full(
            StatusCode::NOT_FOUND,
            TEXT,
            text,
        )));
    }
    let methods = methods.join(", ");
    let text = format!("method not allowed; use {methods}\n");
    let response = AppResponse::full(StatusCode::METHOD_NOT_ALLOWED, TEXT, text);
    Err(Box::new(match HeaderValue::from_str(&methods) {
        Ok(methods) => response.with_header(header::ALLOW, methods),
        Err(_) => response,
    }))
}
