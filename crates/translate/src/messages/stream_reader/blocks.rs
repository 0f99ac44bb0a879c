//! The content blocks of a stream that is read: those that are open, and their parts.

use crate::escaped_text::EscapedText;
use crate::messages::response_reader::{read_input, required};
use crate::superset::{OutputPart, StreamPiece};
use headgate_protocol::json::DocumentNode;
use std::collections::HashMap;

type Pieces<'p, 'e> = &'p mut Vec<StreamPiece<'e>>;

/// What the whole inputs of open calls may take in memory, in bytes: 16 MiB.
const INPUT_BYTES_MAX: usize = 16 << 20;
/// How many blocks may be open at once. Providers open one after the other.
const OPEN_BLOCKS_MAX: usize = 16_384;

/// The open blocks by their index.
#[derive(Debug, Default)]
pub(super) struct StreamBlocks {
    open: HashMap<u64, StreamedBlock>,
    next_part: u32,
    input_bytes: usize,
}

#[derive(Debug)]
enum StreamedBlock {
    Content(BlockContentKind, u32),
    Call {
        part: u32,
        /// The input that came with the start of the block. Pieces of JSON text replace it.
        input: Option<String>,
    },
    /// Blocks of tools that the provider runs, and types that are unknown.
    Skipped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockContentKind {
    Text,
    Thinking,
}

impl StreamBlocks {
    /// Whether anything of a response was read.
    pub(super) fn has_content(&self) -> bool {
        self.next_part > 0 || !self.open.is_empty()
    }

    pub(super) fn open<'e>(
        &mut self,
        index: u64,
        block: DocumentNode<'e>,
        pieces: Pieces<'_, 'e>,
    ) -> Result<(), String> {
        self.close(index, pieces);
        let text = |member| {
            let text = block.get(member).and_then(EscapedText::from_node);
            text.filter(|text| !text.is_empty())
        };
        match required(block, "type")?.as_written() {
            "text" => {
                let part = self.begin(index, BlockContentKind::Text)?;
                pieces.extend(text("text").map(|text| StreamPiece::Text { part, text }));
            }
            "thinking" => {
                let part = self.begin(index, BlockContentKind::Thinking)?;
                let thoughts = text("thinking").map(|text| StreamPiece::Thinking { part, text });
                pieces.extend(thoughts);
                let signature = text("signature");
                pieces
                    .extend(signature.map(|signature| StreamPiece::Signature { part, signature }));
            }
            "redacted_thinking" => {
                let part = self.begin(index, BlockContentKind::Thinking)?;
                let data = required(block, "data")?;
                pieces.push(StreamPiece::SealedThinking { part, data });
            }
            "tool_use" => self.open_call(index, block, pieces)?,
            _ => self.insert(index, StreamedBlock::Skipped)?,
        }
        Ok(())
    }

