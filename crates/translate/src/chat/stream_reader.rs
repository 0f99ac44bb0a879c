//! Reads a stream of the chat protocol.

mod calls;

use super::reasoning_details::ThoughtDetail;
use super::response_reader::{find_thoughts, known_finish, read_content, read_error, text};
use super::words::usage;
use crate::escaped_text::EscapedText;
use crate::superset::{FinishReason, OutputPart, StreamPiece};
use crate::typed_value::json_text;
use calls::{CallDelta, CallHead, StreamedCalls};
use headgate_protocol::json::{DocumentNode, ValueKind};

/// The state of a stream that is read.
#[derive(Debug, Default)]
pub(crate) struct ChatStreamReader {
    has_started: bool,
    parts: PartNumbers,
    /// The part to which more text, or more thoughts, would belong.
    open: Option<(ContentKind, u32)>,
    /// Which of the thoughts in a list came last.
    thoughts_index: Option<u64>,
    /// The part whose signature came.
    proven: Option<u32>,
    /// What the open thoughts have besides text, without a signature.
    unsigned: Option<EscapedText<'static>>,
    calls: StreamedCalls,
}

/// Gives each part its number.
#[derive(Debug, Default)]
struct PartNumbers(u32);

/// A part that consecutive deltas of one kind make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ContentKind {
    Text,
    Refusal,
    Thinking,
}

