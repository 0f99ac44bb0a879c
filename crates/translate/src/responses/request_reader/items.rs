//! Reads the input of a request: items become turns.

use super::content::{read_content, read_text_part};
use crate::escaped_text::EscapedText;
use crate::ledger::{FieldOutcome, Ledger};
use crate::responses::thoughts::add_thought;
use crate::superset::{Arguments, ContentRole, Part, PartKind, ThinkingOrigin, Turn};
use crate::typed_value::{array, present, refuse, required_text, text};
use headgate_protocol::json::{DocumentNode, ValueKind};

/// What the input says.
#[derive(Debug, Default)]
pub(super) struct Conversation<'a> {
    pub instructions: Vec<Part<'a>>,
    pub turns: Vec<Turn<'a>>,
}

impl<'a> Conversation<'a> {
    pub(super) fn read_input(&mut self, input: DocumentNode<'a>, ledger: &mut Ledger) {
        match input.kind() {
            ValueKind::String => {
                self.add(ContentRole::User, input, read_text_part(input, None, input));
            }
            ValueKind::Array => {
                for item in input.elements() {
                    self.read_item(item, ledger);
                }
            }
            ValueKind::Null | ValueKind::Bool | ValueKind::Number | ValueKind::Object => {
                refuse::<()>(Some(input), "a string or an array", ledger);
            }
        }
    }

    fn read_item(&mut self, item: DocumentNode<'a>, ledger: &mut Ledger) {
        if item.kind() != ValueKind::Object {
            refuse::<()>(Some(item), "an object", ledger);
            return;
        }
        let [kind, role, content] = item.get_each(["type", "role", "content"]);
        let Some(kind) = present(kind) else {
            match role.is_some() || content.is_some() {
                true => self.read_message(item, role, content, ledger),
                false => refuse_reference(item, ledger),
            }
            return;
        };
        let Some(name) = kind.as_str() else {
            refuse::<()>(Some(kind), "a string", ledger);
            return;
        };
        match &*name {
            "message" => self.read_message(item, role, content, ledger),
            "function_call" => self.read_call(item, ledger),
            "custom_tool_call" => self.read_custom_call(item, ledger),
            "function_call_output" | "custom_tool_call_output" => self.read_output(item, ledger),
            "reasoning" => self.read_reasoning(item, content, ledger),
            "item_reference" => refuse_reference(item, ledger),
            "compaction" => {
                let reason = "is a compaction, which only its provider can read";
                ledger.add(item, FieldOutcome::AlwaysRefused, reason);
            }
            other => {
                let reason = format!("is of type `{other:.64}`, which no other protocol has");
                ledger.add(item, FieldOutcome::Refused, reason);
            }
        }
    }

    fn read_message(
        &mut self,
        item: DocumentNode<'a>,
        role: Option<DocumentNode<'a>>,
        content: Option<DocumentNode<'a>>,
        ledger: &mut Ledger,
    ) {
        let Some(name) = required_text(item, "role", role, ledger) else {
            return;
        };
        let role = match name.as_written() {
            "user" => ContentRole::User,
            "assistant" => ContentRole::Assistant,
            "system" | "developer" => ContentRole::System,
            _ => {
                let expected = "`user`, `assistant`, `system` or `developer`";
                refuse::<()>(role, expected, ledger);
                return;
            }
        };
        let mut parts = Vec::new();
        match present(content) {
            None => ledger.add_missing(item, "content"),
            Some(content) => read_content(content, &mut parts, ledger),
        }
        if role == ContentRole::System {
            parts.retain(|part| is_text(part, ledger));
        }
        match role == ContentRole::System && self.turns.is_empty() {
            true => self.instructions.append(&mut parts),
            false => self.add(role, item, parts),
        }
    }

    fn read_call(&mut self, item: DocumentNode<'a>, ledger: &mut Ledger) {
        let [id, name, arguments] = item.get_each(["call_id", "name", "arguments"]);
        let id = required_text(item, "call_id", id, ledger);
        let name = required_text(item, "name", name, ledger);
        let arguments = required_text(item, "arguments", arguments, ledger);
        self.add_call(item, id, name, arguments.map(Arguments::Text));
    }

