//! `POST /reload`: reads the configuration again.

use super::refusal::TEXT;
use headgate_config::reload::{ReloadOutcome, SnapshotReloader};
use headgate_core::serve::AppResponse;
use http::StatusCode;
use serde_json::json;

/// Reloads, and responds with the outcome.
pub(super) fn reload(reloader: &SnapshotReloader) -> AppResponse {
    match reloader.reload() {
        ReloadOutcome::Unchanged { needing_restart } => {
            let revision = reloader.current().revision.clone();
            reloaded("unchanged", &revision, &needing_restart)
        }
        ReloadOutcome::Swapped {
            revision,
            needing_restart,
        } => reloaded("loaded", &revision, &needing_restart),
        ReloadOutcome::Refused(refusal) => {
            let report = refusal.report + "\n";
            AppResponse::full(StatusCode::UNPROCESSABLE_ENTITY, TEXT, report)
        }
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
