//! Reads the messages of a conversation: consecutive ones of one author are a turn.

use super::content::read_content;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{ContentRole, Part, Turn};
use crate::typed_value::{present, refuse, required_text};
use headgate_protocol::json::{DocumentNode, ValueKind};

/// What the messages say.
#[derive(Debug, Default)]
pub(super) struct MessageConversation<'a> {
    pub instructions: Vec<Part<'a>>,
    pub turns: Vec<Turn<'a>>,
}

impl<'a> MessageConversation<'a> {
    pub fn read_messages(&mut self, messages: Option<DocumentNode<'a>>, ledger: &mut Ledger) {
        for message in messages.into_iter().flat_map(DocumentNode::elements) {
            self.read_message(message, ledger);
        }
    }

    fn read_message(&mut self, at: DocumentNode<'a>, ledger: &mut Ledger) {
        if at.kind() != ValueKind::Object {
            refuse::<()>(Some(at), "an object", ledger);
            return;
        }
        let [role, content] = at.get_each(["role", "content"]);
        let Some(name) = required_text(at, "role", role, ledger) else {
            return;
        };
        let role = match name.as_written() {
            "user" => ContentRole::User,
            "assistant" => ContentRole::Assistant,
            "system" => ContentRole::System,
            other => {
                let reason = format!("is of the role `{other:.64}`, which no other protocol has");
                ledger.add(at, FieldOutcome::AlwaysRefused, reason);
                return;
            }
        };
        let mut parts = Vec::new();
        match present(content) {
            None => ledger.add_missing(at, "content"),
            Some(content) => read_content(content, &mut parts, ledger),
        }
        if role == ContentRole::System && self.turns.is_empty() {
            self.instructions.append(&mut parts);
            return;
        }
        if parts.is_empty() {
            ledger.add(at, FieldOutcome::Dropped, "says nothing");
            return;
        }
        Turn { role, parts, at }.append_to(&mut self.turns);
    }
}
