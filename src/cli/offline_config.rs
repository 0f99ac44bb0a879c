//! The configuration of a command that works without a gateway, with the callers that such a command can know.

use crate::features::FEATURES;
use headgate_config::problem::InvalidConfig;
use headgate_config::reload::caller_folder::CallerFolder;
use headgate_config::snapshot::{self, CrossSnapshotState, Snapshot};
use std::path::Path;

/// Builds a configuration and reads its folder of callers. Callers of the state store stay unknown.
///
/// # Errors
/// The configuration is invalid.
pub fn build(file: &Path) -> Result<Snapshot, InvalidConfig> {
    let shared = CrossSnapshotState::new(FEATURES);
    let snapshot = snapshot::build(file, &shared)?.snapshot;
    let sources = snapshot.caller_sources.as_ref();
    let folder = sources.and_then(|sources| sources.folder.as_deref());
    CallerFolder::default().refresh(folder, &shared.directory);
    Ok(snapshot)
}

/// Why a caller that [`build`] does not know may be one of the gateway; `None` if it is none.
pub fn unknown_source(snapshot: &Snapshot, name: &str) -> Option<&'static str> {
    let sources = snapshot.caller_sources.as_ref();
    if name.contains(':') {
        Some("the caller is named by a token, which is not known here")
    } else if sources.is_some_and(|sources| sources.stored_max.is_some()) {
        Some("the caller may be one of the state store, which is not known here")
    } else {
        None
    }
}
