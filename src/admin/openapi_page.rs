//! `/openapi.json`: the HTTP API of the configuration in use.

use super::AdminApp;
use super::page::AdminPage;
use super::refusal::internal_error;
use crate::openapi::{self, ApiServers};
use crate::reload::running::ListenerSummary;
use crate::serve::AppResponse;
use http::StatusCode;

/// The document, with the addresses that the process listens on. Built on a blocking thread, because it is large.
pub(super) async fn page(app: &AdminApp, pages: &'static [AdminPage]) -> AppResponse {
    let reloader = app.reloader.clone();
    let document = tokio::task::spawn_blocking(move || {
        let snapshot = reloader.current();
        let running = reloader.with_running(|running| running.settings());
        let pages: Vec<_> = pages.iter().map(AdminPage::description).collect();
        openapi::document(&snapshot, &servers(&running), &pages)
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
