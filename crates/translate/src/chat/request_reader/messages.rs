//! Reads the messages of a conversation: consecutive ones of one author are a turn.

use super::content::read_content;
use crate::escaped_text::EscapedText;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Arguments, ContentRole, Part, PartKind, ThinkingOrigin, Turn};
use crate::typed_value::{array, object, present, refuse, required_text, text};
use headgate_protocol::json::{DocumentNode, ValueKind};

/// What the messages say.
#[derive(Debug, Default)]
pub(super) struct ChatConversation<'a> {
    pub instructions: Vec<Part<'a>>,
    pub turns: Vec<Turn<'a>>,
}

pub(super) fn read_messages<'a>(
    messages: Option<DocumentNode<'a>>,
    ledger: &mut Ledger,
) -> ChatConversation<'a> {
    let mut conversation = ChatConversation::default();
    let messages = array(messages, ledger);
    for message in messages.into_iter().flat_map(DocumentNode::elements) {
        conversation.read_message(message, ledger);
    }
    conversation
}

impl<'a> ChatConversation<'a> {
    fn read_message(&mut self, at: DocumentNode<'a>, ledger: &mut Ledger) {
        if at.kind() != ValueKind::Object {
            refuse::<()>(Some(at), "an object", ledger);
            return;
        }
        let [role, content] = at.get_each(["role", "content"]);
        let Some(name) = required_text(at, "role", role, ledger) else {
            return;
        };
        let mut parts = Vec::new();
        let role = match name.as_written() {
            "system" | "developer" => {
                read_required(at, content, &mut parts, ledger);
                if self.turns.is_empty() {
                    self.instructions.append(&mut parts);
                    return;
                }
                ContentRole::System
            }
            "user" => {
                read_required(at, content, &mut parts, ledger);
                ContentRole::User
            }
            "assistant" => {
                read_assistant(at, content, &mut parts, ledger);
                ContentRole::Assistant
            }
            "tool" | "function" => {
                read_result(at, content, &mut parts, ledger);
                ContentRole::User
            }
            other => {
                let reason = format!("is of the role `{other:.64}`, which no other protocol has");
                ledger.add(at, FieldOutcome::AlwaysRefused, reason);
                return;
            }
        };
        if parts.is_empty() {
            ledger.add(at, FieldOutcome::Dropped, "says nothing");
            return;
        }
        Turn { role, parts, at }.append_to(&mut self.turns);
    }
}

/// Reads content that must be there.
fn read_required<'a>(
    at: DocumentNode<'a>,
    content: Option<DocumentNode<'a>>,
    parts: &mut Vec<Part<'a>>,
    ledger: &mut Ledger,
) {
    match present(content) {
        None => ledger.add_missing(at, "content"),
        Some(_) => read_content(content, parts, ledger),
    }
}

fn read_assistant<'a>(
    at: DocumentNode<'a>,
    content: Option<DocumentNode<'a>>,
    parts: &mut Vec<Part<'a>>,
    ledger: &mut Ledger,
) {
    read_thoughts(at, parts, ledger);
    read_content(content, parts, ledger);
    let [refusal, calls, function] = at.get_each(["refusal", "tool_calls", "function_call"]);
    if let Some(words) = text(refusal, ledger).filter(|words| !words.is_empty()) {
        parts.push(part(at, PartKind::Refusal(words)));
    }
    for call in array(calls, ledger)
        .into_iter()
        .flat_map(DocumentNode::elements)
    {
        parts.extend(read_call(call, ledger));
    }
    if let Some(function) = object(function, ledger) {
        let [name, arguments] = function.get_each(["name", "arguments"]);
        if let Some(name) = required_text(function, "name", name, ledger) {
            let kind = PartKind::ToolCall {
                // Results of functions name them.
                id: name.clone(),
                name,
                arguments: Arguments::Text(text(arguments, ledger).unwrap_or_default()),
            };
            parts.push(part(function, kind));
        }
    }
}

/// Thoughts that a provider gave as `reasoning_content`, and the proofs behind them.
fn read_thoughts<'a>(at: DocumentNode<'a>, parts: &mut Vec<Part<'a>>, ledger: &mut Ledger) {
    let [thoughts, short, details] =
        at.get_each(["reasoning_content", "reasoning", "reasoning_details"]);
    let words = text(thoughts, ledger).or_else(|| text(short, ledger));
    let details = array(details, ledger)
        .into_iter()
        .flat_map(DocumentNode::elements);
    let mut proofs = Vec::new();
    for detail in details {
        let [kind, data] = detail.get_each(["type", "data"]);
        let kind = kind.and_then(EscapedText::from_node);
        let is_proof = kind.is_some_and(|kind| kind.as_written() == "reasoning.encrypted");
        match data.and_then(EscapedText::from_node).filter(|_| is_proof) {
            Some(data) => proofs.push((detail, data)),
            None => ledger.add(
                detail,
                FieldOutcome::Dropped,
                "is a form of thoughts that other protocols do not have",
            ),
        }
    }
    let mut proofs = proofs.into_iter();
    if let Some(text) = words.filter(|words| !words.is_empty()) {
        let kind = PartKind::Thinking {
            text,
            signature: proofs.next().map(|(_, proof)| proof),
            origin: ThinkingOrigin::Caller,
        };
        parts.push(part(thoughts.or(short).unwrap_or(at), kind));
    }
    for (detail, data) in proofs {
        let origin = ThinkingOrigin::Caller;
        parts.push(part(detail, PartKind::SealedThinking { data, origin }));
    }
}

fn read_call<'a>(at: DocumentNode<'a>, ledger: &mut Ledger) -> Option<Part<'a>> {
    if at.kind() != ValueKind::Object {
        return refuse(Some(at), "an object", ledger);
    }
    let [id, function, custom] = at.get_each(["id", "function", "custom"]);
    let id = required_text(at, "id", id, ledger)?;
    let (name, arguments) = match (object(function, ledger), object(custom, ledger)) {
        (Some(function), _) => {
            let [name, arguments] = function.get_each(["name", "arguments"]);
            let arguments = text(arguments, ledger).unwrap_or_default();
            (
                required_text(function, "name", name, ledger)?,
                Arguments::Text(arguments),
            )
        }
        (None, Some(custom)) => {
            let [name, input] = custom.get_each(["name", "input"]);
            let input = text(input, ledger).unwrap_or_default();
            (
                required_text(custom, "name", name, ledger)?,
                Arguments::FreeText(input),
            )
        }
        (None, None) => {
            ledger.add_missing(at, "function");
            return None;
        }
    };
    let kind = PartKind::ToolCall {
        id,
        name,
        arguments,
    };
    Some(part(at, kind))
}

/// The result of a tool, or of a function, which has the name in place of an id.
fn read_result<'a>(
    at: DocumentNode<'a>,
    content: Option<DocumentNode<'a>>,
    parts: &mut Vec<Part<'a>>,
    ledger: &mut Ledger,
) {
    let [id, name] = at.get_each(["tool_call_id", "name"]);
    let id = match text(id, ledger) {
        Some(id) => Some(id),
        None => text(name, ledger),
    };
    let Some(id) = id else {
        ledger.add_missing(at, "tool_call_id");
        return;
    };
    let mut result = Vec::new();
    read_content(content, &mut result, ledger);
    let kind = PartKind::ToolResult {
        id,
        parts: result,
        is_error: false,
    };
    parts.push(part(at, kind));
}

fn part<'a>(at: DocumentNode<'a>, kind: PartKind<'a>) -> Part<'a> {
    Part {
        at,
        kind,
        cache: None,
    }
}
