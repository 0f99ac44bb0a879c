//! What differs between the files that two configurations name by the same paths: schemas, certificates, plugins.

use super::ConfigSide;
use super::change::{SettingChange, SettingGroup};
use crate::cli::value_changes::value_changes;
use headgate_config::snapshot::schema_cache::{SCHEMA_BYTES_MAX, built_in};
use headgate_core::regular_file;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Largest file besides a schema: a module of a plugin.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Changes of one schema that are printed.
const SCHEMA_CHANGES_MAX: usize = 12;

/// The files of both configurations whose contents differ.
pub fn compare(old: &ConfigSide, new: &ConfigSide) -> Vec<SettingChange> {
    let others = relative_files(new);
    let files = relative_files(old);
    let mut changes = Vec::new();
    for path in files.intersection(&others) {
        match path.ends_with(".json") {
            true => compare_schema(path, old, new, &mut changes),
            false => compare_bytes(path, old, new, &mut changes),
        }
    }
    changes
}

/// The paths of the files besides secrets, relative to the folder of the configuration.
fn relative_files(side: &ConfigSide) -> BTreeSet<String> {
    let files = side.snapshot.files.iter();
    let files = files.filter(|file| !side.config.secret_files.contains(file));
    let relative = files.map(|file| file.strip_prefix(&side.folder).unwrap_or(file));
    relative
        .map(|file| file.to_string_lossy().into_owned())
        .collect()
}

fn compare_schema(
    path: &str,
    old: &ConfigSide,
    new: &ConfigSide,
    changes: &mut Vec<SettingChange>,
) {
    let text = |side: &ConfigSide| {
        let own = regular_file::read_text(&side.folder.join(path), SCHEMA_BYTES_MAX).ok();
        own.or_else(|| built_in(Path::new(path)).map(str::to_owned))
    };
    let (old, new) = (text(old), text(new));
    if old == new {
        return;
    }
    let value = |text: Option<String>| -> Value {
        let parsed = text.and_then(|text| serde_json::from_str(&text).ok());
        parsed.unwrap_or_default()
    };
    let found = value_changes(&value(old), &value(new));
    let mut add = |text: String| {
        changes.push(SettingChange {
            group: SettingGroup::Schemas,
            text,
        });
    };
    for change in found.iter().take(SCHEMA_CHANGES_MAX) {
        add(format!("{path}: {}: {}", change.path, change.text));
    }
    let more = found.len().saturating_sub(SCHEMA_CHANGES_MAX);
    if more > 0 {
        add(format!("{path}: {more} further changes"));
    }
}

fn compare_bytes(path: &str, old: &ConfigSide, new: &ConfigSide, changes: &mut Vec<SettingChange>) {
    let bytes =
        |side: &ConfigSide| regular_file::read(&side.folder.join(path), FILE_BYTES_MAX).ok();
    if bytes(old) != bytes(new) {
        changes.push(SettingChange {
            group: SettingGroup::Other,
            text: format!("file {path}: content changed"),
        });
    }
}
