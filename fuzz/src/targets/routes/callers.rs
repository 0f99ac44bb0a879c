//! Callers beside `routes.yaml`: the files in the folder that it names, and records of a store.

use super::routes_folder::RoutesFolder;
use headgate_config::problem::Severity;
use headgate_config::reload::caller_folder::CallerFolder;
use headgate_config::snapshot::Snapshot;
use headgate_config::snapshot::directory::{
    CallerChange, CallerDirectory, CallerNameHolder, CallerProblem, CallerRecord, CallerSource,
    parse_caller,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Files of callers as the admin pages take them.
const STORED: &str = "stored";

/// Adds the callers of both sources and removes them: each is in use, or refused for a reason in a line of its file.
pub fn check_callers(folder: &RoutesFolder<'_>, snapshot: &Snapshot, directory: &CallerDirectory) {
    let sources = snapshot.caller_sources.as_ref();
    let path = sources.and_then(|sources| sources.folder.as_deref());
    let path = path.filter(|path| path.starts_with(folder.path()));
    let callers = CallerFolder::default();
    callers.refresh(path, directory);
    let stored: Vec<CallerChange> = folder.files_in(STORED).map(read_record).collect();
    directory.change(CallerSource::Store, stored.clone());
    check_refused(folder, directory);
    // The last record of a name counts.
    let records: BTreeMap<&str, &CallerChange> =
        stored.iter().map(|change| (name(change), change)).collect();
    for change in records.values() {
        check_record(change, directory);
    }
    let removals = records.keys().copied().map(String::from);
    let removals = removals.map(CallerChange::Remove).collect();
    directory.change(CallerSource::Store, removals);
    callers.refresh(None, directory);
    directory.replace(CallerSource::Folder, Vec::new());
    assert!(directory.refused().is_empty(), "{:?}", directory.refused());
    for name in records.keys() {
        let holder = directory.find_holder(name);
        let is_free = matches!(holder, None | Some(CallerNameHolder::RoutesFile));
        assert!(is_free, "{name}: {holder:?}");
    }
}

fn read_record((name, text): (&str, &str)) -> CallerChange {
    let place: Arc<str> = STORED.into();
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    match parse_caller(&value) {
        Ok(config) => CallerChange::Set(CallerRecord {
            config: Arc::new(config),
            place,
        }),
        Err(problems) => CallerChange::Unreadable {
            name: name.into(),
            place,
            problems,
            text: Some(text.into()),
        },
    }
}

fn name(change: &CallerChange) -> &str {
    match change {
        CallerChange::Set(record) => &record.config.name,
        CallerChange::Unreadable { name, .. } | CallerChange::Remove(name) => name,
    }
}

/// A caller that is in use would be accepted again.
fn check_record(change: &CallerChange, directory: &CallerDirectory) {
    let name = name(change);
    assert!(directory.find_holder(name).is_some(), "{name}");
    let refused = directory.refused();
    let is_refused = refused.iter().any(|refused| refused.name == name);
    if let CallerChange::Set(record) = change
        && !is_refused
    {
        let problems = directory.check(CallerSource::Store, &record.config);
        assert_eq!(errors(&problems).count(), 0, "{problems:?}");
    }
}

fn check_refused(folder: &RoutesFolder<'_>, directory: &CallerDirectory) {
    for refused in directory.refused() {
        assert!(errors(&refused.problems).count() > 0, "{refused:?}");
        assert!(!refused.first_error().is_empty());
        let texts = folder
            .files
            .iter()
            .map(|(_, text)| text.split('\n').count());
        let lines = texts.max().unwrap_or(0);
        for problem in &refused.problems {
            assert!(!problem.reason.is_empty(), "{refused:?}");
            let line = problem.position.map_or(0, |(line, _)| line as usize);
            assert!(line <= lines + 1, "{problem:?} of {lines} lines");
        }
    }
}

fn errors(problems: &[CallerProblem]) -> impl Iterator<Item = &CallerProblem> {
    let errors = problems.iter();
    errors.filter(|problem| problem.severity == Severity::Error)
}
