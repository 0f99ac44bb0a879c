//! `/openapi.json`: the HTTP API of the configuration in use.

use super::AdminApp;
use crate::openapi::{self, ApiServers};
use headgate_config::reload::running::ListenerSummary;
use headgate_core::serve::AppResponse;
use http::StatusCode;

/// The document, with the addresses that the process listens on.
pub(super) fn page(app: &AdminApp) -> AppResponse {
    let snapshot = app.reloader.current();
    let running = app.reloader.running().settings();
    let pages = app.pages.descriptions();
    let document = openapi::document(&snapshot, &servers(&running), &pages);
    AppResponse::json(StatusCode::OK, &document)
}

/// The base URLs of a gateway with these listeners.
pub fn servers(listeners: &ListenerSummary) -> ApiServers {
    ApiServers::from_listeners(
        (&listeners.listen, listeners.tls),
        (&listeners.admin, listeners.admin_tls),
    )
}
