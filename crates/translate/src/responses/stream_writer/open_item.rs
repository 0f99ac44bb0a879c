//! An output item that may get more content, and its events.

use super::event_writer::EventWriter;
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::responses::output_item::{
    ItemStatus, MessageContent, OutputItem, OutputItemKind, write_summary_part,
};
use crate::superset::Arguments;

#[derive(Debug)]
pub(super) struct OpenItem {
    output: OutputItem<'static>,
    /// Its index in the output.
    position: usize,
    /// What each content of a message is at. Other items have one content.
    contents: Vec<ContentState>,
    open_contents: usize,
    /// Contents that have ended and are not closed.
    ended_contents: Vec<usize>,
    call: CallItemForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ContentState {
    Open,
    /// Nothing more comes.
    Ended,
}

/// How a call's arguments come from the provider.
#[derive(Debug)]
enum CallItemForm {
    /// In the form in which the caller gets them.
    Same,
    /// As JSON for a tool of free text.
    Json(EscapedText<'static>),
    /// As free text for a function.
    FreeText,
}

impl OpenItem {
    pub(super) fn new(output: OutputItem<'static>, position: usize) -> Self {
        let contents = match output.kind {
            OutputItemKind::Message(_) => Vec::new(),
            OutputItemKind::Reasoning { .. }
            | OutputItemKind::FunctionCall { .. }
            | OutputItemKind::CustomToolCall { .. } => vec![ContentState::Open],
        };
        Self {
            output,
            position,
            open_contents: contents.len(),
            contents,
            ended_contents: Vec::new(),
            call: CallItemForm::Same,
        }
    }

    pub(super) fn is_message(&self) -> bool {
        matches!(self.output.kind, OutputItemKind::Message(_))
    }

    pub(super) fn has_ended(&self) -> bool {
        self.open_contents == 0
    }

    pub(super) fn end_content(&mut self, content: usize) {
        if self.contents.get(content) == Some(&ContentState::Open) {
            self.contents[content] = ContentState::Ended;
            self.open_contents -= 1;
            self.ended_contents.push(content);
        }
    }

    /// Opens a content of a message, and closes those that have ended.
    pub(super) fn open_content(&mut self, is_refusal: bool, writer: &mut EventWriter<'_>) -> usize {
        self.close_ended_contents(writer);
        let index = self.contents.len();
        let content = MessageContent {
            is_refusal,
            text: EscapedText::default(),
        };
        writer.write("response.content_part.added", |json| {
            self.write_place("content_index", index, json);
            content.write(json.key("part"));
        });
        if let OutputItemKind::Message(contents) = &mut self.output.kind {
            contents.push(content);
            self.contents.push(ContentState::Open);
            self.open_contents += 1;
        }
        index
    }

    pub(super) fn add_text(
        &mut self,
        index: usize,
        text: &EscapedText<'_>,
        writer: &mut EventWriter<'_>,
    ) {
        let OutputItemKind::Message(contents) = &mut self.output.kind else {
            return;
        };
        let Some(content) = contents.get_mut(index) else {
            return;
        };
        content.text.push(text);
        let is_refusal = content.is_refusal;
        let name = match is_refusal {
            true => "response.refusal.delta",
            false => "response.output_text.delta",
        };
        writer.write(name, |json| {
            self.write_place("content_index", index, json);
            json.key("delta").text(text);
            if !is_refusal {
                json.key("logprobs").raw("[]");
            }
        });
    }

    pub(super) fn add_thoughts(&mut self, text: &EscapedText<'_>, writer: &mut EventWriter<'_>) {
        let OutputItemKind::Reasoning { summary, .. } = &mut self.output.kind else {
            return;
        };
        let is_first = summary.is_empty();
        summary.push(text);
        if is_first {
            writer.write("response.reasoning_summary_part.added", |json| {
                self.write_place("summary_index", 0, json);
                write_summary_part(&EscapedText::default(), json.key("part"));
            });
        }
        writer.write("response.reasoning_summary_text.delta", |json| {
            self.write_place("summary_index", 0, json);
            json.key("delta").text(text);
        });
    }

    pub(super) fn seal_thoughts(&mut self, sealed: &EscapedText<'_>) {
        if let OutputItemKind::Reasoning {
            encrypted_content, ..
        } = &mut self.output.kind
        {
            *encrypted_content = Some(sealed.clone().into_owned());
        }
    }

    /// Adds a piece of the JSON of a call's arguments.
    pub(super) fn add_arguments(&mut self, json: &EscapedText<'_>, writer: &mut EventWriter<'_>) {
        match &self.output.kind {
            OutputItemKind::FunctionCall { .. } => self.add_call_text(json, writer),
            OutputItemKind::CustomToolCall { .. } => match &mut self.call {
                CallItemForm::Json(received) => received.push(json),
                CallItemForm::Same | CallItemForm::FreeText => {
                    self.call = CallItemForm::Json(json.clone().into_owned());
                }
            },
            OutputItemKind::Message(_) | OutputItemKind::Reasoning { .. } => {}
        }
    }

