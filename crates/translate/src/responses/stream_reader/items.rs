//! The items of a stream that is read: what of each was given already, so that nothing is given twice or lost.

use crate::escaped_text::EscapedText;
use crate::responses::response_reader::{
    item_type, read_arguments, read_call, read_content, required,
};
use crate::responses::thoughts::SEPARATOR;
use crate::superset::{Arguments, OutputPart, StreamPiece};
use headgate_protocol::json::DocumentNode;
use std::collections::{BTreeMap, BTreeSet};

type Pieces<'p, 'e> = &'p mut Vec<StreamPiece<'e>>;

/// The items by their index in the output. Their ids are no names for them: some servers change them with each event.
#[derive(Debug, Default)]
pub(super) struct ProviderItems {
    items: BTreeMap<u64, ItemState>,
    next_part: u32,
    has_calls: bool,
}

/// A text of a reasoning item.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThoughtPlace {
    pub item: u64,
    pub is_summary: bool,
    /// Its index in the summary or the content.
    pub section: u64,
}

#[derive(Debug)]
enum ItemState {
    /// The contents of which something was given, by index.
    Message(BTreeMap<u64, StreamedMessageContent>),
    Reasoning {
        part: u32,
        /// The sections of which something was given, those of the summary as `true`.
        given: BTreeSet<(bool, u64)>,
        /// Whether it came as what only its provider can read.
        is_sealed: bool,
    },
    Call {
        part: u32,
        is_custom: bool,
        has_arguments: bool,
    },
    /// It has ended, or is of a type that no other protocol has.
    Closed,
}

#[derive(Debug)]
struct StreamedMessageContent {
    part: u32,
    has_ended: bool,
}

