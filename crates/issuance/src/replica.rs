//! What one gateway knows of the callers of the state store: which version of each it uses, and which records it refuses.

use crate::change_log::{LogPosition, LoggedChange};
use crate::issued_caller::IssuedCaller;
use headgate_config::directory::{CallerChange, CallerRecord, parse_caller};
use headgate_core::task::TaskSettings;
use headgate_core::task::id::TaskIdKeyRing;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where callers of the state store stand, for messages.
pub(crate) const PLACE: &str = "the state store";
/// How long the record that an entry of the log announces is looked for. Longer than an operation of the store may take.
const AWAITED: Duration = Duration::from_secs(30);
/// The maximum number of refused records that are remembered.
const REFUSED_MAX: usize = 1_000;

/// Callers of the state store in one gateway.
#[derive(Default)]
pub(crate) struct CallerReplica {
    known: HashMap<String, KnownCaller>,
    refused: BTreeMap<String, RecordRefusal>,
    awaited: BTreeMap<String, AwaitedChange>,
    pub position: LogPosition,
    /// The keys that all records were read with; `None` before the first time.
    pub read_with: Option<Arc<TaskSettings>>,
}

/// The newest version of a record that was seen.
struct KnownCaller {
    version: u64,
    identity: String,
    predecessors: u32,
    /// Whether the gateway uses the caller.
    is_used: bool,
}

/// A record that is not there yet.
struct AwaitedChange {
    version: u64,
    until: Instant,
}

/// Why a record is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordRefusal {
    /// No gateway with these keys has written it under its name.
    Unreadable,
    /// A newer version was seen before.
    Older { version: u64, newest: u64 },
    /// It is none that this version of the gateway understands.
    Invalid(String),
}

impl CallerReplica {
    /// The number that all versions so far are at most.
    pub fn newest_version(&self) -> u64 {
        let versions = self.known.values().map(|known| known.version);
        versions.max().unwrap_or(0)
    }

    /// Whether a newer version of the record was seen.
    pub fn is_outdated(&self, caller: &IssuedCaller) -> bool {
        let known = self.known.get(&caller.name);
        known.is_some_and(|known| caller.version < known.version)
    }

    /// How many callers had the name, as far as the record that the store has shows, and those that were seen.
    pub fn predecessors(&self, name: &str, stored: Option<&IssuedCaller>) -> u32 {
        let stored = stored.map(|stored| stored.predecessors);
        let known = self.known.get(name).map(|known| known.predecessors);
        stored.max(known).map_or(0, |last| last.saturating_add(1))
    }

    /// The number of callers in use.
    pub fn used(&self) -> usize {
        self.known.values().filter(|known| known.is_used).count()
    }

    pub fn refused(&self) -> impl Iterator<Item = (&String, &RecordRefusal)> {
        self.refused.iter()
    }

    /// Takes changes that the log announces.
    pub fn expect(&mut self, changes: Vec<LoggedChange>, now: Instant) {
        for change in changes {
            let awaited = AwaitedChange {
                version: change.number,
                until: now + AWAITED,
            };
            self.awaited.insert(change.name, awaited);
        }
    }

    /// The names whose records are to be read.
    pub fn awaited(&self) -> Vec<String> {
        self.awaited.keys().cloned().collect()
    }

    /// Forgets announced changes that have arrived, or that nobody made.
    pub fn drop_arrived(&mut self, now: Instant) {
        let known = &self.known;
        self.awaited.retain(|name, awaited| {
            let version = known.get(name).map_or(0, |known| known.version);
            version < awaited.version && now < awaited.until
        });
    }

    /// The names that are in use and not among `present`.
    pub fn missing(&self, present: &HashMap<String, ()>) -> Vec<String> {
        let used = self.known.iter().filter(|(_, known)| known.is_used);
        let missing = used.filter(|(name, _)| !present.contains_key(*name));
        missing.map(|(name, _)| name.clone()).collect()
    }

    /// Takes what the store has under a name. Adds what changes for requests to `changes`.
    pub fn take(
        &mut self,
        keys: &TaskIdKeyRing,
        name: &str,
        sealed: Option<&[u8]>,
        changes: &mut Vec<CallerChange>,
    ) {
        let opened = sealed.map(|sealed| IssuedCaller::open(keys, name, sealed));
        match opened {
            None => {
                self.refused.remove(name);
                self.stop_using(name, changes);
            }
            Some(None) => {
                self.refuse(name, RecordRefusal::Unreadable);
                self.stop_using(name, changes);
            }
            Some(Some(caller)) => self.take_opened(&caller, changes),
        }
    }

    /// Takes a record that this gateway has opened, or written.
    pub fn take_opened(&mut self, caller: &IssuedCaller, changes: &mut Vec<CallerChange>) {
        let name = &caller.name;
        if let Some(known) = self.known.get(name) {
            if caller.version < known.version {
                let refusal = RecordRefusal::Older {
                    version: caller.version,
                    newest: known.version,
                };
                return self.refuse(name, refusal);
            }
            if caller.version == known.version && known.is_used != caller.is_deleted() {
                self.refused.remove(name);
                return;
            }
        }
        let config = caller.config_value().map(|value| parse_caller(&value));
        let config = match config {
            None => None,
            Some(Ok(config)) => Some(config),
            Some(Err(problems)) => {
                let reason = problems.first().map(|problem| problem.reason.clone());
                self.refuse(name, RecordRefusal::Invalid(reason.unwrap_or_default()));
                self.set_known(caller, false, changes);
                return;
            }
        };
        self.refused.remove(name);
        self.set_known(caller, config.is_some(), changes);
        if let Some(config) = config {
            changes.push(CallerChange::Set(CallerRecord {
                config: Arc::new(config),
                place: PLACE.into(),
            }));
        }
    }

