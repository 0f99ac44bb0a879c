//! Writes a stream in the messages protocol.

mod blocks;
mod event_writer;

use super::words::{no_object, stop_reason, write_usage};
use crate::context::ResponseContext;
use crate::escaped_text::EscapedText;
use crate::superset::{FinishReason, StreamPiece, Usage};
use blocks::{BlockError, ContentBlocks};
use event_writer::write_event;
use headgate_protocol::sse::SseEvent;

/// The state of a stream that is written.
#[derive(Debug)]
pub(crate) struct MessagesStreamWriter {
    context: ResponseContext,
    has_started: bool,
    /// Whether the last event is written, or an error in its place.
    has_ended: bool,
    blocks: ContentBlocks,
    has_refusal: bool,
    usage: Option<Usage>,
    finish: Option<(FinishReason, Option<EscapedText<'static>>)>,
}

impl MessagesStreamWriter {
    pub(crate) fn new(context: ResponseContext) -> Self {
        Self {
            context,
            has_started: false,
            has_ended: false,
            blocks: ContentBlocks::default(),
            has_refusal: false,
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
            StreamPiece::Finish {
                reason,
                stop_sequence,
            } => {
                let stop_sequence = stop_sequence.clone().map(EscapedText::into_owned);
                self.finish = Some((*reason, stop_sequence));
            }
            StreamPiece::End => self.end(events),
            StreamPiece::Error { message, code } => self.fail(message, code.as_ref(), events),
            content @ (StreamPiece::Text { .. }
            | StreamPiece::Refusal { .. }
            | StreamPiece::Thinking { .. }
            | StreamPiece::Signature { .. }
            | StreamPiece::SealedThinking { .. }
            | StreamPiece::ToolCall { .. }
            | StreamPiece::Arguments { .. }
            | StreamPiece::FreeText { .. }
            | StreamPiece::PartEnd { .. }) => {
                self.start(events);
                self.has_refusal |= matches!(content, StreamPiece::Refusal { .. });
                if let Err(error) = self.blocks.write(content, events) {
                    let message = match error {
                        BlockError::TooManyWaiting => {
                            "the provider sends more at once than can be put in order"
                        }
                        BlockError::ClosedCall => {
                            "the provider sends arguments of a tool call that is complete"
                        }
                    };
                    self.fail(&EscapedText::literal(message), None, events);
                }
            }
        }
    }

    fn start(&mut self, events: &mut Vec<SseEvent>) {
        if std::mem::replace(&mut self.has_started, true) {
            return;
        }
        let (context, usage) = (&self.context, self.usage.unwrap_or_default());
        write_event("message_start", events, |json| {
            json.key("message").begin_object();
            json.key("id").id("msg_", &context.id);
            json.key("type").literal("message");
            json.key("role").literal("assistant");
            json.key("model").raw(&context.model);
            json.key("content").begin_array().end_array();
            json.key("stop_reason").null().key("stop_sequence").null();
            json.key("usage");
            write_usage(usage, json);
            json.end_object();
        });
    }

    /// Writes the last events. A stream without a reason for its end is not whole: it gets an error in their place.
    fn end(&mut self, events: &mut Vec<SseEvent>) {
        let Some((reason, stop_sequence)) = self.finish.take() else {
            let message = "the provider's stream ended without a reason";
            return self.fail(&EscapedText::literal(message), None, events);
        };
        let reason = match reason {
            FinishReason::Stop if self.has_refusal => FinishReason::ContentFilter,
            other => other,
        };
        self.start(events);
        self.blocks.close_all(events);
        if let Some(name) = self.blocks.broken_call().filter(|_| !may_be_cut(reason)) {
            let message = EscapedText::plain(&no_object(name));
            return self.fail(&message, None, events);
        }
        let usage = self.usage.unwrap_or_default();
        write_event("message_delta", events, |json| {
            json.key("delta").begin_object();
            json.key("stop_reason").literal(stop_reason(reason));
            json.key("stop_sequence");
            match &stop_sequence {
                Some(text) => json.text(text),
                None => json.null(),
            };
            json.end_object().key("usage");
            write_usage(usage, json);
        });
        write_event("message_stop", events, |_| {});
        self.has_ended = true;
    }

    fn fail(
        &mut self,
        message: &EscapedText<'_>,
        code: Option<&EscapedText<'_>>,
        events: &mut Vec<SseEvent>,
    ) {
        self.start(events);
        write_event("error", events, |json| {
            json.key("error").begin_object();
            json.key("type")
                .literal(code.map_or("api_error", error_type));
            json.key("message").text(message).end_object();
        });
        self.has_ended = true;
    }
}

/// Whether a response that ends for this reason may end in the middle of a call.
fn may_be_cut(reason: FinishReason) -> bool {
    match reason {
        FinishReason::Length | FinishReason::ContextWindow | FinishReason::ContentFilter => true,
        FinishReason::Stop
        | FinishReason::StopSequence
        | FinishReason::ToolCalls
        | FinishReason::Pause => false,
    }
}

/// The error type for a code of another protocol.
fn error_type(code: &EscapedText<'_>) -> &'static str {
    match code.as_written() {
        "rate_limit_exceeded" | "rate_limit_error" | "requests" | "tokens" => "rate_limit_error",
        "server_is_overloaded" | "overloaded_error" | "slow_down" => "overloaded_error",
        "context_length_exceeded" | "invalid_prompt" | "invalid_request_error" => {
            "invalid_request_error"
        }
        _ => "api_error",
    }
}
