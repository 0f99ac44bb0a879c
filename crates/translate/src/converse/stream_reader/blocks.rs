//! The content blocks of a stream that is read: those that are open, and their parts.

use crate::converse::words::{required, text};
use crate::escaped_text::EscapedText;
use crate::superset::StreamPiece;
use headgate_protocol::json::DocumentNode;
use std::collections::HashMap;

type Pieces<'p, 'e> = &'p mut Vec<StreamPiece<'e>>;

/// How many blocks may be open at once. Providers open one after the other.
const OPEN_BLOCKS_MAX: usize = 16_384;

/// The open blocks by their index.
#[derive(Debug, Default)]
pub(super) struct ConverseBlocks {
    open: HashMap<u64, ConverseBlock>,
    next_part: u32,
}

#[derive(Clone, Copy, Debug)]
struct ConverseBlock {
    kind: ConverseBlockKind,
    part: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConverseBlockKind {
    Text,
    Thinking,
    Call {
        has_input: bool,
    },
    /// Kinds that callers cannot get.
    Skipped,
}

impl ConverseBlocks {
    /// Opens a block. Those of texts and thoughts have no start of their own.
    pub(super) fn open<'e>(
        &mut self,
        index: u64,
        start: DocumentNode<'e>,
        pieces: Pieces<'_, 'e>,
    ) -> Result<(), String> {
        self.close(index, pieces);
        match start.get("toolUse") {
            Some(call) => {
                let (id, name) = (required(call, "toolUseId")?, required(call, "name")?);
                let part = self.begin(index, ConverseBlockKind::Call { has_input: false })?;
                pieces.push(StreamPiece::ToolCall { part, id, name });
            }
            // Some models start their texts, with an object without members.
            None if start.is_empty() => {}
            None => {
                self.begin(index, ConverseBlockKind::Skipped)?;
            }
        }
        Ok(())
    }

    pub(super) fn add<'e>(
        &mut self,
        index: u64,
        delta: DocumentNode<'e>,
        pieces: Pieces<'_, 'e>,
    ) -> Result<(), String> {
        let is_skipped = |block: &ConverseBlock| block.kind == ConverseBlockKind::Skipped;
        if self.open.get(&index).is_some_and(is_skipped) {
            return Ok(());
        }
        if let Some(text) = text(delta, "text") {
            let part = self.content(index, ConverseBlockKind::Text, pieces)?;
            pieces.push(StreamPiece::Text { part, text });
        }
        let [call, thoughts] = delta.get_each(["toolUse", "reasoningContent"]);
        if let Some(json) = call.and_then(|call| text(call, "input")) {
            let part = self.call(index)?;
            pieces.push(StreamPiece::Arguments { part, json });
        }
        match thoughts {
            Some(thoughts) => self.add_thoughts(index, thoughts, pieces),
            None => Ok(()),
        }
    }

    pub(super) fn close(&mut self, index: u64, pieces: Pieces<'_, '_>) {
        if let Some(block) = self.open.remove(&index) {
            end(block, pieces);
        }
    }

    /// Closes the blocks of which no end came.
    pub(super) fn close_all(&mut self, pieces: Pieces<'_, '_>) {
        let mut open: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        open.sort_unstable_by_key(|(index, _)| *index);
        for (_, block) in open {
            end(block, pieces);
        }
    }

    fn add_thoughts<'e>(
        &mut self,
        index: u64,
        thoughts: DocumentNode<'e>,
        pieces: Pieces<'_, 'e>,
    ) -> Result<(), String> {
        if let Some(text) = text(thoughts, "text") {
            let part = self.content(index, ConverseBlockKind::Thinking, pieces)?;
            pieces.push(StreamPiece::Thinking { part, text });
        }
        if let Some(signature) = text(thoughts, "signature") {
            let part = self.content(index, ConverseBlockKind::Thinking, pieces)?;
            pieces.push(StreamPiece::Signature { part, signature });
        }
        if let Some(data) = text(thoughts, "redactedContent") {
            // Each piece is base64 of its own, so that each is a part of its own.
            self.close(index, pieces);
            let part = self.begin(index, ConverseBlockKind::Thinking)?;
            pieces.push(StreamPiece::SealedThinking { part, data });
            self.close(index, pieces);
        }
        Ok(())
    }

    /// The part of the open block of this kind. A block of another kind ends here.
    fn content(
        &mut self,
        index: u64,
        kind: ConverseBlockKind,
        pieces: Pieces<'_, '_>,
    ) -> Result<u32, String> {
        match self.open.get(&index) {
            Some(open) if open.kind == kind => Ok(open.part),
            Some(_) | None => {
                self.close(index, pieces);
                self.begin(index, kind)
            }
        }
    }

    /// The part of the open call, to which input comes.
    fn call(&mut self, index: u64) -> Result<u32, String> {
        match self.open.get_mut(&index) {
            Some(ConverseBlock {
                kind: ConverseBlockKind::Call { has_input },
                part,
            }) => {
                *has_input = true;
                Ok(*part)
            }
            Some(_) | None => Err("an event has the input of a tool call that is not open".into()),
        }
    }

    fn begin(&mut self, index: u64, kind: ConverseBlockKind) -> Result<u32, String> {
        let part = self.next_part;
        self.next_part += 1;
        self.open.insert(index, ConverseBlock { kind, part });
        match self.open.len() > OPEN_BLOCKS_MAX {
            true => Err("too many content blocks are open".into()),
            false => Ok(part),
        }
    }
}

fn end(block: ConverseBlock, pieces: Pieces<'_, '_>) {
    let part = block.part;
    match block.kind {
        ConverseBlockKind::Skipped => return,
        // A call without arguments has no input, or an empty one.
        ConverseBlockKind::Call { has_input: false } => {
            let json = EscapedText::literal("{}");
            pieces.push(StreamPiece::Arguments { part, json });
        }
        ConverseBlockKind::Text
        | ConverseBlockKind::Thinking
        | ConverseBlockKind::Call { has_input: true } => {}
    }
    pieces.push(StreamPiece::PartEnd { part });
}
