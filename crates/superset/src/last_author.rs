//! The end of a conversation: models answer a message of the user.

use crate::ledger::{FieldOutcome, Ledger};
use crate::{ContentRole, Request};
use headgate_protocol::conversation::ProviderFormat;

/// Refuses a conversation that does not end with the user. `author` is that of the last message that was written, and
/// `continued` what the protocol does with a last one of the assistant.
pub fn check_last_author(
    request: &Request<'_>,
    author: Option<ContentRole>,
    protocol: ProviderFormat,
    continued: &'static str,
    ledger: &mut Ledger,
) {
    match author {
        None => refuse_without_messages(request, protocol, ledger),
        Some(ContentRole::Assistant) => {
            let mut turns = request.turns.iter().rev();
            let last = turns.find(|turn| turn.role == ContentRole::Assistant);
            let at = last.map_or(request.body, |turn| turn.at);
            ledger.add(at, FieldOutcome::Refused, continued);
        }
        Some(ContentRole::User | ContentRole::System) => {}
    }
}

/// Refuses a conversation of which nothing is left to send.
pub fn refuse_without_messages(
    request: &Request<'_>,
    protocol: ProviderFormat,
    ledger: &mut Ledger,
) {
    let messages = request.body.get("messages");
    let at = messages.or_else(|| request.body.get("input"));
    let name = protocol.name();
    let reason = format!("has no message, which the {name} protocol demands");
    let at = at.unwrap_or(request.body);
    ledger.add(at, FieldOutcome::AlwaysRefused, reason);
}
