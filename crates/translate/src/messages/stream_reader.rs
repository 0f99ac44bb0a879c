//! Reads a stream of the messages protocol.

mod blocks;

use super::response_reader::{read_block, read_error};
use super::words::{MessageTokenCounts, known_stop};
use crate::escaped_text::EscapedText;
use crate::superset::StreamPiece;
use blocks::StreamBlocks;
use headgate_protocol::json::DocumentNode;

/// The state of a stream that is read.
#[derive(Debug, Default)]
pub(crate) struct MessagesStreamReader {
    has_started: bool,
    /// Its last event was read.
    has_ended: bool,
    blocks: StreamBlocks,
    counts: MessageTokenCounts,
}

impl MessagesStreamReader {
    /// Adds the pieces of an event.
    ///
    /// # Errors
    /// Why the event is not of the protocol.
    pub(crate) fn read<'e>(
        &mut self,
        event: DocumentNode<'e>,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) -> Result<(), String> {
        if self.has_ended {
            return Ok(());
        }
        let [name, error] = event.get_each(["type", "error"]);
        let Some(name) = name.and_then(EscapedText::from_node) else {
            let error = error.filter(|error| !error.is_null());
            let error = error.ok_or("an event has no text `type`")?;
            self.fail(error, pieces);
            return Ok(());
        };
        match name.as_written() {
            "message_start" => self.start(event, pieces),
            "content_block_start" => {
                let block = event.get("content_block");
                let block = block.ok_or("an event has no `content_block`")?;
                self.blocks.open(block_index(event)?, block, pieces)
            }
            "content_block_delta" => {
                let delta = event.get("delta").ok_or("an event has no `delta`")?;
                self.blocks.add(block_index(event)?, delta, pieces)
            }
            "content_block_stop" => {
                self.blocks.close(block_index(event)?, pieces);
                Ok(())
            }
            "message_delta" => {
                let [delta, usage] = event.get_each(["delta", "usage"]);
                if let Some(delta) = delta {
                    read_stop(delta, pieces)?;
                }
                self.update_usage(usage, pieces);
                Ok(())
            }
            "message_stop" => {
                self.has_ended = true;
                self.blocks.close_all(pieces);
                pieces.push(StreamPiece::End);
                Ok(())
            }
            "error" => {
                self.fail(error.unwrap_or(event), pieces);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Some gateways repeat the first event, and some send that of a second response after they lost a first one.
    fn start<'e>(
        &mut self,
        event: DocumentNode<'e>,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) -> Result<(), String> {
        if self.blocks.has_content() {
            return Err("a second response begins in the middle of the stream".into());
        }
        let message = event.get("message").ok_or("an event has no `message`")?;
        let [id, content, usage] = message.get_each(["id", "content", "usage"]);
        self.counts.update(usage);
        if std::mem::replace(&mut self.has_started, true) {
            pieces.extend(self.counts.usage().map(StreamPiece::Usage));
        } else {
            pieces.push(StreamPiece::Start {
                id: id.and_then(EscapedText::from_node),
                usage: self.counts.usage(),
            });
        }
        for block in content.into_iter().flat_map(DocumentNode::elements) {
            if let Some(part) = read_block(block)? {
                self.blocks.add_whole(part, pieces);
            }
        }
        read_stop(message, pieces)
    }

    /// The newest counts of each kind. Events repeat them, so that they are never added.
    fn update_usage(&mut self, usage: Option<DocumentNode<'_>>, pieces: &mut Vec<StreamPiece<'_>>) {
        if self.counts.update(usage) {
            pieces.extend(self.counts.usage().map(StreamPiece::Usage));
        }
    }

    fn fail<'e>(&mut self, error: DocumentNode<'e>, pieces: &mut Vec<StreamPiece<'e>>) {
        self.has_ended = true;
        let (message, code) = read_error(error);
        pieces.push(StreamPiece::Error { message, code });
    }
}

fn read_stop<'e>(delta: DocumentNode<'e>, pieces: &mut Vec<StreamPiece<'e>>) -> Result<(), String> {
    let [reason, stop_sequence] = delta.get_each(["stop_reason", "stop_sequence"]);
    if let Some(reason) = known_stop(reason)? {
        pieces.push(StreamPiece::Finish {
            reason,
            stop_sequence: stop_sequence.and_then(EscapedText::from_node),
        });
    }
    Ok(())
}

fn block_index(event: DocumentNode<'_>) -> Result<u64, String> {
    let index = event.get("index").and_then(DocumentNode::as_u64);
    index.ok_or_else(|| "an event has no `index` of a block".to_owned())
}