impl ProviderItems {
    /// Whether no event was about an item.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn has_calls(&self) -> bool {
        self.has_calls
    }

    pub(super) fn open_item<'e>(
        &mut self,
        index: u64,
        item: DocumentNode<'e>,
        pieces: Pieces<'_, 'e>,
    ) -> Result<(), String> {
        if self.items.contains_key(&index) {
            return Ok(());
        }
        let state = match item_type(item)?.as_written() {
            "message" => ItemState::Message(BTreeMap::new()),
            "reasoning" => ItemState::Reasoning {
                part: self.new_part(),
                given: BTreeSet::new(),
                is_sealed: false,
            },
            name @ ("function_call" | "custom_tool_call") => {
                let part = self.new_part();
                let (id, name_of_tool) = read_call(item)?;
                self.has_calls = true;
                pieces.push(StreamPiece::ToolCall {
                    part,
                    id,
                    name: name_of_tool,
                });
                ItemState::Call {
                    part,
                    is_custom: name == "custom_tool_call",
                    has_arguments: false,
                }
            }
            _ => ItemState::Closed,
        };
        self.items.insert(index, state);
        Ok(())
    }

    /// Adds a piece of a text, or of a refusal, at the index of an item and of its content.
    pub(super) fn add_text<'e>(
        &mut self,
        (item, content): (u64, u64),
        is_refusal: bool,
        text: EscapedText<'e>,
        pieces: Pieces<'_, 'e>,
    ) {
        if text.is_empty() {
            return;
        }
        let new_part = self.next_part;
        let message = self.items.entry(item);
        let message = message.or_insert_with(|| ItemState::Message(BTreeMap::new()));
        let ItemState::Message(contents) = message else {
            return;
        };
        let content = contents.entry(content).or_insert_with(|| {
            self.next_part += 1;
            StreamedMessageContent {
                part: new_part,
                has_ended: false,
            }
        });
        let part = content.part;
        if !content.has_ended {
            pieces.push(match is_refusal {
                true => StreamPiece::Refusal { part, text },
                false => StreamPiece::Text { part, text },
            });
        }
    }

    /// Adds a whole text of which no piece came.
    pub(super) fn complete_text<'e>(
        &mut self,
        place: (u64, u64),
        is_refusal: bool,
        text: EscapedText<'e>,
        pieces: Pieces<'_, 'e>,
    ) {
        let is_given = match self.items.get(&place.0) {
            Some(ItemState::Message(contents)) => contents.contains_key(&place.1),
            Some(ItemState::Reasoning { .. } | ItemState::Call { .. } | ItemState::Closed) => true,
            None => false,
        };
        if !is_given {
            self.add_text(place, is_refusal, text, pieces);
        }
    }

    pub(super) fn end_content<'e>(
        &mut self,
        place: (u64, u64),
        content: DocumentNode<'e>,
        pieces: Pieces<'_, 'e>,
    ) -> Result<(), String> {
        match read_content(content)? {
            Some(OutputPart::Text(text)) => self.complete_text(place, false, text, pieces),
            Some(OutputPart::Refusal(text)) => self.complete_text(place, true, text, pieces),
            Some(
                OutputPart::Thinking { .. }
                | OutputPart::SealedThinking(_)
                | OutputPart::ToolCall { .. },
            )
            | None => {}
        }
        if let Some(ItemState::Message(contents)) = self.items.get_mut(&place.0)
            && let Some(content) = contents.get_mut(&place.1)
        {
            content.end(pieces);
        }
        Ok(())
    }

    pub(super) fn add_thought<'e>(
        &mut self,
        place: ThoughtPlace,
        text: EscapedText<'e>,
        pieces: Pieces<'_, 'e>,
    ) {
        if text.is_empty() {
            return;
        }
        if !self.items.contains_key(&place.item) {
            let state = ItemState::Reasoning {
                part: self.new_part(),
                given: BTreeSet::new(),
                is_sealed: false,
            };
            self.items.insert(place.item, state);
        }
        let Some(ItemState::Reasoning { part, given, .. }) = self.items.get_mut(&place.item) else {
            return;
        };
        let part = *part;
        let is_first = given.is_empty();
        if given.insert((place.is_summary, place.section)) && !is_first {
            let text = SEPARATOR;
            pieces.push(StreamPiece::Thinking { part, text });
        }
        pieces.push(StreamPiece::Thinking { part, text });
    }

    /// Adds a whole text of which no piece came.
    pub(super) fn complete_thought<'e>(
        &mut self,
        place: ThoughtPlace,
        text: EscapedText<'e>,
        pieces: Pieces<'_, 'e>,
    ) {
        let key = (place.is_summary, place.section);
        let is_given = match self.items.get(&place.item) {
            Some(ItemState::Reasoning { given, .. }) => given.contains(&key),
            Some(ItemState::Message(_) | ItemState::Call { .. } | ItemState::Closed) => true,
            None => false,
        };
        if !is_given {
            self.add_thought(place, text, pieces);
        }
    }

    pub(super) fn add_arguments<'e>(
        &mut self,
        index: u64,
        text: EscapedText<'e>,
        pieces: Pieces<'_, 'e>,
    ) -> Result<(), String> {
        match self.items.get_mut(&index) {
            Some(ItemState::Call {
                part,
                is_custom,
                has_arguments,
            }) => {
                if !text.is_empty() {
                    *has_arguments = true;
                    pieces.push(arguments_piece(*part, *is_custom, text));
                }
                Ok(())
            }
            Some(ItemState::Message(_) | ItemState::Reasoning { .. } | ItemState::Closed) => Ok(()),
            None => Err(format!(
                "arguments of the call {index} came before the call"
            )),
        }
    }

    /// Adds whole arguments of which no piece came.
    pub(super) fn complete_arguments<'e>(
        &mut self,
        index: u64,
        text: EscapedText<'e>,
        pieces: Pieces<'_, 'e>,
    ) -> Result<(), String> {
        match self.items.get(&index) {
            Some(ItemState::Call {
                has_arguments: true,
                ..
            }) => Ok(()),
            Some(
                ItemState::Call { .. }
                | ItemState::Message(_)
                | ItemState::Reasoning { .. }
                | ItemState::Closed,
            )
            | None => self.add_arguments(index, text, pieces),
        }
    }

    /// Adds what did not come before the whole item.
    pub(super) fn end_item<'e>(
        &mut self,
        index: u64,
        item: DocumentNode<'e>,
        pieces: Pieces<'_, 'e>,
    ) -> Result<(), String> {
        self.open_item(index, item, pieces)?;
        match self.items.get(&index) {
            Some(ItemState::Message(_)) => {
                let contents = item.get("content").into_iter();
                for (content, place) in contents.flat_map(DocumentNode::elements).zip(0..) {
                    self.end_content((index, place), content, pieces)?;
                }
            }
            Some(ItemState::Reasoning { part, .. }) => {
                let part = *part;
                self.end_thoughts(index, part, item, pieces);
            }
            Some(ItemState::Call { is_custom, .. }) => {
                let text = match is_custom {
                    true => required(item, "input")?,
                    false => match read_arguments(item)? {
                        Arguments::Text(text) | Arguments::FreeText(text) => text,
                        Arguments::Object(json) => EscapedText::plain(json),
                    },
                };
                self.complete_arguments(index, text, pieces)?;
            }
            Some(ItemState::Closed) | None => {}
        }
        if let Some(state) = self.items.get_mut(&index) {
            state.end(pieces);
        }
        Ok(())
    }

    pub(super) fn end_all(&mut self, pieces: Pieces<'_, '_>) {
        self.items.values_mut().for_each(|state| state.end(pieces));
    }

    fn end_thoughts<'e>(
        &mut self,
        item: u64,
        part: u32,
        node: DocumentNode<'e>,
        pieces: Pieces<'_, 'e>,
    ) {
        let [summary, content, sealed] = node.get_each(["summary", "content", "encrypted_content"]);
        for (list, is_summary) in [(summary, true), (content, false)] {
            let texts = list.into_iter().flat_map(DocumentNode::elements);
            for (text, section) in texts.zip(0..) {
                let place = ThoughtPlace {
                    item,
                    is_summary,
                    section,
                };
                if let Some(text) = text.get("text").and_then(EscapedText::from_node) {
                    self.complete_thought(place, text, pieces);
                }
            }
        }
        let sealed = sealed.and_then(EscapedText::from_node);
        let Some(sealed) = sealed.filter(|sealed| !sealed.is_empty()) else {
            return;
        };
        if let Some(ItemState::Reasoning {
            given, is_sealed, ..
        }) = self.items.get_mut(&item)
        {
            *is_sealed = true;
            pieces.push(match given.is_empty() {
                true => StreamPiece::SealedThinking { part, data: sealed },
                false => StreamPiece::Signature {
                    part,
                    signature: sealed,
                },
            });
        }
    }

    fn new_part(&mut self) -> u32 {
        self.next_part += 1;
        self.next_part - 1
    }
}

impl ItemState {
    /// Gives the end of what was given of the item.
    fn end(&mut self, pieces: Pieces<'_, '_>) {
        match self {
            Self::Message(contents) => {
                contents
                    .values_mut()
                    .for_each(|content| content.end(pieces));
            }
            Self::Reasoning {
                given,
                is_sealed: false,
                ..
            } if given.is_empty() => {}
            Self::Reasoning { part, .. } | Self::Call { part, .. } => {
                pieces.push(StreamPiece::PartEnd { part: *part });
            }
            Self::Closed => {}
        }
        *self = Self::Closed;
    }
}

impl StreamedMessageContent {
    fn end(&mut self, pieces: Pieces<'_, '_>) {
        if !std::mem::replace(&mut self.has_ended, true) {
            let part = self.part;
            pieces.push(StreamPiece::PartEnd { part });
        }
    }
}

fn arguments_piece(part: u32, is_custom: bool, text: EscapedText<'_>) -> StreamPiece<'_> {
    match is_custom {
        true => StreamPiece::FreeText { part, text },
        false => StreamPiece::Arguments { part, json: text },
    }
}
