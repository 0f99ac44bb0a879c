//! The messages of a response that is a stream of events.

use super::{
    ConversationMessage, ConversationText, MessagePart, PART_BYTES, SECRET_BYTES, TextAllowance,
};
use crate::Protocol;
use crate::json::{DocumentNode, JsonDocument, JsonLimits};
use bytes::Bytes;

/// Collects the messages of a stream, in bounded memory.
#[derive(Debug)]
pub struct StreamedMessages {
    protocol: Protocol,
    bytes_max: usize,
    bytes_left: usize,
    is_cut: bool,
    messages: Vec<StreamedMessage>,
}

/// A choice of a response.
#[derive(Debug)]
struct StreamedMessage {
    index: u64,
    finish_reason: Option<String>,
    parts: Vec<StreamedPart>,
}

#[derive(Debug)]
struct StreamedPart {
    place: PartPlace,
    form: StreamedForm,
    id: String,
    name: String,
    text: String,
}

/// What distinguishes the parts of a message: two indexes of the protocol.
type PartPlace = (StreamedForm, u64, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamedForm {
    Text,
    Reasoning,
    ToolCall,
}

impl StreamedMessages {
    /// Collects up to `bytes_max`.
    pub fn new(protocol: Protocol, bytes_max: usize) -> Self {
        Self {
            protocol,
            bytes_max,
            bytes_left: bytes_max + SECRET_BYTES,
            is_cut: false,
            messages: Vec::new(),
        }
    }

    /// Takes the data of an event. What is not of the protocol is passed over.
    pub fn push(&mut self, data: &[u8]) {
        let data = Bytes::copy_from_slice(data);
        let Ok(event) = JsonDocument::parse(data, &JsonLimits::default()) else {
            return;
        };
        match self.protocol {
            Protocol::Chat => self.chat_chunk(event.root()),
            Protocol::Messages => self.block_event(event.root()),
            _ => self.item_event(event.root()),
        }
    }

    /// The messages so far.
    pub fn text(&self) -> ConversationText {
        let mut allowance = TextAllowance::new(self.bytes_max);
        allowance.is_exceeded = self.is_cut;
        let mut list = Vec::new();
        for message in &self.messages {
            if !allowance.admits_part() {
                break;
            }
            list.push(message.written(&mut allowance));
        }
        allowance.written(&list)
    }

    fn chat_chunk(&mut self, chunk: DocumentNode<'_>) {
        let choices = chunk.get("choices").into_iter();
        for choice in choices.flat_map(DocumentNode::elements) {
            let index = number(choice, "index");
            if let Some(delta) = choice.get("delta") {
                self.append(index, (StreamedForm::Text, 0, 0), text(delta, "content"));
                self.append(index, (StreamedForm::Text, 1, 0), text(delta, "refusal"));
                let calls = delta.get("tool_calls").into_iter();
                for call in calls.flat_map(DocumentNode::elements) {
                    let place = (StreamedForm::ToolCall, number(call, "index"), 0);
                    let function = call.get("function").unwrap_or(call);
                    self.name(index, place, &text(call, "id"), &text(function, "name"));
                    self.append(index, place, text(function, "arguments"));
                }
            }
            self.end(index, text(choice, "finish_reason"));
        }
    }

    fn block_event(&mut self, event: DocumentNode<'_>) {
        let index = number(event, "index");
        if let Some(block) = event.get("content_block") {
            if text(block, "type") == "tool_use" {
                let place = (StreamedForm::ToolCall, index, 0);
                self.name(0, place, &text(block, "id"), &text(block, "name"));
            }
            self.append(0, (StreamedForm::Text, index, 0), text(block, "text"));
        }
        let Some(delta) = event.get("delta") else {
            return;
        };
        for (form, name) in [
            (StreamedForm::Text, "text"),
            (StreamedForm::Reasoning, "thinking"),
            (StreamedForm::ToolCall, "partial_json"),
        ] {
            self.append(0, (form, index, 0), text(delta, name));
        }
        self.end(0, text(delta, "stop_reason"));
    }

    fn item_event(&mut self, event: DocumentNode<'_>) {
        let item = number(event, "output_index");
        let part = number(event, "content_index");
        match &*text(event, "type") {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.append(0, (StreamedForm::Text, item, part), text(event, "delta"));
            }
            "response.reasoning_summary_text.delta" => {
                let place = (
                    StreamedForm::Reasoning,
                    item,
                    number(event, "summary_index"),
                );
                self.append(0, place, text(event, "delta"));
            }
            "response.output_item.added" => {
                if let Some(call) = event.get("item")
                    && text(call, "type") == "function_call"
                {
                    let place = (StreamedForm::ToolCall, item, 0);
                    self.name(0, place, &text(call, "call_id"), &text(call, "name"));
                }
            }
            "response.function_call_arguments.delta" => {
                self.append(0, (StreamedForm::ToolCall, item, 0), text(event, "delta"));
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let status = event.get("response");
                self.end(
                    0,
                    status.map_or_else(String::new, |node| text(node, "status")),
                );
            }
            _ => {}
        }
    }

    /// Appends a piece of a text.
    fn append(&mut self, message: u64, place: PartPlace, piece: String) {
        if piece.is_empty() {
            return;
        }
        let taken = piece.floor_char_boundary(self.bytes_left);
        if let Some(part) = self.part(message, place) {
            part.text.push_str(&piece[..taken]);
            self.bytes_left -= taken;
            self.is_cut |= taken < piece.len();
        }
    }

    /// Begins a call of a tool.
    fn name(&mut self, message: u64, place: PartPlace, id: &str, name: &str) {
        if name.is_empty() || id.len() + name.len() > self.bytes_left {
            self.is_cut |= !name.is_empty();
            return;
        }
        if let Some(part) = self.part(message, place) {
            (part.id, part.name) = (id.to_owned(), name.to_owned());
            self.bytes_left -= id.len() + name.len();
        }
    }

    fn end(&mut self, message: u64, reason: String) {
        let is_short = (1..=PART_BYTES).contains(&reason.len());
        if is_short && let Some(message) = self.message(message) {
            message.finish_reason = Some(reason);
        }
    }

    fn message(&mut self, index: u64) -> Option<&mut StreamedMessage> {
        let known = self.messages.iter().position(|one| one.index == index);
        if let Some(at) = known {
            return self.messages.get_mut(at);
        }
        if !self.takes_part() {
            return None;
        }
        self.messages.push(StreamedMessage {
            index,
            finish_reason: None,
            parts: Vec::new(),
        });
        self.messages.last_mut()
    }

    fn part(&mut self, message: u64, place: PartPlace) -> Option<&mut StreamedPart> {
        let parts = &self.message(message)?.parts;
        let known = parts.iter().position(|part| part.place == place);
        if known.is_none() && !self.takes_part() {
            return None;
        }
        let parts = &mut self.message(message)?.parts;
        let at = known.unwrap_or_else(|| {
            parts.push(StreamedPart::new(place));
            parts.len() - 1
        });
        parts.get_mut(at)
    }

    /// Takes the room of a message or a part, if there is any.
    fn takes_part(&mut self) -> bool {
        let has_room = self.bytes_left > PART_BYTES;
        match has_room {
            true => self.bytes_left -= PART_BYTES,
            false => self.is_cut = true,
        }
        has_room
    }
}

