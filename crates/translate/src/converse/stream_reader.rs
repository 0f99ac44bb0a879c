//! Reads a stream of the protocol: each event is an object with one member, its type, as the service's model has it.
//!
//! The framing puts the errors of a stream into the member `error`, as other protocols have it.

mod blocks;

use super::words::{error_word, known_stop, required, stop_sequence, text, usage};
use crate::escaped_text::EscapedText;
use crate::superset::StreamPiece;
use blocks::ConverseBlocks;
use headgate_protocol::json::DocumentNode;

/// The state of a stream that is read.
#[derive(Debug, Default)]
pub(crate) struct ConverseStreamReader {
    /// Its last event was read.
    has_ended: bool,
    blocks: ConverseBlocks,
}

impl ConverseStreamReader {
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
        for (name, value) in event.members() {
            self.read_member(&name, value, pieces)?;
        }
        Ok(())
    }

    fn read_member<'e>(
        &mut self,
        name: &str,
        event: DocumentNode<'e>,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) -> Result<(), String> {
        match name {
            "messageStart" => pieces.push(StreamPiece::Start {
                id: None,
                usage: None,
            }),
            "contentBlockStart" => {
                let start = event.get("start").ok_or("an event has no `start`")?;
                self.blocks.open(block_index(event)?, start, pieces)?;
            }
            "contentBlockDelta" => {
                let delta = event.get("delta").ok_or("an event has no `delta`")?;
                self.blocks.add(block_index(event)?, delta, pieces)?;
            }
            "contentBlockStop" => self.blocks.close(block_index(event)?, pieces),
            "messageStop" => {
                self.blocks.close_all(pieces);
                let reason = known_stop(event.get("stopReason"))?;
                pieces.extend(reason.map(|reason| StreamPiece::Finish {
                    reason,
                    stop_sequence: stop_sequence(event),
                }));
            }
            "metadata" => {
                self.has_ended = true;
                self.blocks.close_all(pieces);
                pieces.extend(usage(event.get("usage")).map(StreamPiece::Usage));
                pieces.push(StreamPiece::End);
            }
            "error" => {
                self.has_ended = true;
                let unnamed = "the provider reports an error without a message";
                let code = required(event, "type")?;
                pieces.push(StreamPiece::Error {
                    message: text(event, "message").unwrap_or(EscapedText::literal(unnamed)),
                    code: Some(error_word(event).unwrap_or(code)),
                });
            }
            // Events that are newer than the gateway: the table of fields notes them.
            _ => {}
        }
        Ok(())
    }
}

fn block_index(event: DocumentNode<'_>) -> Result<u64, String> {
    let index = event
        .get("contentBlockIndex")
        .and_then(DocumentNode::as_u64);
    index.ok_or_else(|| "an event has no `contentBlockIndex`".to_owned())
}
