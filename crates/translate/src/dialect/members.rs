//! Members of requests under the names that a provider has for them.

use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use headgate_protocol::json::DocumentNode;

/// Which members of requests a provider names differently, or does not take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberRules {
    pub(super) renames: Vec<(Box<str>, Box<str>)>,
    pub(super) lacks: Vec<(Box<str>, FieldOutcome)>,
}

impl MemberRules {
    /// Begins a member under the provider's name. False if the provider does not take it: then the value must not follow, and
    /// `at`, where the caller has the member, is in the ledger.
    pub(crate) fn begin(
        &self,
        name: &'static str,
        at: Option<DocumentNode<'_>>,
        json: &mut JsonWriter,
        ledger: &mut Ledger,
    ) -> bool {
        if !self.takes(name, at, ledger) {
            return false;
        }
        let mut renames = self.renames.iter();
        let renamed = renames.find(|(own, _)| **own == *name);
        json.key(renamed.map_or(name, |(_, sent)| &**sent));
        true
    }

    /// Whether the provider takes a member. If it does not, `at`, where the caller has the member, is in the ledger.
    pub(crate) fn takes(
        &self,
        name: &'static str,
        at: Option<DocumentNode<'_>>,
        ledger: &mut Ledger,
    ) -> bool {
        let mut lacks = self.lacks.iter();
        if let Some((_, outcome)) = lacks.find(|(lacking, _)| **lacking == *name) {
            let reason = "is not a member that the channel's provider takes";
            match at {
                Some(at) => ledger.add(at, *outcome, reason),
                None => ledger.add_path(name.to_owned(), *outcome, reason),
            }
            return false;
        }
        true
    }
}