    fn read_custom_call(&mut self, item: DocumentNode<'a>, ledger: &mut Ledger) {
        let [id, name, input] = item.get_each(["call_id", "name", "input"]);
        let id = required_text(item, "call_id", id, ledger);
        let name = required_text(item, "name", name, ledger);
        let input = required_text(item, "input", input, ledger);
        self.add_call(item, id, name, input.map(Arguments::FreeText));
    }

    fn add_call(
        &mut self,
        item: DocumentNode<'a>,
        id: Option<EscapedText<'a>>,
        name: Option<EscapedText<'a>>,
        arguments: Option<Arguments<'a>>,
    ) {
        if let (Some(id), Some(name), Some(arguments)) = (id, name, arguments) {
            let kind = PartKind::ToolCall {
                id,
                name,
                arguments,
            };
            self.add(ContentRole::Assistant, item, [part(item, kind)]);
        }
    }

    fn read_output(&mut self, item: DocumentNode<'a>, ledger: &mut Ledger) {
        let [id, output] = item.get_each(["call_id", "output"]);
        let id = required_text(item, "call_id", id, ledger);
        let mut parts = Vec::new();
        match present(output) {
            None => ledger.add_missing(item, "output"),
            Some(output) => read_content(output, &mut parts, ledger),
        }
        if let Some(id) = id {
            let kind = PartKind::ToolResult {
                id,
                parts,
                is_error: false,
            };
            self.add(ContentRole::User, item, [part(item, kind)]);
        }
    }

    fn read_reasoning(
        &mut self,
        item: DocumentNode<'a>,
        content: Option<DocumentNode<'a>>,
        ledger: &mut Ledger,
    ) {
        let [summary, sealed] = item.get_each(["summary", "encrypted_content"]);
        let mut thoughts = EscapedText::default();
        add_thoughts(array(summary, ledger), &mut thoughts, ledger);
        add_thoughts(array(content, ledger), &mut thoughts, ledger);
        let sealed = text(sealed, ledger).filter(|sealed| !sealed.is_empty());
        let kind = match (thoughts.is_empty(), sealed) {
            (false, signature) => PartKind::Thinking {
                text: thoughts,
                signature,
                origin: ThinkingOrigin::Caller,
            },
            (true, Some(data)) => PartKind::SealedThinking {
                data,
                origin: ThinkingOrigin::Caller,
            },
            (true, None) => {
                let reason = "has neither a text nor `encrypted_content`";
                ledger.add(item, FieldOutcome::Dropped, reason);
                return;
            }
        };
        self.add(ContentRole::Assistant, item, [part(item, kind)]);
    }

    /// Adds parts to the last turn if it has the same author, and to a new one otherwise.
    fn add(
        &mut self,
        role: ContentRole,
        at: DocumentNode<'a>,
        parts: impl IntoIterator<Item = Part<'a>>,
    ) {
        let parts: Vec<_> = parts.into_iter().collect();
        if !parts.is_empty() {
            Turn { role, parts, at }.append_to(&mut self.turns);
        }
    }
}

fn part<'a>(at: DocumentNode<'a>, kind: PartKind<'a>) -> Part<'a> {
    Part {
        at,
        kind,
        cache: None,
    }
}

/// Whether a part may be an instruction. Others are refused.
fn is_text(part: &Part<'_>, ledger: &mut Ledger) -> bool {
    let is_text = matches!(part.kind, PartKind::Text(_));
    if !is_text {
        let reason = "is not text, and no other protocol has it in instructions";
        ledger.add(part.at, FieldOutcome::Refused, reason);
    }
    is_text
}

/// Adds the texts of a reasoning item's list, with a blank line before each but the first.
fn add_thoughts<'a>(
    list: Option<DocumentNode<'a>>,
    thoughts: &mut EscapedText<'a>,
    ledger: &mut Ledger,
) {
    for part in list.into_iter().flat_map(DocumentNode::elements) {
        let text = required_text(part, "text", part.get("text"), ledger);
        if let Some(text) = text {
            add_thought(thoughts, text);
        }
    }
}

fn refuse_reference(item: DocumentNode<'_>, ledger: &mut Ledger) {
    let reason = "refers to an item that only its provider stores; send the item itself";
    ledger.add(item, FieldOutcome::AlwaysRefused, reason);
}
