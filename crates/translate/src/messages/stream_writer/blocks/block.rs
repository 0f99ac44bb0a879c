//! A content block, open or waiting.

use super::arguments_scan::ArgumentsScan;
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::messages::stream_writer::event_writer::write_event;
use headgate_protocol::sse::SseEvent;

/// What a waiting block takes besides its texts.
const BLOCK_BYTES: usize = 192;

/// How a block begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BlockStart {
    Text,
    Thinking,
    /// Thoughts that only their provider can read.
    SealedThinking(EscapedText<'static>),
    Call {
        id: EscapedText<'static>,
        name: EscapedText<'static>,
    },
}

/// A block that begins when those before it are complete.
#[derive(Debug)]
pub(super) struct WaitingBlock {
    pub part: u32,
    start: BlockStart,
    /// Its text, thoughts or arguments.
    pub text: EscapedText<'static>,
    pub signature: EscapedText<'static>,
    pub has_free_text: bool,
    pub has_ended: bool,
}

/// The block to which deltas belong.
#[derive(Debug)]
pub(super) struct OpenBlock {
    pub part: u32,
    pub index: u64,
    /// The type of the deltas of its text, and their member.
    delta: (&'static str, &'static str),
    call: Option<OpenToolUse>,
    pub has_free_text: bool,
    pub has_ended: bool,
}

#[derive(Debug)]
struct OpenToolUse {
    name: EscapedText<'static>,
    arguments: ArgumentsScan,
}

impl WaitingBlock {
    pub fn new(part: u32, start: BlockStart) -> Self {
        Self {
            part,
            start,
            text: EscapedText::default(),
            signature: EscapedText::default(),
            has_free_text: false,
            has_ended: false,
        }
    }

    /// What it takes in memory.
    pub fn bytes(&self) -> usize {
        let start = match &self.start {
            BlockStart::Text | BlockStart::Thinking => 0,
            BlockStart::SealedThinking(data) => data.as_written().len(),
            BlockStart::Call { id, name } => id.as_written().len() + name.as_written().len(),
        };
        let texts = self.text.as_written().len() + self.signature.as_written().len();
        BLOCK_BYTES + start + texts
    }

    /// Writes what there is of the block.
    pub fn open(&self, index: u64, events: &mut Vec<SseEvent>) -> OpenBlock {
        write_event("content_block_start", events, |json| {
            json.key("index").number(index);
            json.key("content_block").begin_object();
            self.start.write(json);
            json.end_object();
        });
        let call = match &self.start {
            BlockStart::Call { name, .. } => Some(OpenToolUse {
                name: name.clone(),
                arguments: ArgumentsScan::default(),
            }),
            BlockStart::Text | BlockStart::Thinking | BlockStart::SealedThinking(_) => None,
        };
        let mut open = OpenBlock {
            part: self.part,
            index,
            delta: self.start.delta(),
            call,
            has_free_text: self.has_free_text,
            has_ended: self.has_ended,
        };
        if !self.text.is_empty() {
            open.write_text(&self.text, events);
        }
        if !self.signature.is_empty() {
            open.write_signature(&self.signature, events);
        }
        open
    }
}

impl OpenBlock {
    pub fn write_text(&mut self, text: &EscapedText<'_>, events: &mut Vec<SseEvent>) {
        if let Some(call) = &mut self.call {
            call.arguments.push(text);
        }
        let (kind, member) = self.delta;
        self.write_delta(kind, member, text, events);
    }

    pub fn write_signature(&self, signature: &EscapedText<'_>, events: &mut Vec<SseEvent>) {
        self.write_delta("signature_delta", "signature", signature, events);
    }

    /// The name of a call whose arguments are no whole object.
    pub fn broken_call(self) -> Option<EscapedText<'static>> {
        let broken = self.call.filter(|call| !call.arguments.is_whole());
        broken.map(|call| call.name)
    }

    fn write_delta(
        &self,
        kind: &'static str,
        member: &'static str,
        text: &EscapedText<'_>,
        events: &mut Vec<SseEvent>,
    ) {
        write_event("content_block_delta", events, |json| {
            json.key("index").number(self.index);
            json.key("delta").begin_object();
            json.key("type").literal(kind);
            json.key(member).text(text).end_object();
        });
    }
}

impl BlockStart {
    /// The type of deltas, and their member.
    fn delta(&self) -> (&'static str, &'static str) {
        match self {
            Self::Text => ("text_delta", "text"),
            Self::Thinking | Self::SealedThinking(_) => ("thinking_delta", "thinking"),
            Self::Call { .. } => ("input_json_delta", "partial_json"),
        }
    }

    /// Writes the members of the block.
    fn write(&self, json: &mut JsonWriter) {
        json.key("type");
        match self {
            Self::Text => json.literal("text").key("text").literal(""),
            Self::Thinking => {
                json.literal("thinking").key("thinking").literal("");
                json.key("signature").literal("")
            }
            Self::SealedThinking(data) => json.literal("redacted_thinking").key("data").text(data),
            Self::Call { id, name } => {
                json.literal("tool_use").key("id").text(id);
                json.key("name").text(name);
                json.key("input").begin_object().end_object()
            }
        };
    }
}
