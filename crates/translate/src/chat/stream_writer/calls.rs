//! The tool calls of a stream: their indexes, and the inputs of tools of free text that wait until they are whole.

use super::chunk_writer::ChunkWriter;
use crate::context::ResponseContext;
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::superset::{Arguments, StreamPiece};
use headgate_protocol::sse::SseEvent;
use std::collections::HashMap;

/// What waiting arguments may take in memory, in bytes: 16 MiB.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// Arguments that wait take more memory than they may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooManyWaiting;

/// The calls that have not ended, by part.
#[derive(Debug, Default)]
pub(super) struct StreamCalls {
    open: HashMap<u32, OpenCall>,
    next_index: u64,
    waiting_bytes: usize,
}

#[derive(Debug)]
struct OpenCall {
    index: u64,
    form: ChatCallForm,
}

#[derive(Debug)]
enum ChatCallForm {
    Function,
    /// A function that the provider calls with free text, which is the member of an object that is open.
    FunctionOfFreeText,
    /// A tool of free text, with arguments of a function that the provider called in its place.
    Custom(EscapedText<'static>),
}

impl StreamCalls {
    /// Writes a piece of a call.
    ///
    /// # Errors
    /// Too much waits.
    pub fn write(
        &mut self,
        piece: &StreamPiece<'_>,
        context: &ResponseContext,
        chunks: &mut ChunkWriter,
        events: &mut Vec<SseEvent>,
    ) -> Result<(), TooManyWaiting> {
        match piece {
            StreamPiece::ToolCall { part, id, name } => {
                self.begin(*part, id, name, context, chunks, events);
            }
            StreamPiece::Arguments { part, json } => {
                let Some(call) = self.open.get_mut(part) else {
                    return Ok(());
                };
                match &mut call.form {
                    ChatCallForm::Function | ChatCallForm::FunctionOfFreeText => {
                        write_arguments(call.index, json, chunks, events);
                    }
                    ChatCallForm::Custom(waiting) => {
                        self.waiting_bytes += json.as_written().len();
                        if self.waiting_bytes > WAITING_BYTES_MAX {
                            return Err(TooManyWaiting);
                        }
                        waiting.push(json);
                    }
                }
            }
            StreamPiece::FreeText { part, text } => {
                if let Some(call) = self.open.get_mut(part) {
                    call.write_free_text(text, chunks, events);
                }
            }
            StreamPiece::PartEnd { part } => {
                if let Some(call) = self.open.remove(part) {
                    self.end(call, chunks, events);
                }
            }
            StreamPiece::Start { .. }
            | StreamPiece::Text { .. }
            | StreamPiece::Refusal { .. }
            | StreamPiece::Thinking { .. }
            | StreamPiece::Signature { .. }
            | StreamPiece::SealedThinking { .. }
            | StreamPiece::Finish { .. }
            | StreamPiece::Usage(_)
            | StreamPiece::End
            | StreamPiece::Error { .. } => {}
        }
        Ok(())
    }

    /// Writes what waits of calls that have no end.
    pub fn end_all(&mut self, chunks: &mut ChunkWriter, events: &mut Vec<SseEvent>) {
        let mut open: Vec<_> = std::mem::take(&mut self.open).into_values().collect();
        open.sort_unstable_by_key(|call| call.index);
        for call in open {
            self.end(call, chunks, events);
        }
    }

    fn begin(
        &mut self,
        part: u32,
        id: &EscapedText<'_>,
        name: &EscapedText<'_>,
        context: &ResponseContext,
        chunks: &mut ChunkWriter,
        events: &mut Vec<SseEvent>,
    ) {
        let index = self.next_index;
        self.next_index += 1;
        let is_custom = context.is_custom_tool(name);
        let (kind, text) = match is_custom {
            true => ("custom", "input"),
            false => ("function", "arguments"),
        };
        write_call(index, chunks, events, |json| {
            json.key("id").text(id).key("type").literal(kind);
            json.key(kind).begin_object().key("name").text(name);
            json.key(text).literal("").end_object();
        });
        let form = match is_custom {
            true => ChatCallForm::Custom(EscapedText::default()),
            false => ChatCallForm::Function,
        };
        self.open.insert(part, OpenCall { index, form });
    }

    fn end(&mut self, call: OpenCall, chunks: &mut ChunkWriter, events: &mut Vec<SseEvent>) {
        match call.form {
            ChatCallForm::Function => {}
            ChatCallForm::FunctionOfFreeText => {
                write_arguments(call.index, &EscapedText::plain("\"}"), chunks, events);
            }
            ChatCallForm::Custom(waiting) if waiting.is_empty() => {}
            ChatCallForm::Custom(waiting) => {
                self.waiting_bytes -= waiting.as_written().len();
                let input = Arguments::Text(waiting).free_text();
                write_input(call.index, &input, chunks, events);
            }
        }
    }
}

impl OpenCall {
    fn write_free_text(
        &mut self,
        text: &EscapedText<'_>,
        chunks: &mut ChunkWriter,
        events: &mut Vec<SseEvent>,
    ) {
        let start = match self.form {
            ChatCallForm::Custom(_) => return write_input(self.index, text, chunks, events),
            ChatCallForm::Function => "{\"input\":\"",
            ChatCallForm::FunctionOfFreeText => "",
        };
        self.form = ChatCallForm::FunctionOfFreeText;
        let json = EscapedText::plain(&format!("{start}{}", text.as_written()));
        write_arguments(self.index, &json, chunks, events);
    }
}

fn write_arguments(
    index: u64,
    json_text: &EscapedText<'_>,
    chunks: &mut ChunkWriter,
    events: &mut Vec<SseEvent>,
) {
    write_call(index, chunks, events, |json| {
        json.key("function").begin_object();
        json.key("arguments").text(json_text).end_object();
    });
}

fn write_input(
    index: u64,
    text: &EscapedText<'_>,
    chunks: &mut ChunkWriter,
    events: &mut Vec<SseEvent>,
) {
    write_call(index, chunks, events, |json| {
        json.key("custom").begin_object();
        json.key("input").text(text).end_object();
    });
}

fn write_call(
    index: u64,
    chunks: &mut ChunkWriter,
    events: &mut Vec<SseEvent>,
    write: impl FnOnce(&mut JsonWriter),
) {
    chunks.write_delta(events, |json| {
        json.key("tool_calls").begin_array().begin_object();
        json.key("index").number(index);
        write(json);
        json.end_object().end_array();
    });
}
