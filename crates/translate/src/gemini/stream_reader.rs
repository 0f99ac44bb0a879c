//! Reads a stream: chunks, each of which is a response with the next parts.

use super::parts::{ReceivedPartKind, candidate_parts, first_candidate, made_id, read_part};
use super::response_reader::with_calls;
use super::signatures::SignaturePlace;
use super::words::{is_blocked, read_error, read_finish, read_usage};
use crate::escaped_text::EscapedText;
use crate::superset::{FinishReason, StreamPiece};
use headgate_protocol::json::{DocumentNode, ValueKind};

/// The state of a stream that is read.
#[derive(Debug)]
pub(crate) struct GeminiStreamReader {
    /// Part of the ids of calls to which the provider gives none.
    response_id: Box<str>,
    has_started: bool,
    next_part: u32,
    /// The part to which more text, or more thoughts, would belong.
    open: Option<OpenText>,
    texts: u32,
    calls: u32,
    /// Why the response ended; more may follow.
    finish: Option<FinishReason>,
}

#[derive(Clone, Copy, Debug)]
struct OpenText {
    part: u32,
    is_thought: bool,
}

type Pieces<'p, 'e> = &'p mut Vec<StreamPiece<'e>>;

impl GeminiStreamReader {
    pub(crate) fn new(response_id: &str) -> Self {
        Self {
            response_id: response_id.into(),
            has_started: false,
            next_part: 0,
            open: None,
            texts: 0,
            calls: 0,
            finish: None,
        }
    }

    /// Adds the pieces of a chunk.
    ///
    /// # Errors
    /// Why the chunk is not of the protocol.
    pub(crate) fn read<'e>(
        &mut self,
        chunk: DocumentNode<'e>,
        pieces: Pieces<'_, 'e>,
    ) -> Result<(), String> {
        if chunk.kind() != ValueKind::Object {
            return Err(format!("an event is {}", chunk.type_name()));
        }
        let [id, candidates, feedback, counts, error] = chunk.get_each([
            "responseId",
            "candidates",
            "promptFeedback",
            "usageMetadata",
            "error",
        ]);
        if let Some(error) = error.filter(|error| !error.is_null()) {
            let (message, code) = read_error(error);
            pieces.push(StreamPiece::Error { message, code });
            return Ok(());
        }
        let usage = read_usage(counts);
        if std::mem::replace(&mut self.has_started, true) {
            pieces.extend(usage.map(StreamPiece::Usage));
        } else {
            let id = id.and_then(EscapedText::from_node);
            pieces.push(StreamPiece::Start { id, usage });
        }
        if is_blocked(feedback) {
            self.finish = Some(FinishReason::ContentFilter);
        }
        if let Some(candidate) = first_candidate(candidates) {
            for part in candidate_parts(candidate) {
                self.read_part(part, pieces)?;
            }
            self.finish = read_finish(candidate.get("finishReason"))?.or(self.finish);
        }
        Ok(())
    }

    /// Adds the pieces for the end of the stream, which nothing but its last chunk announces.
    pub(crate) fn end(&mut self, pieces: Pieces<'_, '_>) {
        self.close(pieces);
        if let Some(finish) = self.finish {
            pieces.push(StreamPiece::Finish {
                reason: with_calls(finish, self.calls > 0),
                stop_sequence: None,
            });
        }
        pieces.push(StreamPiece::End);
    }

    fn read_part<'e>(
        &mut self,
        part: DocumentNode<'e>,
        pieces: Pieces<'_, 'e>,
    ) -> Result<(), String> {
        let part = read_part(part)?;
        let signature = part.signature;
        match part.kind {
            ReceivedPartKind::Thought(text) => self.add_thought(text, signature, pieces),
            ReceivedPartKind::Text(text) if !text.is_empty() => {
                let part = self.open(false, pieces);
                pieces.push(StreamPiece::Text { part, text });
                if let Some(signature) = signature {
                    let number = self.texts - 1;
                    self.add_signature(SignaturePlace::Text(number), &signature, pieces);
                }
            }
            ReceivedPartKind::Text(_) | ReceivedPartKind::Other => {
                if let Some(signature) = signature {
                    self.add_signature(SignaturePlace::Alone, &signature, pieces);
                }
            }
            ReceivedPartKind::Call {
                id,
                name,
                arguments,
            } => {
                if let Some(signature) = signature {
                    let place = SignaturePlace::Call(self.calls);
                    self.add_signature(place, &signature, pieces);
                }
                self.close(pieces);
                let id = id.unwrap_or_else(|| made_id(&self.response_id, self.calls));
                self.calls += 1;
                let part = self.new_part();
                pieces.push(StreamPiece::ToolCall { part, id, name });
                let json = EscapedText::plain(arguments);
                pieces.push(StreamPiece::Arguments { part, json });
                pieces.push(StreamPiece::PartEnd { part });
            }
        }
        Ok(())
    }

    fn add_thought<'e>(
        &mut self,
        text: EscapedText<'e>,
        signature: Option<EscapedText<'e>>,
        pieces: Pieces<'_, 'e>,
    ) {
        let part = self.open(true, pieces);
        if !text.is_empty() {
            pieces.push(StreamPiece::Thinking { part, text });
        }
        if let Some(signature) = signature {
            pieces.push(StreamPiece::Signature { part, signature });
            self.close(pieces);
        }
    }

    /// Adds a proof that belongs to a call or a text, as thoughts of its own.
    fn add_signature(
        &mut self,
        place: SignaturePlace,
        signature: &EscapedText<'_>,
        pieces: Pieces<'_, '_>,
    ) {
        self.close(pieces);
        let part = self.new_part();
        let data = place.mark(signature);
        pieces.push(StreamPiece::SealedThinking { part, data });
        pieces.push(StreamPiece::PartEnd { part });
    }

    /// The part to which text or thoughts belong now.
    fn open(&mut self, is_thought: bool, pieces: Pieces<'_, '_>) -> u32 {
        if let Some(open) = self.open.filter(|open| open.is_thought == is_thought) {
            return open.part;
        }
        self.close(pieces);
        let part = self.new_part();
        self.open = Some(OpenText { part, is_thought });
        self.texts += u32::from(!is_thought);
        part
    }

    fn close(&mut self, pieces: Pieces<'_, '_>) {
        if let Some(OpenText { part, .. }) = self.open.take() {
            pieces.push(StreamPiece::PartEnd { part });
        }
    }

    fn new_part(&mut self) -> u32 {
        let part = self.next_part;
        self.next_part += 1;
        part
    }
}
