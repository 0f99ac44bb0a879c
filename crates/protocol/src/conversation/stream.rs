//! The messages of a response that is a stream of events.

use super::{
    ConversationMessage, ConversationShape, ConversationText, MessagePart, PART_BYTES,
    SECRET_BYTES, TextAllowance,
};
use crate::json::{DocumentNode, JsonDocument, JsonLimits};
use bytes::Bytes;

/// Collects the messages of a stream, in bounded memory.
#[derive(Debug)]
pub struct StreamMessageCollector {
    shape: &'static ConversationShape,
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
    form: StreamedPartKind,
    id: String,
    name: String,
    text: String,
}

/// What distinguishes the parts of a message: two indexes of the protocol.
pub(crate) type PartPlace = (StreamedPartKind, u64, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamedPartKind {
    Text,
    Reasoning,
    ToolCall,
}

impl StreamMessageCollector {
    /// Collects up to `bytes_max`.
    pub fn new(shape: &'static ConversationShape, bytes_max: usize) -> Self {
        Self {
            shape,
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
        (self.shape.add_event)(self, event.root());
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

    /// Appends a piece of a text.
    pub(crate) fn append(&mut self, message: u64, place: PartPlace, piece: String) {
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
    pub(crate) fn name(&mut self, message: u64, place: PartPlace, id: &str, name: &str) {
        if name.is_empty() || id.len() + name.len() > self.bytes_left {
            self.is_cut |= !name.is_empty();
            return;
        }
        if let Some(part) = self.part(message, place) {
            (part.id, part.name) = (id.to_owned(), name.to_owned());
            self.bytes_left -= id.len() + name.len();
        }
    }

    /// Ends a message for a reason.
    pub(crate) fn end(&mut self, message: u64, reason: String) {
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
                StreamedPartKind::Text => MessagePart::Text {
                    content: allowance.text(&part.text, true),
                },
                StreamedPartKind::Reasoning => MessagePart::Reasoning {
                    content: allowance.text(&part.text, true),
                },
                StreamedPartKind::ToolCall => MessagePart::ToolCall {
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

/// The number of a member; zero if there is none.
pub(crate) fn number(node: DocumentNode<'_>, name: &str) -> u64 {
    let number = node.get(name).and_then(DocumentNode::as_u64);
    number.unwrap_or_default()
}

/// The text of a member; empty if there is none.
pub(crate) fn text(node: DocumentNode<'_>, name: &str) -> String {
    let text = node.get(name).and_then(DocumentNode::as_str);
    text.map_or_else(String::new, |text| text.into_owned())
}
