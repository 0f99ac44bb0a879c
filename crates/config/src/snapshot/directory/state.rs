//! Which callers of all sources are in use: names and keys that two of them have, and states that are refused.

use super::build::{ExternalCallerContext, SharedCallerParts};
use super::has_errors;
use super::record::{
    CallerChange, CallerNameHolder, CallerProblems, CallerRecord, CallerSource, RefusedCaller,
};
use super::remaining_keys::{present_keys, remaining};
use crate::caller_file::locate;
use crate::caller_problem::CallerProblem;
use crate::callers::CallerConfig;
use crate::snapshot::caller_keys::{describe_duplicate, key_digests};
use headgate_core::catalog::caller::KeyDigest;
use headgate_core::catalog::caller::external_callers::ExternalCaller;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// Refused callers that one change logs.
const LOGGED_MAX: usize = 10;

/// Refused callers of files whose problems have their lines.
const LOCATED_MAX: usize = 100;

/// A caller of a source by its name.
type SourceKey = (CallerSource, String);

/// All callers as their sources have them, and those in use.
#[derive(Default)]
pub(super) struct DirectoryState {
    records: BTreeMap<SourceKey, CallerRecord>,
    /// What of callers cannot be read. They may have an earlier record.
    unreadable: BTreeMap<SourceKey, (Arc<str>, Vec<CallerProblem>)>,
    refused: BTreeMap<SourceKey, RefusedCaller>,
    used: HashMap<Arc<str>, UsedCaller>,
    /// Who has each key that is in use.
    owners: HashMap<KeyDigest, Arc<str>>,
    shared: SharedCallerParts,
    context: Option<ExternalCallerContext>,
}

/// A caller in use, as it was accepted.
#[derive(Clone)]
struct UsedCaller {
    source: CallerSource,
    config: Arc<CallerConfig>,
}

/// Changes that are not yet seen by requests.
#[derive(Default)]
struct PendingChanges {
    edits: Vec<(Arc<str>, Option<Arc<ExternalCaller>>)>,
    /// Callers whose key went to one of an earlier source.
    evicted: Vec<String>,
    /// Whether a name or a key became free.
    has_released: bool,
}

const SOURCES: [CallerSource; 2] = [CallerSource::Folder, CallerSource::Store];

impl DirectoryState {
    pub fn change(&mut self, source: CallerSource, changes: Vec<CallerChange>) {
        let names = changes.into_iter().map(|change| self.note(source, change));
        let names: Vec<String> = names.collect();
        let known = self.refused.clone();
        self.decide(names);
        self.log_refused(&known);
    }

    /// The names of a source that none of these changes has.
    pub fn names_besides(&self, source: CallerSource, changes: &[CallerChange]) -> Vec<String> {
        let named: HashSet<&str> = changes.iter().map(CallerChange::name).collect();
        let records = self.records.keys().chain(self.unreadable.keys());
        let gone = records.filter(|(of, name)| *of == source && !named.contains(name.as_str()));
        gone.map(|(_, name)| name.clone()).collect()
    }

    pub fn check(&mut self, source: CallerSource, config: &CallerConfig) -> Vec<CallerProblem> {
        let holder = self.find_holder(&config.name);
        let is_taken = match &holder {
            Some(CallerNameHolder::RoutesFile) => true,
            Some(CallerNameHolder::Source(of, _)) => *of < source,
            None => false,
        };
        if let Some(holder) = holder.filter(|_| is_taken) {
            return vec![name_taken(&holder)];
        }
        let Some(context) = self.context.take() else {
            return Vec::new();
        };
        let mut problems = CallerProblems::default();
        // Names in metrics are only for callers that are accepted.
        let mut shared = SharedCallerParts::default();
        let built = context.build((source, config), &mut shared, &mut problems);
        context.check_models(config, &mut problems);
        self.context = Some(context);
        self.check_owners(source, config, &built, &mut problems);
        problems.found
    }

    pub fn find_holder(&self, name: &str) -> Option<CallerNameHolder> {
        let context = self.context.as_ref();
        if context.is_some_and(|context| context.callers.find_declared(name).is_some()) {
            return Some(CallerNameHolder::RoutesFile);
        }
        SOURCES.into_iter().find_map(|source| {
            let key = (source, name.to_owned());
            let place = self.records.get(&key).map(|record| &record.place);
            let place = place.or_else(|| Some(&self.unreadable.get(&key)?.0))?;
            Some(CallerNameHolder::Source(source, place.clone()))
        })
    }

