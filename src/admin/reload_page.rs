//! `POST /reload`: reads the configuration again.

use super::refusal::{TEXT, internal_error};
use crate::reload::{ReloadOutcome, Reloader};
use crate::serve::AppResponse;
use http::StatusCode;
use serde_json::json;
use std::sync::Arc;

/// Reloads on a blocking thread, and responds with the outcome.
pub(super) async fn reload(reloader: &Arc<Reloader>) -> AppResponse {
    let reloading = reloader.clone();
    match tokio::task::spawn_blocking(move || reloading.reload()).await {
        Ok(ReloadOutcome::Unchanged { needing_restart }) => {
            let revision = reloader.current().revision.clone();
            reloaded("unchanged", &revision, &needing_restart)
        }
        Ok(ReloadOutcome::Swapped {
            revision,
            needing_restart,
        }) => reloaded("loaded", &revision, &needing_restart),
        Ok(ReloadOutcome::Refused(refusal)) => {
            let report = refusal.report + "\n";
            AppResponse::full(StatusCode::UNPROCESSABLE_ENTITY, TEXT, report)
        }
        Err(error) => internal_error(&error),
    }
}

/// `settings` are those that differ from the running process and need a restart.
fn reloaded(result: &str, revision: &str, settings: &[&str]) -> AppResponse {
    AppResponse::json(
        StatusCode::OK,
        &json!({
            "result": result,
            "revision": revision,
            "needs_restart": !settings.is_empty(),
            "settings_needing_restart": settings,
        }),
    )
}
