//! Writes a stream in the responses protocol.

mod event_writer;
mod items;
mod open_item;
#[cfg(test)]
mod tests;
mod waiting_parts;

use super::response_object::{ResponseObjectStatus, ResponseObjectText};
use crate::context::ResponseContext;
use crate::escaped_text::EscapedText;
use crate::superset::{FinishReason, StreamPiece, Usage};
use event_writer::EventWriter;
use headgate_protocol::sse::SseEvent;
use items::{CallerItems, OutputEnd};
use waiting_parts::WaitingParts;

/// What the items of a response may take in memory, since its last event repeats all of them.
const STORED_BYTES_MAX: usize = 64 << 20;

/// The state of a stream that is written.
#[derive(Debug)]
pub(crate) struct ResponsesStreamWriter {
    context: ResponseContext,
    phase: StreamPhase,
    sequence: u64,
    items: CallerItems,
    waiting: WaitingParts,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamPhase {
    Created,
    InProgress,
    /// Its last event is written.
    Complete,
}

impl ResponsesStreamWriter {
    pub(crate) fn new(context: ResponseContext) -> Self {
        Self {
            context,
            phase: StreamPhase::Created,
            sequence: 0,
            items: CallerItems::default(),
            waiting: WaitingParts::default(),
            usage: None,
            finish: None,
        }
    }

    /// Adds the events for a piece.
    pub(crate) fn write(&mut self, piece: &StreamPiece<'_>, events: &mut Vec<SseEvent>) {
        if self.phase == StreamPhase::Complete {
            return;
        }
        let mut writer = EventWriter::new(events, self.sequence);
        self.start(&mut writer);
        self.write_in_order(piece, &mut writer);
        let stored_bytes = self.items.stored_bytes() + self.waiting.bytes();
        if stored_bytes > STORED_BYTES_MAX && self.phase != StreamPhase::Complete {
            let message = EscapedText::literal("the response is too large for its last event");
            self.fail(&message, None, &mut writer);
        }
        self.sequence = writer.sequence();
    }

    /// Writes a piece, or lets it wait for the end of the call that is open.
    fn write_in_order(&mut self, piece: &StreamPiece<'_>, writer: &mut EventWriter<'_>) {
        if !self.waiting.admit(piece) {
            return;
        }
        if let StreamPiece::End | StreamPiece::Error { .. } = piece {
            while let Some(pieces) = self.waiting.next_at_end() {
                self.write_pieces(&pieces, writer);
            }
        }
        self.write_piece(piece, writer);
        while let Some(pieces) = self.waiting.next() {
            self.write_pieces(&pieces, writer);
        }
    }

    fn write_pieces(&mut self, pieces: &[StreamPiece<'_>], writer: &mut EventWriter<'_>) {
        for piece in pieces {
            self.write_piece(piece, writer);
        }
    }

    fn write_piece(&mut self, piece: &StreamPiece<'_>, writer: &mut EventWriter<'_>) {
        let (items, context) = (&mut self.items, &self.context);
        match piece {
            StreamPiece::Start { usage, .. } => self.usage = usage.or(self.usage),
            StreamPiece::Text { part, text } => {
                items.add_content(*part, false, text, context, writer);
            }
            StreamPiece::Refusal { part, text } => {
                items.add_content(*part, true, text, context, writer);
            }
            StreamPiece::Thinking { part, text } => {
                items.add_thoughts(*part, text, context, writer);
            }
            StreamPiece::Signature { part, signature } => {
                items.seal_thoughts(*part, signature, context, writer);
            }
            StreamPiece::SealedThinking { part, data } => {
                items.seal_thoughts(*part, data, context, writer);
            }
            StreamPiece::ToolCall { part, id, name } => {
                items.add_call(*part, id, name, context, writer);
            }
            StreamPiece::Arguments { part, json } => {
                items.add_arguments(*part, json, writer);
            }
            StreamPiece::FreeText { part, text } => {
                items.add_free_text(*part, text, writer);
            }
            StreamPiece::PartEnd { part } => items.end_part(*part),
            StreamPiece::Finish { reason, .. } => self.finish = Some(*reason),
            StreamPiece::Usage(usage) => self.usage = Some(*usage),
            StreamPiece::End => {
                // A stream without a reason for its end is not whole.
                let no_reason = || Err("the provider's stream ended without a reason".to_owned());
                match self
                    .finish
                    .map_or_else(no_reason, ResponseObjectStatus::for_finish)
                {
                    Ok(status) => self.end(status, writer),
                    Err(message) => self.fail(&EscapedText::plain(&message), None, writer),
                }
            }
            StreamPiece::Error { message, code } => self.fail(message, code.as_ref(), writer),
        }
    }

    fn start(&mut self, writer: &mut EventWriter<'_>) {
        if self.phase != StreamPhase::Created {
            return;
        }
        self.phase = StreamPhase::InProgress;
        let object = ResponseObjectText {
            context: &self.context,
            status: ResponseObjectStatus::InProgress,
            usage: None,
        };
        for name in ["response.created", "response.in_progress"] {
            writer.write(name, |json| {
                json.key("response");
                object.write(std::iter::empty(), json);
            });
        }
    }

    fn fail(
        &mut self,
        message: &EscapedText<'_>,
        code: Option<&EscapedText<'_>>,
        writer: &mut EventWriter<'_>,
    ) {
        let code = code.map_or(EscapedText::literal("server_error"), own_error_code);
        let code = &code;
        self.end(ResponseObjectStatus::Failed { message, code }, writer);
    }

    /// Writes the last event, which has the whole response.
    fn end(&mut self, status: ResponseObjectStatus<'_>, writer: &mut EventWriter<'_>) {
        self.phase = StreamPhase::Complete;
        let (name, end) = match status {
            ResponseObjectStatus::InProgress | ResponseObjectStatus::Completed => {
                ("response.completed", OutputEnd::Whole)
            }
            ResponseObjectStatus::Incomplete(_) => ("response.incomplete", OutputEnd::CutLastItem),
            ResponseObjectStatus::Failed { .. } => ("response.failed", OutputEnd::CutOpenItems),
        };
        self.items.close_all(end, writer);
        let object = ResponseObjectText {
            context: &self.context,
            status,
            usage: self.usage,
        };
        writer.write(name, |json| {
            json.key("response");
            object.write(self.items.written(), json);
        });
    }
}

/// The word of this protocol for an error type of the messages protocol. Others stay as they are.
fn own_error_code<'a>(code: &EscapedText<'a>) -> EscapedText<'a> {
    match code.as_written() {
        "rate_limit_error" => EscapedText::literal("rate_limit_exceeded"),
        "invalid_request_error" => EscapedText::literal("invalid_prompt"),
        "api_error" | "overloaded_error" | "timeout_error" => EscapedText::literal("server_error"),
        _ => code.clone(),
    }
}
