//! Seals the thoughts of a response for its caller.

use super::seal::{CONTENT_BYTES_MAX, SealedThoughts, ThinkingSealer, ThoughtText};
use crate::escaped_text::EscapedText;
use crate::superset::{OutputPart, Response, StreamPiece};
use headgate_protocol::conversation::ConversationFormat;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Puts seals into the pieces of a stream, in place of the proofs of the provider.
#[derive(Debug)]
pub(crate) struct StreamSealing {
    seals: ThoughtSeals,
    /// The part whose thoughts come now.
    open: Option<OpenThoughts>,
}

/// Makes the seals of one response.
#[derive(Debug)]
struct ThoughtSeals {
    /// `None` if the gateway has no keys: then nothing proves thoughts.
    sealer: Option<Arc<dyn ThinkingSealer>>,
    /// Whether seals have the text of thoughts: its callers may give back another one.
    has_text: bool,
    made: u16,
}

#[derive(Debug)]
struct OpenThoughts {
    part: u32,
    /// As they are written, up to the limit of a seal.
    text: EscapedText<'static>,
    proof: Option<String>,
}

/// Puts seals into a whole response.
pub(crate) fn seal_response(
    response: &mut Response<'_>,
    caller: ConversationFormat,
    sealer: Option<Arc<dyn ThinkingSealer>>,
) {
    let mut seals = ThoughtSeals::new(caller, sealer);
    for part in &mut response.parts {
        match part {
            OutputPart::Thinking { text, signature } => {
                let proof = signature.take().map(|proof| proof.decoded().into_owned());
                *signature = seals.seal_text(text, proof);
            }
            OutputPart::SealedThinking(data) => {
                let seal = seals.seal_unreadable(data);
                *data = seal.unwrap_or_default();
            }
            OutputPart::Text(_) | OutputPart::Refusal(_) | OutputPart::ToolCall { .. } => {}
        }
    }
    response
        .parts
        .retain(|part| !matches!(part, OutputPart::SealedThinking(data) if data.is_empty()));
}

impl StreamSealing {
    pub fn new(caller: ConversationFormat, sealer: Option<Arc<dyn ThinkingSealer>>) -> Self {
        Self {
            seals: ThoughtSeals::new(caller, sealer),
            open: None,
        }
    }

    /// Whether thoughts get seals.
    pub fn has_seals(&self) -> bool {
        self.seals.sealer.is_some()
    }

    /// Adds what the caller gets for a piece.
    pub fn apply<'e>(&mut self, piece: StreamPiece<'e>, pieces: &mut Vec<StreamPiece<'e>>) {
        if self
            .open
            .as_ref()
            .is_some_and(|open| ends(&piece, open.part))
        {
            self.close(pieces);
        }
        match piece {
            StreamPiece::Thinking { part, text } => {
                let open = self.open.get_or_insert_with(|| OpenThoughts::new(part));
                if open.text.as_written().len() <= CONTENT_BYTES_MAX {
                    open.text.push(&text);
                }
                pieces.push(StreamPiece::Thinking { part, text });
            }
            StreamPiece::Signature { part, signature } => {
                let open = self.open.get_or_insert_with(|| OpenThoughts::new(part));
                let proof = open.proof.get_or_insert_default();
                if proof.len() <= CONTENT_BYTES_MAX {
                    proof.push_str(&signature.decoded());
                }
            }
            StreamPiece::SealedThinking { part, data } => {
                if let Some(data) = self.seals.seal_unreadable(&data) {
                    pieces.push(StreamPiece::SealedThinking { part, data });
                }
            }
            other => pieces.push(other),
        }
    }

    /// Adds the seal of the thoughts that came.
    fn close(&mut self, pieces: &mut Vec<StreamPiece<'_>>) {
        if let Some(OpenThoughts { part, text, proof }) = self.open.take()
            && let Some(signature) = self.seals.seal_text(&text, proof)
        {
            pieces.push(StreamPiece::Signature { part, signature });
        }
    }
}

impl OpenThoughts {
    fn new(part: u32) -> Self {
        Self {
            part,
            text: EscapedText::default(),
            proof: None,
        }
    }
}

impl ThoughtSeals {
    fn new(caller: ConversationFormat, sealer: Option<Arc<dyn ThinkingSealer>>) -> Self {
        Self {
            sealer,
            has_text: match caller {
                ConversationFormat::Messages => false,
                ConversationFormat::Chat | ConversationFormat::Responses => true,
            },
            made: 0,
        }
    }

    fn seal_text(
        &mut self,
        text: &EscapedText<'_>,
        proof: Option<String>,
    ) -> Option<EscapedText<'static>> {
        let decoded = text.decoded();
        let text = match self.has_text {
            true => ThoughtText::Whole(decoded.into_owned()),
            false => ThoughtText::Digest(Sha256::digest(&*decoded).into()),
        };
        self.seal(proof, text)
    }

    fn seal_unreadable(&mut self, data: &EscapedText<'_>) -> Option<EscapedText<'static>> {
        self.seal(Some(data.decoded().into_owned()), ThoughtText::Unreadable)
    }

    fn seal(&mut self, proof: Option<String>, text: ThoughtText) -> Option<EscapedText<'static>> {
        let position = self.made;
        self.made = self.made.saturating_add(1);
        let thoughts = SealedThoughts {
            position,
            proof,
            text,
        };
        thoughts.seal(self.sealer.as_deref()?)
    }
}

/// Whether the thoughts of `part` are complete when this piece comes.
fn ends(piece: &StreamPiece<'_>, part: u32) -> bool {
    match piece {
        StreamPiece::Thinking { part: other, .. } | StreamPiece::Signature { part: other, .. } => {
            *other != part
        }
        StreamPiece::Usage(_) => false,
        StreamPiece::PartEnd { part: ended } => *ended == part,
        StreamPiece::Start { .. }
        | StreamPiece::Text { .. }
        | StreamPiece::Refusal { .. }
        | StreamPiece::SealedThinking { .. }
        | StreamPiece::ToolCall { .. }
        | StreamPiece::Arguments { .. }
        | StreamPiece::FreeText { .. }
        | StreamPiece::Finish { .. }
        | StreamPiece::End
        | StreamPiece::Error { .. } => true,
    }
}
