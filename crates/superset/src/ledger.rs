//! What a translation could not carry exactly, field by field.

mod rendering;

use headgate_protocol::json::DocumentNode;
use std::borrow::Cow;

/// Different fields that a ledger names; more are counted. The first one of each greater loss is always named.
const ENTRIES_MAX: usize = 64;
/// Fields whose path is looked for in the document, which takes as long as there are values before them.
const PATHS_MAX: usize = 256;

/// The fields of one request, response or stream that are not carried exactly.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    entries: Vec<LedgerEntry>,
    /// What `entries` are known by, at the same index: 0 if only by their path.
    keys: Vec<u64>,
    /// Fields that have no entry.
    unnamed: u64,
    paths: usize,
}

/// A field that is not carried exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Such as `messages[2].content[0].cache_control`: the first one of its kind.
    pub path: String,
    pub outcome: FieldOutcome,
    /// A clause that follows the path, such as `has no counterpart in the messages protocol`.
    pub reason: Cow<'static, str>,
    /// How many fields of its kind there are.
    pub count: u64,
}

/// What becomes of a field that is not carried exactly, from little to great loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldOutcome {
    /// Something close to it is sent.
    Approximated,
    /// It is left out, which does not change what the caller gets.
    Dropped,
    /// The request is refused, unless the route has `on_loss: drop`.
    Refused,
    /// The request is refused whatever the route has.
    AlwaysRefused,
}

impl Ledger {
    /// Adds a field. Of several entries for a path, the one of the greatest loss counts.
    pub fn add(
        &mut self,
        at: DocumentNode<'_>,
        outcome: FieldOutcome,
        reason: impl Into<Cow<'static, str>>,
    ) {
        if self.admits_path(outcome) {
            self.add_path(at.path(), outcome, reason);
        }
    }

    /// Refuses a request in which `owner` lacks a member.
    pub fn add_missing(&mut self, owner: DocumentNode<'_>, member: &str) {
        if !self.admits_path(FieldOutcome::AlwaysRefused) {
            return;
        }
        let owner = owner.path();
        let dot = if owner.is_empty() { "" } else { "." };
        let path = format!("{owner}{dot}{member}");
        self.add_path(path, FieldOutcome::AlwaysRefused, "is missing");
    }

    /// Adds a field that has no value in the body of its own.
    pub fn add_path(
        &mut self,
        path: String,
        outcome: FieldOutcome,
        reason: impl Into<Cow<'static, str>>,
    ) {
        let known = self.entries.iter_mut().find(|entry| entry.path == path);
        match known {
            Some(entry) if outcome > entry.outcome => {
                (entry.outcome, entry.reason) = (outcome, reason.into());
            }
            Some(_) => {}
            None => self.push(0, path, outcome, reason.into()),
        }
    }

    /// Adds a field of a kind. `path` is asked only for the first one of the kind.
    pub fn add_kind(
        &mut self,
        key: u64,
        outcome: FieldOutcome,
        reason: impl FnOnce() -> Cow<'static, str>,
        path: impl FnOnce() -> String,
    ) {
        let entries = self.keys.iter().zip(&mut self.entries);
        let mut known = entries.filter(|(known, entry)| **known == key && entry.outcome == outcome);
        if let Some((_, entry)) = known.next() {
            entry.count += 1;
        } else if self.entries.len() >= ENTRIES_MAX && !self.is_greater_loss(outcome) {
            self.unnamed += 1;
        } else {
            self.push(key, path(), outcome, reason());
        }
    }

