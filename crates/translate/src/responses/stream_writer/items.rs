//! The output items of a stream: which are open, and which parts belong to them.

use super::event_writer::EventWriter;
use super::open_item::OpenItem;
use crate::context::ResponseContext;
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::responses::output_item::{ItemStatus, OutputItem, OutputItemKind};
use std::collections::BTreeMap;

/// The items so far, in the order in which the caller gets them.
#[derive(Debug, Default)]
pub(super) struct CallerItems {
    items: Vec<StreamItem>,
    /// Where the parts are that have not ended.
    parts: BTreeMap<u32, PartPlace>,
    /// Items whose parts have all ended, and that have not closed: the last one of a cut response is incomplete, which
    /// is known after the end of its parts.
    ended: Vec<usize>,
    stored_bytes: usize,
}

/// How the output of a response ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputEnd {
    Whole,
    CutLastItem,
    CutOpenItems,
}

/// What an item or a content takes besides its texts.
const ITEM_BYTES: usize = 512;

#[derive(Debug)]
enum StreamItem {
    Open(OpenItem),
    /// As JSON, for the last event.
    Closed(Vec<u8>),
}

#[derive(Clone, Copy, Debug)]
struct PartPlace {
    item: usize,
    /// The index of the content in a message.
    content: usize,
}

impl CallerItems {
    /// What the items take in memory.
    pub(super) fn stored_bytes(&self) -> usize {
        self.stored_bytes
    }

    /// Adds text of the model, or of its refusal.
    pub(super) fn add_content(
        &mut self,
        part: u32,
        is_refusal: bool,
        text: &EscapedText<'_>,
        context: &ResponseContext,
        writer: &mut EventWriter<'_>,
    ) {
        if text.is_empty() {
            return;
        }
        if !self.parts.contains_key(&part) {
            self.open_content(part, is_refusal, context, writer);
        }
        self.store(text);
        if let Some((item, content)) = self.open_item(part) {
            item.add_text(content, text, writer);
        }
    }

    pub(super) fn add_thoughts(
        &mut self,
        part: u32,
        text: &EscapedText<'_>,
        context: &ResponseContext,
        writer: &mut EventWriter<'_>,
    ) {
        if text.is_empty() {
            return;
        }
        self.open_thoughts(part, context, writer);
        self.store(text);
        if let Some((item, _)) = self.open_item(part) {
            item.add_thoughts(text, writer);
        }
    }

    /// Adds what proves thoughts, or contains them for their provider alone.
    pub(super) fn seal_thoughts(
        &mut self,
        part: u32,
        sealed: &EscapedText<'_>,
        context: &ResponseContext,
        writer: &mut EventWriter<'_>,
    ) {
        self.open_thoughts(part, context, writer);
        self.store(sealed);
        if let Some((item, _)) = self.open_item(part) {
            item.seal_thoughts(sealed);
        }
    }

    pub(super) fn add_call(
        &mut self,
        part: u32,
        id: &EscapedText<'_>,
        name: &EscapedText<'_>,
        context: &ResponseContext,
        writer: &mut EventWriter<'_>,
    ) {
        self.store(id);
        self.store(name);
        let call_id = id.clone().into_owned();
        let is_custom = context.is_custom_tool(name);
        let name = name.clone().into_owned();
        let nothing = EscapedText::default();
        let kind = match is_custom {
            true => OutputItemKind::CustomToolCall {
                call_id,
                name,
                input: nothing,
            },
            false => OutputItemKind::FunctionCall {
                call_id,
                name,
                arguments: nothing,
            },
        };
        self.open(part, kind, context, writer);
    }

    pub(super) fn add_arguments(
        &mut self,
        part: u32,
        json: &EscapedText<'_>,
        writer: &mut EventWriter<'_>,
    ) {
        self.store(json);
        if let Some((item, _)) = self.open_item(part) {
            item.add_arguments(json, writer);
        }
    }

    pub(super) fn add_free_text(
        &mut self,
        part: u32,
        text: &EscapedText<'_>,
        writer: &mut EventWriter<'_>,
    ) {
        self.store(text);
        if let Some((item, _)) = self.open_item(part) {
            item.add_free_text(text, writer);
        }
    }

