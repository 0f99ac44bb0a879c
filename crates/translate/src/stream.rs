//! Translates a stream, event by event.

use crate::context::{RenamedTool, ResponseContext};
use crate::further_choices::note_further_choices;
use crate::ledger::Ledger;
use crate::response::UnreadableResponse;
use crate::superset::StreamPiece;
use crate::thinking::StreamSealing;
use crate::{ProtocolPair, chat, converse, fields, gemini, messages, responses, tool_names};
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits};
use headgate_protocol::sse::SseEvent;

/// Translates the events of one stream. Its memory is bounded by what the caller's protocol repeats at the end.
#[derive(Debug)]
pub struct StreamTranslator {
    pair: ProtocolPair,
    reader: ProviderStreamReader,
    sealing: StreamSealing,
    writer: CallerStreamWriter,
    /// Empty lists, whose memory each event uses again: of what is read, and of what is sealed.
    lists: [Vec<StreamPiece<'static>>; 2],
    renamed_tools: Vec<RenamedTool>,
    total_has_thoughts: bool,
    /// Members of events that the caller's protocol cannot say.
    pub ledger: Ledger,
}

#[derive(Debug)]
enum ProviderStreamReader {
    Chat(chat::ChatStreamReader),
    Messages(messages::MessagesStreamReader),
    Responses(responses::ResponsesStreamReader),
    Gemini(gemini::GeminiStreamReader),
    Converse(converse::ConverseStreamReader),
}

#[derive(Debug)]
enum CallerStreamWriter {
    Chat(chat::ChatStreamWriter),
    Messages(messages::MessagesStreamWriter),
    Responses(responses::ResponsesStreamWriter),
}

impl StreamTranslator {
    pub fn new(pair: ProtocolPair, context: ResponseContext) -> Self {
        Self {
            pair,
            reader: ProviderStreamReader::new(pair.channel, &context.id),
            sealing: StreamSealing::new(pair.caller, context.sealer.clone()),
            renamed_tools: context.renamed_tools.clone(),
            total_has_thoughts: context.total_has_thoughts,
            writer: CallerStreamWriter::new(pair.caller, context),
            lists: [Vec::new(), Vec::new()],
            ledger: Ledger::default(),
        }
    }

    /// Adds the caller's events for one of the provider to `events`. Comments have none.
    ///
    /// # Errors
    /// The event is not of the channel's protocol. The stream must end here, with an error.
    pub fn translate(
        &mut self,
        received: &SseEvent,
        events: &mut Vec<SseEvent>,
    ) -> Result<(), UnreadableResponse> {
        let data = received.data();
        if received.is_oversize() {
            return Err(self.unreadable("an event is too large".into()));
        }
        if data.is_empty() {
            return Ok(());
        }
        if data.trim_ascii_start().starts_with(b"[DONE]") {
            self.finish(events);
            return Ok(());
        }
        let document = JsonDocument::parse(received.shared_data(), &JsonLimits::default())
            .map_err(|error| self.unreadable(error.to_string()))?;
        fields::audit_event(
            self.pair,
            document.root(),
            self.sealing.has_seals(),
            &mut self.ledger,
        );
        note_further_choices(self.pair.channel, document.root(), &mut self.ledger);
        let mut pieces = emptied(std::mem::take(&mut self.lists[0]));
        let read = self.reader.read(document.root(), &mut pieces);
        read.map_err(|reason| self.unreadable(reason))?;
        for piece in pieces.iter_mut().filter(|_| self.total_has_thoughts) {
            if let StreamPiece::Usage(usage) = piece {
                chat::add_hidden_thoughts(document.root(), usage);
            }
        }
        self.write(pieces, events);
        Ok(())
    }

    /// Adds the caller's events for the end of a stream that is whole by its protocol, as far as it gave no sign of that.
    pub fn finish(&mut self, events: &mut Vec<SseEvent>) {
        let mut pieces = emptied(std::mem::take(&mut self.lists[0]));
        self.reader.end(&mut pieces);
        self.write(pieces, events);
    }