impl ChatStreamReader {
    /// Adds the pieces of an event.
    ///
    /// # Errors
    /// Why the event is not of the protocol.
    pub(crate) fn read<'e>(
        &mut self,
        event: DocumentNode<'e>,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) -> Result<(), String> {
        if event.kind() != ValueKind::Object {
            return Err(format!("an event is {}", event.type_name()));
        }
        let [id, choices, counts, error, object] =
            event.get_each(["id", "choices", "usage", "error", "object"]);
        if let Some(error) = error.filter(|error| !error.is_null()) {
            let (message, code) = read_error(error);
            pieces.push(StreamPiece::Error { message, code });
            return Ok(());
        }
        match choices.map(|choices| (choices.kind(), choices)) {
            Some((ValueKind::Array, choices)) => {
                self.start(id, pieces);
                for choice in choices.elements() {
                    self.read_choice(choice, pieces)?;
                }
            }
            // Some engines send errors as the event itself.
            None if object
                .and_then(text)
                .is_some_and(|it| it.as_written() == "error") =>
            {
                let (message, code) = read_error(event);
                pieces.push(StreamPiece::Error { message, code });
            }
            None | Some((ValueKind::Null, _)) => {}
            Some((_, other)) => return Err(format!("its choices are {}", other.type_name())),
        }
        pieces.extend(usage(counts).map(StreamPiece::Usage));
        Ok(())
    }

    /// Adds the pieces for the end of the stream.
    pub(crate) fn end(&mut self, pieces: &mut Vec<StreamPiece<'_>>) {
        self.end_open(pieces);
        self.calls.announce_waiting(&mut self.parts, pieces);
        pieces.push(StreamPiece::End);
    }

    fn start<'e>(&mut self, id: Option<DocumentNode<'e>>, pieces: &mut Vec<StreamPiece<'e>>) {
        if !std::mem::replace(&mut self.has_started, true) {
            pieces.push(StreamPiece::Start {
                id: id.and_then(EscapedText::from_node),
                usage: None,
            });
        }
    }

    /// Only the first choice is read: requests for several are refused.
    fn read_choice<'e>(
        &mut self,
        choice: DocumentNode<'e>,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) -> Result<(), String> {
        let [index, delta, finish, counts] =
            choice.get_each(["index", "delta", "finish_reason", "usage"]);
        if index.and_then(DocumentNode::as_u64).unwrap_or(0) != 0 {
            return Ok(());
        }
        if let Some(delta) = delta {
            self.read_delta(delta, pieces)?;
        }
        // Some gateways have an empty text in place of null.
        if let Some(word) = finish.and_then(text) {
            let reason = match known_finish(&word)? {
                FinishReason::Stop if !self.calls.is_empty() => FinishReason::ToolCalls,
                reason => reason,
            };
            self.end_open(pieces);
            self.calls.announce_waiting(&mut self.parts, pieces);
            pieces.push(StreamPiece::Finish {
                reason,
                stop_sequence: None,
            });
        }
        // Kimi has it here.
        pieces.extend(usage(counts).map(StreamPiece::Usage));
        Ok(())
    }

    fn read_delta<'e>(
        &mut self,
        delta: DocumentNode<'e>,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) -> Result<(), String> {
        for detail in find_thoughts(delta) {
            self.add_thoughts(detail, pieces);
        }
        let [content, refusal, calls, function] =
            delta.get_each(["content", "refusal", "tool_calls", "function_call"]);
        if let Some(content) = content {
            self.read_content(content, pieces)?;
        }
        if let Some(text) = refusal.and_then(text) {
            self.add(ContentKind::Refusal, text, pieces);
        }
        match calls.map(|calls| (calls.kind(), calls)) {
            None | Some((ValueKind::Null, _)) => {}
            Some((ValueKind::Array, calls)) => {
                for (call, position) in calls.elements().zip(0..) {
                    self.read_call(call, position, pieces)?;
                }
            }
            Some((_, other)) => return Err(format!("its tool calls are {}", other.type_name())),
        }
        if let Some(function) = function.filter(|function| !function.is_null()) {
            self.read_function(0, None, function, pieces)?;
        }
        Ok(())
    }

    fn read_content<'e>(
        &mut self,
        content: DocumentNode<'e>,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) -> Result<(), String> {
        if content.kind() == ValueKind::String {
            if let Some(text) = text(content) {
                self.add(ContentKind::Text, text, pieces);
            }
            return Ok(());
        }
        let mut parts = Vec::new();
        read_content(content, &mut parts)?;
        for part in parts {
            match part {
                OutputPart::Text(text) => self.add(ContentKind::Text, text, pieces),
                OutputPart::Refusal(text) => self.add(ContentKind::Refusal, text, pieces),
                OutputPart::Thinking { text, .. } => self.add(ContentKind::Thinking, text, pieces),
                OutputPart::SealedThinking(_) | OutputPart::ToolCall { .. } => {}
            }
        }
        Ok(())
    }

    fn read_call<'e>(
        &mut self,
        call: DocumentNode<'e>,
        position: u64,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) -> Result<(), String> {
        let [index, id, function, custom] = call.get_each(["index", "id", "function", "custom"]);
        let index = match index.filter(|index| !index.is_null()) {
            None => position,
            Some(index) => index.as_u64().ok_or("the index of a call is no number")?,
        };
        let id = id.and_then(text);
        let is_there = |node: &DocumentNode<'_>| !node.is_null();
        match (function.filter(is_there), custom.filter(is_there)) {
            (Some(function), _) => self.read_function(index, id, function, pieces),
            (None, Some(custom)) => {
                let [name, input] = custom.get_each(["name", "input"]);
                let name = name.and_then(text);
                let delta = input.and_then(text).map(CallDelta::FreeText);
                self.add_call(CallHead { index, id, name }, delta, pieces)
            }
            (None, None) => self.add_call(
                CallHead {
                    index,
                    id,
                    name: None,
                },
                None,
                pieces,
            ),
        }
    }

    fn read_function<'e>(
        &mut self,
        index: u64,
        id: Option<EscapedText<'e>>,
        function: DocumentNode<'e>,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) -> Result<(), String> {
        let [name, arguments] = function.get_each(["name", "arguments"]);
        let name = name.and_then(text);
        let arguments = match arguments.map(|it| (it.kind(), it)) {
            None | Some((ValueKind::Null, _)) => None,
            Some((ValueKind::String, arguments)) => text(arguments),
            // Some engines give the object itself.
            Some((ValueKind::Object, object)) => Some(EscapedText::plain(json_text(object))),
            Some((_, other)) => {
                return Err(format!("the arguments of a call are {}", other.type_name()));
            }
        };
        let delta = arguments.map(CallDelta::Arguments);
        self.add_call(CallHead { index, id, name }, delta, pieces)
    }

    fn add_call<'e>(
        &mut self,
        head: CallHead<'e>,
        delta: Option<CallDelta<'e>>,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) -> Result<(), String> {
        self.end_open(pieces);
        self.calls.add(head, delta, &mut self.parts, pieces)
    }

    /// Adds thoughts, or a piece of them. Those of another index are another part; a piece without one belongs to the last.
    fn add_thoughts<'e>(&mut self, detail: ThoughtDetail<'e>, pieces: &mut Vec<StreamPiece<'e>>) {
        let is_other = detail.index.is_some() && detail.index != self.thoughts_index;
        if is_other && matches!(self.open, Some((ContentKind::Thinking, _))) {
            self.end_open(pieces);
        }
        self.thoughts_index = detail.index.or(self.thoughts_index);
        // Thoughts that are not shown, or a signature that comes after other content.
        let hidden = detail.is_signed.then(EscapedText::default);
        let is_open = matches!(self.open, Some((ContentKind::Thinking, _)));
        if let Some(text) = detail.text.or(hidden.filter(|_| !is_open)) {
            self.add(ContentKind::Thinking, text, pieces);
        }
        let Some(proof) = detail.proof else {
            return;
        };
        if detail.is_unreadable {
            self.end_open(pieces);
            let part = self.parts.next();
            pieces.push(StreamPiece::SealedThinking { part, data: proof });
            pieces.push(StreamPiece::PartEnd { part });
        } else if let Some((ContentKind::Thinking, part)) = self.open
            && self.proven != Some(part)
        {
            match detail.is_signed {
                true => {
                    self.proven = Some(part);
                    self.unsigned = None;
                    let signature = proof;
                    pieces.push(StreamPiece::Signature { part, signature });
                }
                // It counts if no signature comes.
                false => {
                    self.unsigned.get_or_insert(proof);
                }
            }
        }
    }

    fn add<'e>(
        &mut self,
        kind: ContentKind,
        text: EscapedText<'e>,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) {
        let part = match self.open {
            Some((open, part)) if open == kind => part,
            Some(_) | None => {
                self.end_open(pieces);
                self.calls.announce_waiting(&mut self.parts, pieces);
                let part = self.parts.next();
                self.open = Some((kind, part));
                part
            }
        };
        pieces.push(match kind {
            ContentKind::Text => StreamPiece::Text { part, text },
            ContentKind::Refusal => StreamPiece::Refusal { part, text },
            ContentKind::Thinking => StreamPiece::Thinking { part, text },
        });
    }

    fn end_open(&mut self, pieces: &mut Vec<StreamPiece<'_>>) {
        if let Some((_, part)) = self.open.take() {
            let unsigned = self.unsigned.take();
            pieces.extend(unsigned.map(|signature| StreamPiece::Signature { part, signature }));
            pieces.push(StreamPiece::PartEnd { part });
        }
    }
}

impl PartNumbers {
    fn next(&mut self) -> u32 {
        let part = self.0;
        self.0 += 1;
        part
    }
}