    /// Adds a piece of the text for a tool.
    pub(super) fn add_free_text(&mut self, text: &EscapedText<'_>, writer: &mut EventWriter<'_>) {
        match &self.output.kind {
            OutputItemKind::CustomToolCall { .. } => self.add_call_text(text, writer),
            OutputItemKind::FunctionCall { .. } => {
                let start = match self.call {
                    CallItemForm::FreeText => "",
                    CallItemForm::Same | CallItemForm::Json(_) => "{\"input\":\"",
                };
                self.call = CallItemForm::FreeText;
                let json = EscapedText::plain(&format!("{start}{}", text.as_written()));
                self.add_call_text(&json, writer);
            }
            OutputItemKind::Message(_) | OutputItemKind::Reasoning { .. } => {}
        }
    }

    /// Writes that nothing more comes; gives the item as JSON.
    pub(super) fn close(&mut self, status: ItemStatus, writer: &mut EventWriter<'_>) -> Vec<u8> {
        for content in 0..self.contents.len() {
            self.end_content(content);
        }
        match std::mem::replace(&mut self.call, CallItemForm::Same) {
            CallItemForm::Same => {}
            CallItemForm::Json(json) => {
                self.add_call_text(&Arguments::Text(json).free_text(), writer);
            }
            CallItemForm::FreeText => self.add_call_text(&EscapedText::plain("\"}"), writer),
        }
        self.close_ended_contents(writer);
        let mut item = JsonWriter::default();
        self.output.write(status, &mut item);
        writer.write("response.output_item.done", |json| {
            json.key("output_index").number(self.position as u64);
            json.key("item").raw(item.as_bytes());
        });
        item.into_bytes()
    }

    fn add_call_text(&mut self, text: &EscapedText<'_>, writer: &mut EventWriter<'_>) {
        let (name, whole) = match &mut self.output.kind {
            OutputItemKind::FunctionCall { arguments, .. } => {
                ("response.function_call_arguments.delta", arguments)
            }
            OutputItemKind::CustomToolCall { input, .. } => {
                ("response.custom_tool_call_input.delta", input)
            }
            OutputItemKind::Message(_) | OutputItemKind::Reasoning { .. } => return,
        };
        if text.is_empty() {
            return;
        }
        whole.push(text);
        writer.write(name, |json| {
            self.write_item_place(json);
            json.key("delta").text(text);
        });
    }

    fn close_ended_contents(&mut self, writer: &mut EventWriter<'_>) {
        for index in std::mem::take(&mut self.ended_contents) {
            self.write_content_end(index, writer);
        }
    }

    fn write_content_end(&self, index: usize, writer: &mut EventWriter<'_>) {
        match &self.output.kind {
            OutputItemKind::Message(contents) => {
                self.write_text_end(index, &contents[index], writer);
            }
            OutputItemKind::Reasoning { summary, .. } if summary.is_empty() => {}
            OutputItemKind::Reasoning { summary, .. } => {
                writer.write("response.reasoning_summary_text.done", |json| {
                    self.write_place("summary_index", 0, json);
                    json.key("text").text(summary);
                });
                writer.write("response.reasoning_summary_part.done", |json| {
                    self.write_place("summary_index", 0, json);
                    write_summary_part(summary, json.key("part"));
                });
            }
            OutputItemKind::FunctionCall {
                name, arguments, ..
            } => writer.write("response.function_call_arguments.done", |json| {
                self.write_item_place(json);
                json.key("name").text(name);
                json.key("arguments").text(arguments);
            }),
            OutputItemKind::CustomToolCall { input, .. } => {
                writer.write("response.custom_tool_call_input.done", |json| {
                    self.write_item_place(json);
                    json.key("input").text(input);
                });
            }
        }
    }

    fn write_text_end(
        &self,
        index: usize,
        content: &MessageContent<'_>,
        writer: &mut EventWriter<'_>,
    ) {
        let (name, member) = match content.is_refusal {
            true => ("response.refusal.done", "refusal"),
            false => ("response.output_text.done", "text"),
        };
        writer.write(name, |json| {
            self.write_place("content_index", index, json);
            json.key(member).text(&content.text);
            if !content.is_refusal {
                json.key("logprobs").raw("[]");
            }
        });
        writer.write("response.content_part.done", |json| {
            self.write_place("content_index", index, json);
            content.write(json.key("part"));
        });
    }

    fn write_place(&self, member: &'static str, index: usize, json: &mut JsonWriter) {
        self.write_item_place(json);
        json.key(member).number(index as u64);
    }

    fn write_item_place(&self, json: &mut JsonWriter) {
        json.key("item_id").text(&self.output.id);
        json.key("output_index").number(self.position as u64);
    }
}
