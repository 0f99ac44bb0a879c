//! Marks at the end of prefixes that are cached, of which the protocol has none.

use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::CacheMark;

/// Notes a mark at the end of a prefix that the provider should cache. Providers of the protocol cache without being asked.
pub(super) fn note_mark(mark: Option<&CacheMark<'_>>, ledger: &mut Ledger) {
    if let Some(mark) = mark {
        let reason = "is left out, since the gemini protocol has no marks of what is cached";
        ledger.add(mark.at, FieldOutcome::Dropped, reason);
    }
}
