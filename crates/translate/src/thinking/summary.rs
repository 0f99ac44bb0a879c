//! Summaries of thoughts that nobody makes.

use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::Request;

/// Notes that the caller gets no summary of thoughts, if it asks for one.
pub(crate) fn note_summary(request: &Request<'_>, ledger: &mut Ledger) {
    if request.reasoning.summary.is_none() {
        return;
    }
    let reasoning = request.body.get("reasoning");
    let names = ["summary", "generate_summary"].into_iter();
    for node in names.filter_map(|name| reasoning?.get(name)) {
        let reason = "is left out, since the model is not asked to think";
        ledger.add(node, FieldOutcome::Dropped, reason);
    }
}