impl StreamedMessage {
    fn written(&self, allowance: &mut TextAllowance) -> ConversationMessage {
        let mut parts = Vec::new();
        for part in &self.parts {
            if !allowance.admits_part() {
                break;
            }
            parts.push(match part.form {
                StreamedForm::Text => MessagePart::Text {
                    content: allowance.text(&part.text, true),
                },
                StreamedForm::Reasoning => MessagePart::Reasoning {
                    content: allowance.text(&part.text, true),
                },
                StreamedForm::ToolCall => MessagePart::ToolCall {
                    id: allowance.text(&part.id, true),
                    name: allowance.text(&part.name, true),
                    arguments: allowance.text(&part.text, true),
                },
            });
        }
        ConversationMessage {
            role: "assistant".into(),
            parts,
            finish_reason: self.finish_reason.clone(),
        }
    }
}

impl StreamedPart {
    fn new(place: PartPlace) -> Self {
        Self {
            place,
            form: place.0,
            id: String::new(),
            name: String::new(),
            text: String::new(),
        }
    }
}

fn number(node: DocumentNode<'_>, name: &str) -> u64 {
    let number = node.get(name).and_then(DocumentNode::as_u64);
    number.unwrap_or_default()
}

/// The text of a member; empty if there is none.
fn text(node: DocumentNode<'_>, name: &str) -> String {
    let text = node.get(name).and_then(DocumentNode::as_str);
    text.map_or_else(String::new, |text| text.into_owned())
}