    pub fn refused(&self) -> Vec<RefusedCaller> {
        self.refused.values().cloned().collect()
    }

    pub fn adopt(&mut self, context: ExternalCallerContext) {
        self.context = Some(context);
        self.owners.clear();
        let known = std::mem::take(&mut self.refused);
        let names: Vec<String> = self.names();
        // What was in use stays known until its name is decided, for callers of which only an earlier state is valid.
        self.decide(names);
        self.log_refused(&known);
    }

    /// All names, those of earlier sources first.
    fn names(&self) -> Vec<String> {
        let all = self.records.keys().chain(self.unreadable.keys());
        let mut seen = HashSet::new();
        let names = all.filter(|(_, name)| seen.insert(name.as_str()));
        names.map(|(_, name)| name.clone()).collect()
    }

    fn note(&mut self, source: CallerSource, change: CallerChange) -> String {
        let name = change.name().to_owned();
        let key = (source, name.clone());
        match change {
            CallerChange::Set(record) => {
                self.unreadable.remove(&key);
                self.records.insert(key, record);
            }
            CallerChange::Unreadable {
                place,
                problems,
                text,
                ..
            } => {
                if let Some(text) = text
                    && let Some(record) = self.records.remove(&key)
                    && let Some(config) = present_keys(&record.config, &text)
                {
                    let record = CallerRecord { config, ..record };
                    self.records.insert(key.clone(), record);
                }
                self.unreadable.insert(key, (place, problems));
            }
            CallerChange::Remove(_) => {
                self.unreadable.remove(&key);
                self.records.remove(&key);
            }
        }
        name
    }

    /// Decides which callers of these names are in use, and shows that to requests.
    fn decide(&mut self, mut names: Vec<String>) {
        let Some(context) = self.context.take() else {
            return;
        };
        let mut pending = PendingChanges::default();
        // Again, because a caller may wait for what another one of the same change releases.
        for _ in 0..3 {
            for name in std::mem::take(&mut names) {
                self.decide_name(&name, &context, &mut pending);
            }
            names = std::mem::take(&mut pending.evicted);
            if std::mem::take(&mut pending.has_released) {
                names.extend(self.refused.keys().map(|(_, name)| name.clone()));
            }
            if names.is_empty() {
                break;
            }
        }
        context.callers.external().change(pending.edits);
        self.context = Some(context);
    }

    fn decide_name(
        &mut self,
        name: &str,
        context: &ExternalCallerContext,
        pending: &mut PendingChanges,
    ) {
        let before = self.release(name);
        let mut holder = context
            .callers
            .find_declared(name)
            .map(|_| CallerNameHolder::RoutesFile);
        let mut accepted = None;
        for source in SOURCES {
            let key = (source, name.to_owned());
            self.refused.remove(&key);
            let record = self.records.get(&key).cloned();
            let unreadable = self.unreadable.get(&key).cloned();
            let place = record.as_ref().map(|record| record.place.clone());
            let Some(place) = place.or_else(|| Some(unreadable.as_ref()?.0.clone())) else {
                continue;
            };
            let last = before.as_ref().filter(|last| last.source == source);
            let (mut problems, built) = match (&holder, record) {
                (Some(holder), _) => (vec![name_taken(holder)], None),
                (None, Some(record)) => self.build(source, &record, last, context, pending),
                (None, None) => (Vec::new(), None),
            };
            if let (Some((_, reasons)), true) = (unreadable, holder.is_none()) {
                problems = reasons;
            }
            holder.get_or_insert(CallerNameHolder::Source(source, place.clone()));
            if has_errors(&problems) {
                if source == CallerSource::Folder && self.refused.len() < LOCATED_MAX {
                    locate(Path::new(&*place), &mut problems);
                }
                let refused = RefusedCaller {
                    source,
                    name: name.to_owned(),
                    place,
                    problems,
                    is_partly_used: built.is_some(),
                };
                self.refused.insert(key, refused);
            }
            accepted = accepted.or(built);
        }
        pending.has_released |= before.is_some();
        match accepted {
            Some((used, caller)) => self.adopt_caller(used, caller, pending),
            None => pending.edits.push((name.into(), None)),
        }
    }