    fn set_known(&mut self, caller: &IssuedCaller, is_used: bool, changes: &mut Vec<CallerChange>) {
        let identity = caller.identity();
        let known = KnownCaller {
            version: caller.version,
            identity: identity.clone(),
            predecessors: caller.predecessors,
            is_used,
        };
        let before = self.known.insert(caller.name.clone(), known);
        let before = before.filter(|before| before.is_used);
        // A caller that is replaced by itself is never absent in between.
        if let Some(before) = before
            && (!is_used || before.identity != identity)
        {
            changes.push(CallerChange::Remove(before.identity));
        }
    }

    fn stop_using(&mut self, name: &str, changes: &mut Vec<CallerChange>) {
        if let Some(known) = self.known.get_mut(name)
            && std::mem::take(&mut known.is_used)
        {
            changes.push(CallerChange::Remove(known.identity.clone()));
        }
    }

    fn refuse(&mut self, name: &str, refusal: RecordRefusal) {
        if self.refused.get(name) == Some(&refusal) {
            return;
        }
        tracing::warn!(caller = name, reason = %refusal, "record of a caller refused");
        if self.refused.len() < REFUSED_MAX || self.refused.contains_key(name) {
            self.refused.insert(name.to_owned(), refusal);
        }
    }
}

/// For a sentence that begins with the record.
impl fmt::Display for RecordRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => f.write_str(
                "was not written by a gateway with these `task_keys`, or was moved or altered",
            ),
            Self::Older { version, newest } => write!(
                f,
                "has version {version}, and version {newest} was seen before"
            ),
            Self::Invalid(reason) => write!(f, "is not a valid caller: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issued_caller::tests::{caller, ring};
    use serde_json::json;

    fn live(name: &str, version: u64) -> IssuedCaller {
        let entry = json!({"models": ["*"], "key_sha256": "0".repeat(64)});
        IssuedCaller {
            entry: entry.as_object().cloned(),
            ..caller(name, version)
        }
    }

    fn deleted(name: &str, version: u64) -> IssuedCaller {
        IssuedCaller {
            entry: None,
            ..caller(name, version)
        }
    }

    fn again(version: u64) -> IssuedCaller {
        IssuedCaller {
            predecessors: 1,
            ..live("ann", version)
        }
    }

    /// Such as `+ann -ann`.
    fn text(changes: &[CallerChange]) -> String {
        let texts = changes.iter().map(|change| match change {
            CallerChange::Set(record) => format!("+{}", record.config.name),
            CallerChange::Remove(name) => format!("-{name}"),
            CallerChange::Unreadable { name, .. } => panic!("{name}"),
        });
        texts.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_record_is_used_until_it_is_deleted_replaced_or_unreadable() {
        let keys = ring(&["a"]);
        let sealed = |caller: IssuedCaller| Some(caller.seal(&keys));
        let forged = live("ann", 99).seal(&ring(&["b"]));
        let moved = live("bob", 99).seal(&keys);
        let mut replica = CallerReplica::default();
        for (what, stored, expected, used, is_refused) in [
            ("made", sealed(live("ann", 3)), "+ann", 1, false),
            ("the same", sealed(live("ann", 3)), "", 1, false),
            ("changed", sealed(live("ann", 4)), "+ann", 1, false),
            ("put back", sealed(live("ann", 3)), "", 1, true),
            ("right again", sealed(live("ann", 4)), "", 1, false),
            ("forged", Some(forged), "-ann", 0, true),
            ("right again", sealed(live("ann", 4)), "+ann", 1, false),
            ("of another", Some(moved), "-ann", 0, true),
            ("lost", None, "", 0, false),
            ("restored", sealed(live("ann", 4)), "+ann", 1, false),
            ("deleted", sealed(deleted("ann", 5)), "-ann", 0, false),
            ("deleted as before", sealed(deleted("ann", 5)), "", 0, false),
            ("put back", sealed(live("ann", 4)), "", 0, true),
            ("lost", None, "", 0, false),
            ("put back", sealed(live("ann", 4)), "", 0, true),
            ("made again", sealed(again(8)), "+ann~2", 1, false),
            ("put back", sealed(live("ann", 4)), "", 1, true),
            (
                "the first once more",
                sealed(live("ann", 9)),
                "-ann~2 +ann",
                1,
                false,
            ),
        ] {
            let mut changes = Vec::new();
            replica.take(&keys, "ann", stored.as_deref(), &mut changes);
            assert_eq!(text(&changes), expected, "{what}");
            assert_eq!(replica.used(), used, "{what}");
            assert_eq!(replica.refused().count() == 1, is_refused, "{what}");
        }
        assert_eq!(replica.newest_version(), 9);
    }

    #[test]
    fn an_announced_record_is_looked_for_until_it_is_there_or_the_time_is_over() {
        let (mut replica, start) = (CallerReplica::default(), Instant::now());
        let change = |number, name: &str| LoggedChange {
            number,
            name: name.into(),
        };
        replica.expect(
            vec![change(3, "ann"), change(4, "bob"), change(5, "ann")],
            start,
        );
        for (version, expected) in [(3, &["ann", "bob"][..]), (5, &["bob"])] {
            replica.take_opened(&live("ann", version), &mut Vec::new());
            replica.drop_arrived(start + Duration::from_secs(1));
            assert_eq!(replica.awaited(), expected);
        }
        replica.drop_arrived(start + AWAITED);
        assert_eq!(replica.awaited(), [""; 0]);
    }
}