    pub(super) fn end_part(&mut self, part: u32) {
        let Some(PartPlace { item, content }) = self.parts.remove(&part) else {
            return;
        };
        if let StreamItem::Open(open) = &mut self.items[item] {
            open.end_content(content);
            if open.has_ended() {
                self.ended.push(item);
            }
        }
    }

    /// Closes all items, for the end of the response.
    pub(super) fn close_all(&mut self, end: OutputEnd, writer: &mut EventWriter<'_>) {
        let last = self.items.len().wrapping_sub(1);
        for (position, item) in self.items.iter_mut().enumerate() {
            let StreamItem::Open(open) = item else {
                continue;
            };
            let is_cut = match end {
                OutputEnd::Whole => false,
                OutputEnd::CutLastItem => position == last,
                OutputEnd::CutOpenItems => !open.has_ended(),
            };
            let status = match is_cut {
                true => ItemStatus::Incomplete,
                false => ItemStatus::Completed,
            };
            *item = StreamItem::Closed(open.close(status, writer));
        }
        self.parts.clear();
        self.ended.clear();
    }

    /// The JSON of the closed items.
    pub(super) fn written(&self) -> impl Iterator<Item = &[u8]> {
        self.items.iter().filter_map(|item| match item {
            StreamItem::Open(_) => None,
            StreamItem::Closed(json) => Some(json.as_slice()),
        })
    }

    fn open_content(
        &mut self,
        part: u32,
        is_refusal: bool,
        context: &ResponseContext,
        writer: &mut EventWriter<'_>,
    ) {
        let last = self.items.len().wrapping_sub(1);
        let message = match self.items.last() {
            Some(StreamItem::Open(open)) if open.is_message() => last,
            Some(StreamItem::Open(_) | StreamItem::Closed(_)) | None => {
                self.open(part, OutputItemKind::Message(Vec::new()), context, writer)
            }
        };
        self.ended.retain(|ended| *ended != message);
        self.close_ended(writer);
        self.stored_bytes += ITEM_BYTES;
        if let StreamItem::Open(open) = &mut self.items[message] {
            let content = open.open_content(is_refusal, writer);
            let place = PartPlace {
                item: message,
                content,
            };
            self.parts.insert(part, place);
        }
    }

    fn open_thoughts(
        &mut self,
        part: u32,
        context: &ResponseContext,
        writer: &mut EventWriter<'_>,
    ) {
        if self.parts.contains_key(&part) {
            return;
        }
        let kind = OutputItemKind::Reasoning {
            summary: EscapedText::default(),
            encrypted_content: None,
        };
        self.open(part, kind, context, writer);
    }

    /// Opens an item after all others, and closes those that have ended.
    fn open(
        &mut self,
        part: u32,
        kind: OutputItemKind<'static>,
        context: &ResponseContext,
        writer: &mut EventWriter<'_>,
    ) -> usize {
        self.close_ended(writer);
        self.stored_bytes += ITEM_BYTES;
        let position = self.items.len();
        let output = OutputItem::new(kind, &context.id, position);
        writer.write("response.output_item.added", |json: &mut JsonWriter| {
            json.key("output_index").number(position as u64);
            output.write(ItemStatus::InProgress, json.key("item"));
        });
        self.items
            .push(StreamItem::Open(OpenItem::new(output, position)));
        let place = PartPlace {
            item: position,
            content: 0,
        };
        self.parts.insert(part, place);
        position
    }

    fn close_ended(&mut self, writer: &mut EventWriter<'_>) {
        for ended in std::mem::take(&mut self.ended) {
            if let StreamItem::Open(open) = &mut self.items[ended] {
                let json = open.close(ItemStatus::Completed, writer);
                self.items[ended] = StreamItem::Closed(json);
            }
        }
    }

    fn store(&mut self, text: &EscapedText<'_>) {
        self.stored_bytes += text.as_written().len();
    }

    /// The item of a part, and the index of its content.
    fn open_item(&mut self, part: u32) -> Option<(&mut OpenItem, usize)> {
        let PartPlace { item, content } = *self.parts.get(&part)?;
        match &mut self.items[item] {
            StreamItem::Open(open) => Some((open, content)),
            StreamItem::Closed(_) => None,
        }
    }
}