    /// Builds a caller, or what of its last accepted state its new one still has.
    fn build(
        &mut self,
        source: CallerSource,
        record: &CallerRecord,
        last: Option<&UsedCaller>,
        context: &ExternalCallerContext,
        pending: &mut PendingChanges,
    ) -> (Vec<CallerProblem>, Option<(UsedCaller, ExternalCaller)>) {
        let mut first = None;
        let rest = last.and_then(|last| remaining(&last.config, &record.config));
        for config in [Some(record.config.clone()), rest].into_iter().flatten() {
            let mut problems = CallerProblems::default();
            let built = context.build((source, &config), &mut self.shared, &mut problems);
            let evicted = self.check_owners(source, &config, &built, &mut problems);
            let is_valid = !has_errors(&problems.found);
            let problems = first.get_or_insert(problems.found);
            if is_valid {
                for name in evicted {
                    self.release(&name);
                    pending.edits.push((name.clone(), None));
                    pending.evicted.push(name.to_string());
                }
                let used = UsedCaller { source, config };
                return (std::mem::take(problems), Some((used, built)));
            }
        }
        (first.unwrap_or_default(), None)
    }

    /// Reports keys of other callers. Returns the callers of later sources that have one.
    fn check_owners(
        &self,
        source: CallerSource,
        config: &CallerConfig,
        built: &ExternalCaller,
        problems: &mut CallerProblems,
    ) -> Vec<Arc<str>> {
        let mut evicted = Vec::new();
        let keys = key_digests(config);
        let keys = keys.filter_map(|(at, digest)| Some((at, digest?)));
        for (at, digest) in keys {
            let Some(owner) = self.owners.get(&digest) else {
                continue;
            };
            if **owner == *built.caller.name {
                continue;
            }
            let used = self.used.get(owner);
            if used.is_some_and(|used| used.source > source) {
                evicted.push(owner.clone());
            } else {
                let reason = format!("{}: `{owner}`", describe_duplicate(false));
                let hint = "a key belongs to one caller; `headgate key new` makes another one";
                problems
                    .found
                    .push(CallerProblem::error(&at, reason, Some(hint)));
            }
        }
        evicted
    }

    fn adopt_caller(
        &mut self,
        used: UsedCaller,
        caller: ExternalCaller,
        pending: &mut PendingChanges,
    ) {
        let name = caller.caller.name.clone();
        for (digest, _) in &caller.keys {
            self.owners.insert(*digest, name.clone());
        }
        self.used.insert(name.clone(), used);
        pending.edits.push((name, Some(Arc::new(caller))));
    }

    /// Takes a caller out of use, with its keys.
    fn release(&mut self, name: &str) -> Option<UsedCaller> {
        let (name, used) = self.used.remove_entry(name)?;
        for (_, digest) in key_digests(&used.config) {
            let owned = digest.filter(|digest| self.owners.get(digest) == Some(&name));
            if let Some(digest) = owned {
                self.owners.remove(&digest);
            }
        }
        Some(used)
    }

    /// Logs callers that were not refused before, or for other reasons.
    fn log_refused(&self, known: &BTreeMap<SourceKey, RefusedCaller>) {
        let new = self.refused.iter();
        let new = new.filter(|(key, refused)| known.get(key) != Some(refused));
        let new: Vec<&RefusedCaller> = new.map(|(_, refused)| refused).collect();
        for refused in new.iter().take(LOGGED_MAX) {
            let hint = refused.hint().unwrap_or("correct it");
            tracing::warn!(
                caller = %refused.name,
                keeps_earlier_state = refused.is_partly_used,
                "caller refused: {}; {hint}",
                refused.first_error(),
            );
        }
        if new.len() > LOGGED_MAX {
            let count = new.len() - LOGGED_MAX;
            tracing::warn!(count, "more callers refused; see the findings");
        }
    }
}

impl CallerChange {
    fn name(&self) -> &str {
        match self {
            Self::Set(record) => &record.config.name,
            Self::Unreadable { name, .. } | Self::Remove(name) => name,
        }
    }
}

fn name_taken(holder: &CallerNameHolder) -> CallerProblem {
    let reason = format!("the name is that of a caller in {holder}");
    CallerProblem::error(
        "/name",
        reason,
        Some("choose another name, or remove one of the two"),
    )
}
