//! Seals the thoughts of a response for its caller.

use super::handle::with_handle;
use super::seal::{CONTENT_BYTES_MAX, SealedThoughts, ThinkingSealer, ThoughtText};
use crate::escaped_text::EscapedText;
use crate::superset::{OutputPart, Response, StreamPiece};
use headgate_protocol::conversation::ConversationFormat;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Largest size of the seals that one handle stands for, in bytes.
const KEPT_BYTES_MAX: usize = 128 << 10;

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
    /// For callers that give back calls, and often no thoughts.
    handles: Option<CallHandles>,
}

/// Puts handles of thoughts into the ids of the calls behind them.
#[derive(Debug, Default)]
struct CallHandles {
    /// Seals that no handle stands for yet, one a line.
    waiting: String,
    has_waiting: bool,
    /// The handle of the last seals before this call.
    handle: Option<Box<str>>,
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
            OutputPart::ToolCall { id, .. } => seals.add_handle(id),
            OutputPart::Text(_) | OutputPart::Refusal(_) => {}
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
            StreamPiece::ToolCall { part, mut id, name } => {
                self.seals.add_handle(&mut id);
                pieces.push(StreamPiece::ToolCall { part, id, name });
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
            handles: (caller == ConversationFormat::Chat).then(CallHandles::default),
        }
    }

    /// Puts a handle of the thoughts before a call into its id.
    fn add_handle(&mut self, id: &mut EscapedText<'_>) {
        let sealer = self.sealer.as_deref();
        if let (Some(handles), Some(sealer)) = (&mut self.handles, sealer) {
            handles.add_to(id, sealer);
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
        let seal = thoughts.seal(self.sealer.as_deref()?);
        if let Some(handles) = &mut self.handles {
            handles.wait(seal.as_ref());
        }
        seal
    }
}

impl CallHandles {
    /// Notes a seal; `None` for thoughts that are too large for one, which leaves nothing to be kept.
    fn wait(&mut self, seal: Option<&EscapedText<'_>>) {
        let before = std::mem::replace(&mut self.has_waiting, true);
        let is_lost = before && self.waiting.is_empty();
        let seal = seal.map(EscapedText::as_written).filter(|_| !is_lost);
        match seal.filter(|seal| self.waiting.len() + seal.len() < KEPT_BYTES_MAX) {
            Some(seal) => {
                if before {
                    self.waiting.push('\n');
                }
                self.waiting.push_str(seal);
            }
            None => self.waiting = String::new(),
        }
    }

    fn add_to(&mut self, id: &mut EscapedText<'_>, sealer: &dyn ThinkingSealer) {
        if std::mem::take(&mut self.has_waiting) {
            self.handle = sealer.keep(std::mem::take(&mut self.waiting));
        }
        if let Some(marked) = self.handle.as_deref().and_then(|it| with_handle(id, it)) {
            *id = marked;
        }
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