    /// Adds one of the fields that a writer approximates for the same reason. Only the first one has a path.
    pub fn add_alike(&mut self, at: DocumentNode<'_>, reason: &'static str) {
        let mix = |key: u64, byte: u8| (key ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let key = reason.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
        let approximated = FieldOutcome::Approximated;
        self.add_kind(key, approximated, || reason.into(), || at.path());
    }

    pub fn entries(&self) -> &[LedgerEntry] {
        &self.entries
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many fields have no entry, since the ledger was full.
    pub fn unnamed(&self) -> u64 {
        self.unnamed
    }

    /// The first field for which the request is refused.
    pub fn refusal(&self, on_loss: OnLoss) -> Option<&LedgerEntry> {
        let least = match on_loss {
            OnLoss::Refuse => FieldOutcome::Refused,
            OnLoss::Drop => FieldOutcome::AlwaysRefused,
        };
        self.entries.iter().find(|entry| entry.outcome >= least)
    }

    fn push(&mut self, key: u64, path: String, outcome: FieldOutcome, reason: Cow<'static, str>) {
        if self.entries.len() >= ENTRIES_MAX && !self.is_greater_loss(outcome) {
            self.unnamed += 1;
            return;
        }
        self.keys.push(key);
        self.entries.push(LedgerEntry {
            path,
            outcome,
            reason,
            count: 1,
        });
    }

    /// Whether one more path is looked for; otherwise the field is counted.
    fn admits_path(&mut self, outcome: FieldOutcome) -> bool {
        let is_admitted = self.paths < PATHS_MAX || self.is_greater_loss(outcome);
        match is_admitted {
            true => self.paths += 1,
            false => self.unnamed += 1,
        }
        is_admitted
    }

    fn is_greater_loss(&self, outcome: FieldOutcome) -> bool {
        self.entries.iter().all(|entry| entry.outcome < outcome)
    }
}

/// What is done with a request that has a field which changes its meaning and cannot be carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLoss {
    /// The caller gets 400, with the path of the field.
    #[default]
    Refuse,
    /// The field is left out.
    Drop,
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::json::{JsonDocument, JsonLimits};

    #[test]
    fn a_full_ledger_counts_fields_and_still_names_the_first_greater_loss() {
        let mut ledger = Ledger::default();
        for field in 0..1000 {
            ledger.add_path(format!("a[{field}]"), FieldOutcome::Dropped, "is new");
        }
        for path in ["b", "c"] {
            ledger.add_path(path.into(), FieldOutcome::Refused, "is stored");
        }
        assert_eq!(ledger.entries().len(), ENTRIES_MAX + 1);
        assert_eq!(ledger.unnamed(), 1001 - ENTRIES_MAX as u64);
        assert_eq!(ledger.refusal(OnLoss::Refuse).unwrap().path, "b");
        assert_eq!(ledger.refusal(OnLoss::Drop), None);
    }

    #[test]
    fn the_greatest_loss_of_a_path_counts() {
        let mut ledger = Ledger::default();
        for (outcome, reason) in [
            (FieldOutcome::Dropped, "is new"),
            (FieldOutcome::Refused, "is stored"),
            (FieldOutcome::Approximated, "is near"),
        ] {
            ledger.add_path("a".into(), outcome, reason);
        }
        let refusal = ledger.refusal(OnLoss::Refuse).unwrap();
        assert_eq!(refusal.reason, "is stored");
        assert_eq!(ledger.entries().len(), 1);
    }

    #[test]
    fn paths_are_looked_for_only_for_the_first_fields() {
        let body = format!("[{}1]", "1,".repeat(99_999));
        let document = JsonDocument::parse(body.into(), &JsonLimits::default()).unwrap();
        let mut ledger = Ledger::default();
        for node in document.root().elements() {
            ledger.add(node, FieldOutcome::Dropped, "is new");
        }
        let last = document.root().elements().last().unwrap();
        ledger.add(last, FieldOutcome::Refused, "is stored");
        assert_eq!(ledger.paths, PATHS_MAX + 1);
        assert_eq!(ledger.unnamed(), 100_000 - ENTRIES_MAX as u64);
        assert_eq!(ledger.refusal(OnLoss::Refuse).unwrap().path, "[99999]");
    }
}
