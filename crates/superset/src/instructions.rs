//! Instructions where a protocol has them only before the conversation.

use crate::ledger::{FieldOutcome, Ledger};
use crate::{ContentRole, Part, Request};

/// The instructions before the conversation, and the later ones, which are moved there; the route must allow that.
pub fn moved_instructions<'r, 'a>(
    request: &'r Request<'a>,
    ledger: &mut Ledger,
) -> impl Iterator<Item = &'r Part<'a>> + use<'r, 'a> {
    let turns = request.turns.iter();
    let late = turns.filter(|turn| turn.role == ContentRole::System);
    for turn in late.clone() {
        let reason = "is an instruction in the middle of the conversation, which would move to its start; send it as a user, or first";
        ledger.add(turn.at, FieldOutcome::Refused, reason);
    }
    let parts = request.instructions.iter();
    parts.chain(late.flat_map(|turn| &turn.parts))
}
