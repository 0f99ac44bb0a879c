//! Writes a stream in the chat protocol.

mod calls;
mod chunk_writer;

use super::response_writer::write_seal;
use super::words::{finish_word, write_usage};
use crate::context::ResponseContext;
use crate::escaped_text::EscapedText;
use crate::superset::{FinishReason, StreamPiece, Usage};
use calls::{StreamCalls, TooManyWaiting};
use chunk_writer::ChunkWriter;
use headgate_protocol::sse::SseEvent;

/// The state of a stream that is written.
#[derive(Debug)]
pub(crate) struct ChatStreamWriter {
    context: ResponseContext,
    chunks: ChunkWriter,
    has_started: bool,
    /// Whether the last event is written, or an error in its place.
    has_ended: bool,
    calls: StreamCalls,
    seals: u64,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
}

impl ChatStreamWriter {
    pub(crate) fn new(context: ResponseContext) -> Self {
        Self {
            chunks: ChunkWriter::new(&context),
            context,
            has_started: false,
            has_ended: false,
            calls: StreamCalls::default(),
            seals: 0,
            usage: None,
            finish: None,
        }
    }

    /// Adds the events for a piece.
    pub(crate) fn write(&mut self, piece: &StreamPiece<'_>, events: &mut Vec<SseEvent>) {
        if self.has_ended {
            return;
        }
        match piece {
            StreamPiece::Start { usage, .. } => {
                self.usage = usage.or(self.usage);
                self.start(events);
            }
            StreamPiece::Usage(usage) => self.usage = Some(*usage),
            // Some providers send more content after it, so that it is written at the end.
            StreamPiece::Finish { reason, .. } => self.finish = Some(*reason),
            StreamPiece::End => self.end(events),
            StreamPiece::Error { message, code } => self.fail(message, code.as_ref(), events),
            StreamPiece::Text { text, .. } => self.write_text("content", text, events),
            StreamPiece::Refusal { text, .. } => self.write_text("refusal", text, events),
            StreamPiece::Thinking { text, .. } => {
                self.write_text("reasoning_content", text, events);
            }
            StreamPiece::Signature {
                signature: seal, ..
            }
            | StreamPiece::SealedThinking { data: seal, .. } => {
                self.start(events);
                let index = self.seals;
                self.seals += 1;
                self.chunks.write_delta(events, |json| {
                    json.key("reasoning_details").begin_array();
                    write_seal(seal, index, json);
                    json.end_array();
                });
            }
            call @ (StreamPiece::ToolCall { .. }
            | StreamPiece::Arguments { .. }
            | StreamPiece::FreeText { .. }
            | StreamPiece::PartEnd { .. }) => {
                self.start(events);
                let (context, chunks) = (&self.context, &mut self.chunks);
                if let Err(TooManyWaiting) = self.calls.write(call, context, chunks, events) {
                    let message = "the input of a tool of free text is too large";
                    self.fail(&EscapedText::literal(message), None, events);
                }
            }
        }
    }

    fn write_text(
        &mut self,
        member: &'static str,
        text: &EscapedText<'_>,
        events: &mut Vec<SseEvent>,
    ) {
        self.start(events);
        self.chunks.write_delta(events, |json| {
            json.key(member).text(text);
        });
    }

    fn start(&mut self, events: &mut Vec<SseEvent>) {
        if !std::mem::replace(&mut self.has_started, true) {
            self.chunks.write_delta(events, |json| {
                json.key("role").literal("assistant");
                json.key("content").literal("");
            });
        }
    }

    /// Writes the last events. A stream without a reason for its end is not whole: it gets an error in their place.
    fn end(&mut self, events: &mut Vec<SseEvent>) {
        let word = match self.finish {
            Some(reason) => finish_word(reason),
            None => Err("the provider's stream ended without a reason".into()),
        };
        let word = match word {
            Ok(word) => word,
            Err(message) => return self.fail(&EscapedText::plain(&message), None, events),
        };
        self.start(events);
        self.calls.end_all(&mut self.chunks, events);
        self.chunks.write_finish(word, events);
        if self.context.includes_usage
            && let Some(usage) = self.usage
        {
            self.chunks
                .write_usage(events, |json| write_usage(usage, json));
        }
        events.push(SseEvent::encoded(None, b"[DONE]"));
        self.has_ended = true;
    }

    fn fail(
        &mut self,
        message: &EscapedText<'_>,
        code: Option<&EscapedText<'_>>,
        events: &mut Vec<SseEvent>,
    ) {
        let (kind, code) = error_words(code);
        self.chunks.write_error(events, |json| {
            json.key("message").text(message);
            json.key("type").literal(kind).key("param").null();
            json.key("code");
            match &code {
                Some(code) => json.text(code),
                None => json.null(),
            };
        });
        self.has_ended = true;
    }
}

/// The type and code for a code of another protocol.
fn error_words<'a>(code: Option<&EscapedText<'a>>) -> (&'static str, Option<EscapedText<'a>>) {
    let Some(code) = code else {
        return ("server_error", None);
    };
    let own = EscapedText::literal;
    match code.as_written() {
        "rate_limit_error" | "rate_limit_exceeded" => {
            ("rate_limit_error", Some(own("rate_limit_exceeded")))
        }
        "overloaded_error" => ("server_error", Some(own("server_is_overloaded"))),
        "invalid_request_error" | "request_too_large" => ("invalid_request_error", None),
        "context_length_exceeded" | "invalid_prompt" => {
            ("invalid_request_error", Some(code.clone()))
        }
        "api_error" | "timeout_error" | "server_error" => ("server_error", None),
        _ => ("server_error", Some(code.clone())),
    }
}
