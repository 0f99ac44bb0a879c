//! The items of a response, as both whole responses and the events of a stream have them.

use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;

/// An item of a response's output.
#[derive(Debug)]
pub(super) struct OutputItem<'a> {
    pub id: EscapedText<'static>,
    pub kind: OutputItemKind<'a>,
}

#[derive(Debug)]
pub(super) enum OutputItemKind<'a> {
    Message(Vec<MessageContent<'a>>),
    Reasoning {
        summary: EscapedText<'a>,
        encrypted_content: Option<EscapedText<'a>>,
    },
    FunctionCall {
        call_id: EscapedText<'a>,
        name: EscapedText<'a>,
        arguments: EscapedText<'a>,
    },
    CustomToolCall {
        call_id: EscapedText<'a>,
        name: EscapedText<'a>,
        input: EscapedText<'a>,
    },
}

/// A content part of a message.
#[derive(Debug)]
pub(super) struct MessageContent<'a> {
    pub is_refusal: bool,
    pub text: EscapedText<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemStatus {
    InProgress,
    Completed,
    Incomplete,
}

impl<'a> OutputItem<'a> {
    /// An item with an id that is unique in all responses. `position` is its index in the output.
    pub(super) fn new(kind: OutputItemKind<'a>, response_id: &str, position: usize) -> Self {
        let prefix = match kind {
            OutputItemKind::Message(_) => "msg",
            OutputItemKind::Reasoning { .. } => "rs",
            OutputItemKind::FunctionCall { .. } => "fc",
            OutputItemKind::CustomToolCall { .. } => "ctc",
        };
        Self {
            id: EscapedText::plain(&format!("{prefix}_{response_id}_{position}")),
            kind,
        }
    }

    pub(super) fn write(&self, status: ItemStatus, json: &mut JsonWriter) {
        json.begin_object().key("id").text(&self.id);
        match &self.kind {
            OutputItemKind::Message(contents) => {
                json.key("type").literal("message");
                json.key("status").literal(status.name());
                json.key("role").literal("assistant");
                json.key("content").begin_array();
                for content in contents {
                    content.write(json);
                }
                json.end_array();
            }
            OutputItemKind::Reasoning {
                summary,
                encrypted_content,
            } => {
                json.key("type").literal("reasoning");
                json.key("summary").begin_array();
                if !summary.is_empty() {
                    write_summary_part(summary, json);
                }
                json.end_array();
                if let Some(sealed) = encrypted_content {
                    json.key("encrypted_content").text(sealed);
                }
            }
            OutputItemKind::FunctionCall {
                call_id,
                name,
                arguments,
            } => {
                json.key("type").literal("function_call");
                json.key("status").literal(status.name());
                json.key("call_id").text(call_id).key("name").text(name);
                json.key("arguments").text(arguments);
            }
            OutputItemKind::CustomToolCall {
                call_id,
                name,
                input,
            } => {
                json.key("type").literal("custom_tool_call");
                json.key("status").literal(status.name());
                json.key("call_id").text(call_id).key("name").text(name);
                json.key("input").text(input);
            }
        }
        json.end_object();
    }
}

impl MessageContent<'_> {
    pub(super) fn write(&self, json: &mut JsonWriter) {
        match self.is_refusal {
            true => {
                json.begin_object().key("type").literal("refusal");
                json.key("refusal").text(&self.text).end_object();
            }
            false => {
                json.begin_object().key("type").literal("output_text");
                json.key("annotations").raw("[]").key("logprobs").raw("[]");
                json.key("text").text(&self.text).end_object();
            }
        }
    }
}

impl ItemStatus {
    fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
        }
    }
}

pub(super) fn write_summary_part(text: &EscapedText<'_>, json: &mut JsonWriter) {
    json.begin_object().key("type").literal("summary_text");
    json.key("text").text(text).end_object();
}