    /// Adds a delta. Blocks of texts need no start: some providers send none.
    pub(super) fn add<'e>(
        &mut self,
        index: u64,
        delta: DocumentNode<'e>,
        pieces: Pieces<'_, 'e>,
    ) -> Result<(), String> {
        if matches!(self.open.get(&index), Some(StreamedBlock::Skipped)) {
            return Ok(());
        }
        match required(delta, "type")?.as_written() {
            "text_delta" => {
                let text = required(delta, "text")?;
                if !text.is_empty() {
                    let part = self.content(index, BlockContentKind::Text, pieces)?;
                    pieces.push(StreamPiece::Text { part, text });
                }
            }
            "thinking_delta" => {
                let text = required(delta, "thinking")?;
                if !text.is_empty() {
                    let part = self.content(index, BlockContentKind::Thinking, pieces)?;
                    pieces.push(StreamPiece::Thinking { part, text });
                }
            }
            "signature_delta" => {
                let signature = required(delta, "signature")?;
                if !signature.is_empty() {
                    let part = self.content(index, BlockContentKind::Thinking, pieces)?;
                    pieces.push(StreamPiece::Signature { part, signature });
                }
            }
            "input_json_delta" => {
                let json = required(delta, "partial_json")?;
                if !json.is_empty() {
                    let part = self.call(index)?;
                    pieces.push(StreamPiece::Arguments { part, json });
                }
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn close(&mut self, index: u64, pieces: Pieces<'_, '_>) {
        if let Some(block) = self.open.remove(&index) {
            self.end(block, pieces);
        }
    }

    /// Closes the blocks of which no end came.
    pub(super) fn close_all(&mut self, pieces: Pieces<'_, '_>) {
        let mut open: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        open.sort_unstable_by_key(|(index, _)| *index);
        for (_, block) in open {
            self.end(block, pieces);
        }
    }

    /// Adds a part that came as a whole.
    pub(super) fn add_whole<'e>(&mut self, whole: OutputPart<'e>, pieces: Pieces<'_, 'e>) {
        let part = self.new_part();
        match whole {
            OutputPart::Text(text) => pieces.push(StreamPiece::Text { part, text }),
            OutputPart::Refusal(text) => pieces.push(StreamPiece::Refusal { part, text }),
            OutputPart::Thinking { text, signature } => {
                pieces.push(StreamPiece::Thinking { part, text });
                let signature =
                    signature.map(|signature| StreamPiece::Signature { part, signature });
                pieces.extend(signature);
            }
            OutputPart::SealedThinking(data) => {
                pieces.push(StreamPiece::SealedThinking { part, data });
            }
            OutputPart::ToolCall {
                id,
                name,
                arguments,
            } => {
                pieces.push(StreamPiece::ToolCall { part, id, name });
                let json = arguments.json_text();
                pieces.push(StreamPiece::Arguments { part, json });
            }
        }
        pieces.push(StreamPiece::PartEnd { part });
    }

    fn open_call<'e>(
        &mut self,
        index: u64,
        block: DocumentNode<'e>,
        pieces: Pieces<'_, 'e>,
    ) -> Result<(), String> {
        let (id, name) = (required(block, "id")?, required(block, "name")?);
        let part = self.new_part();
        pieces.push(StreamPiece::ToolCall { part, id, name });
        // It counts if no deltas come, as for a call without arguments.
        let input = read_input(block)?.unwrap_or("{}").to_owned();
        self.input_bytes += input.len();
        if self.input_bytes > INPUT_BYTES_MAX {
            return Err("too many tool calls are open".into());
        }
        self.insert(
            index,
            StreamedBlock::Call {
                part,
                input: Some(input),
            },
        )
    }

    fn begin(&mut self, index: u64, kind: BlockContentKind) -> Result<u32, String> {
        let part = self.new_part();
        self.insert(index, StreamedBlock::Content(kind, part))?;
        Ok(part)
    }

    fn insert(&mut self, index: u64, block: StreamedBlock) -> Result<(), String> {
        self.open.insert(index, block);
        match self.open.len() > OPEN_BLOCKS_MAX {
            true => Err("too many content blocks are open".into()),
            false => Ok(()),
        }
    }

    /// The part of the open block of this kind. A block of another kind ends here.
    fn content(
        &mut self,
        index: u64,
        kind: BlockContentKind,
        pieces: Pieces<'_, '_>,
    ) -> Result<u32, String> {
        match self.open.get(&index) {
            Some(StreamedBlock::Content(open, part)) if *open == kind => Ok(*part),
            Some(
                StreamedBlock::Content(..) | StreamedBlock::Call { .. } | StreamedBlock::Skipped,
            )
            | None => {
                self.close(index, pieces);
                self.begin(index, kind)
            }
        }
    }

    fn call(&mut self, index: u64) -> Result<u32, String> {
        match self.open.get_mut(&index) {
            Some(StreamedBlock::Call { part, input }) => {
                let replaced = input.take().map_or(0, |input| input.len());
                self.input_bytes -= replaced;
                Ok(*part)
            }
            Some(StreamedBlock::Content(..) | StreamedBlock::Skipped) | None => {
                Err("an event has arguments of a tool call that is not open".into())
            }
        }
    }

    fn end(&mut self, block: StreamedBlock, pieces: Pieces<'_, '_>) {
        let part = match block {
            StreamedBlock::Content(_, part) => part,
            StreamedBlock::Call { part, input } => {
                if let Some(input) = input {
                    self.input_bytes -= input.len();
                    let json = EscapedText::plain(&input);
                    pieces.push(StreamPiece::Arguments { part, json });
                }
                part
            }
            StreamedBlock::Skipped => return,
        };
        pieces.push(StreamPiece::PartEnd { part });
    }

    fn new_part(&mut self) -> u32 {
        let part = self.next_part;
        self.next_part += 1;
        part
    }
}