    fn write(&mut self, mut pieces: Vec<StreamPiece<'_>>, events: &mut Vec<SseEvent>) {
        let mut sealed = emptied(std::mem::take(&mut self.lists[1]));
        for mut piece in pieces.drain(..) {
            if let StreamPiece::ToolCall { name, .. } = &mut piece {
                tool_names::restore(name, &self.renamed_tools);
            }
            self.sealing.apply(piece, &mut sealed);
        }
        for piece in &sealed {
            self.writer.write(piece, events);
        }
        self.lists = [emptied(pieces), emptied(sealed)];
    }

    fn unreadable(&self, reason: String) -> UnreadableResponse {
        UnreadableResponse::from_channel(self.pair, reason)
    }
}

impl ProviderStreamReader {
    /// `id` is part of the ids of calls to which the provider gives none.
    fn new(format: ProviderFormat, id: &str) -> Self {
        match format {
            ProviderFormat::Chat => Self::Chat(chat::ChatStreamReader::default()),
            ProviderFormat::Messages => Self::Messages(messages::MessagesStreamReader::default()),
            ProviderFormat::Responses => {
                Self::Responses(responses::ResponsesStreamReader::default())
            }
            ProviderFormat::Gemini => Self::Gemini(gemini::GeminiStreamReader::new(id)),
            ProviderFormat::Converse => Self::Converse(converse::ConverseStreamReader::default()),
        }
    }

    /// # Errors
    /// Why the event is not of the protocol.
    fn read<'e>(
        &mut self,
        event: DocumentNode<'e>,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) -> Result<(), String> {
        match self {
            Self::Chat(reader) => reader.read(event, pieces),
            Self::Messages(reader) => reader.read(event, pieces),
            Self::Responses(reader) => reader.read(event, pieces),
            Self::Gemini(reader) => reader.read(event, pieces),
            Self::Converse(reader) => reader.read(event, pieces),
        }
    }

    /// Adds the pieces for the end of the stream.
    fn end(&mut self, pieces: &mut Vec<StreamPiece<'_>>) {
        match self {
            Self::Chat(reader) => reader.end(pieces),
            Self::Gemini(reader) => reader.end(pieces),
            Self::Messages(_) | Self::Responses(_) | Self::Converse(_) => {
                pieces.push(StreamPiece::End);
            }
        }
    }
}

/// The same list without its pieces, for pieces of another event.
#[expect(
    clippy::unnecessary_filter_map,
    reason = "a filter gives pieces of the same event"
)]
fn emptied<'e>(mut pieces: Vec<StreamPiece<'_>>) -> Vec<StreamPiece<'e>> {
    pieces.clear();
    // Collecting a list into one of the same layout keeps its memory.
    pieces.into_iter().filter_map(|_| None).collect()
}

impl CallerStreamWriter {
    fn new(format: ConversationFormat, context: ResponseContext) -> Self {
        match format {
            ConversationFormat::Chat => Self::Chat(chat::ChatStreamWriter::new(context)),
            ConversationFormat::Messages => {
                Self::Messages(messages::MessagesStreamWriter::new(context))
            }
            ConversationFormat::Responses => {
                Self::Responses(responses::ResponsesStreamWriter::new(context))
            }
        }
    }

    fn write(&mut self, piece: &StreamPiece<'_>, events: &mut Vec<SseEvent>) {
        match self {
            Self::Chat(writer) => writer.write(piece, events),
            Self::Messages(writer) => writer.write(piece, events),
            Self::Responses(writer) => writer.write(piece, events),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emptied_list_keeps_its_memory() {
        let mut pieces = Vec::with_capacity(8);
        pieces.push(StreamPiece::End);
        let emptied = emptied(pieces);
        assert!(emptied.is_empty());
        assert_eq!(emptied.capacity(), 8);
    }
}
