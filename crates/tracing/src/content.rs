//! What a trace has of the messages of an exchange: nothing, unless the route asks for it.

use bytes::{Bytes, BytesMut};
use headgate_protocol::Protocol;
use headgate_protocol::conversation::{
    ConversationShape, ConversationText, StreamMessageCollector, request_messages, response_text,
};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_protocol::sse::SseDecoder;
use http::{HeaderMap, StatusCode, header};

/// A response that is no stream is read up to this many bytes.
const BODY_BYTES_MAX: usize = 1 << 20;
/// An event of a stream is read up to this many bytes.
const EVENT_BYTES_MAX: usize = 256 << 10;

/// Which messages of a route's exchanges their spans have.
#[derive(Clone, Copy, Debug, Default)]
pub struct MessageTracePolicy {
    pub input: bool,
    pub output: bool,
    /// Maximum number of bytes of each.
    pub bytes_max: usize,
}

/// The messages of an exchange.
#[derive(Debug, Default)]
pub struct ExchangeMessages {
    pub system: Option<ConversationText>,
    pub input: Option<ConversationText>,
    pub output: Option<ConversationText>,
}

/// Records the messages of a response while it is sent to the caller.
pub struct ResponseMessageRecorder {
    shape: &'static ConversationShape,
    bytes_max: usize,
    response: ResponseRecorderState,
}

enum ResponseRecorderState {
    /// There is no response yet, or none that has messages.
    Nothing,
    Body {
        bytes: BytesMut,
        is_cut: bool,
    },
    Stream {
        decoder: SseDecoder,
        messages: StreamMessageCollector,
    },
}

impl MessageTracePolicy {
    /// What records the responses of exchanges with this protocol; `None` if their spans have no output.
    pub fn response_recorder(
        self,
        protocol: Option<Protocol>,
    ) -> Option<Box<ResponseMessageRecorder>> {
        let conversation = protocol?.descriptor().conversation.as_ref();
        Some(Box::new(ResponseMessageRecorder {
            shape: conversation.filter(|_| self.output)?,
            bytes_max: self.bytes_max,
            response: ResponseRecorderState::Nothing,
        }))
    }
}

impl ExchangeMessages {
    /// Adds those of the request.
    pub fn add_input(&mut self, shape: &ConversationShape, body: &JsonDocument, bytes_max: usize) {
        let found = request_messages(shape, body, bytes_max);
        self.system = found.system;
        self.input = Some(found.messages);
    }

    /// Each attribute of a span with its value.
    pub fn attributes(&self) -> impl Iterator<Item = (&'static str, &ConversationText)> {
        [
            ("gen_ai.system_instructions", &self.system),
            ("gen_ai.input.messages", &self.input),
            ("gen_ai.output.messages", &self.output),
        ]
        .into_iter()
        .filter_map(|(name, text)| Some((name, text.as_ref()?)))
    }

    /// Leaves out all messages.
    pub(super) fn clear(&mut self) {
        let texts = [&mut self.system, &mut self.input, &mut self.output];
        for text in texts.into_iter().flatten() {
            (text.json, text.is_truncated) = ("[]".into(), true);
        }
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.attributes().map(|(_, text)| text.json.len()).sum()
    }
}

impl ResponseMessageRecorder {
    /// Begins a response with this head.
    pub fn begin(&mut self, status: StatusCode, headers: &HeaderMap) {
        let class = headers.get(header::CONTENT_TYPE);
        let class = class.and_then(|class| class.to_str().ok()).unwrap_or("");
        let is_plain = !headers.contains_key(header::CONTENT_ENCODING);
        self.response = match class.split(';').next().map(str::trim) {
            _ if !status.is_success() || !is_plain => ResponseRecorderState::Nothing,
            Some("application/json") => ResponseRecorderState::Body {
                bytes: BytesMut::new(),
                is_cut: false,
            },
            Some("text/event-stream") => ResponseRecorderState::Stream {
                decoder: SseDecoder::new(EVENT_BYTES_MAX),
                messages: StreamMessageCollector::new(self.shape, self.bytes_max),
            },
            _ => ResponseRecorderState::Nothing,
        };
    }

    /// Takes a piece of the body.
    pub fn push(&mut self, piece: &Bytes) {
        match &mut self.response {
            ResponseRecorderState::Nothing => {}
            ResponseRecorderState::Body { bytes, is_cut } => {
                *is_cut |= bytes.len() + piece.len() > BODY_BYTES_MAX;
                match is_cut {
                    true => bytes.clear(),
                    false => bytes.extend_from_slice(piece),
                }
            }
            ResponseRecorderState::Stream { decoder, messages } => {
                decoder.push(piece);
                while let Some(event) = decoder.next() {
                    messages.push(event.data());
                }
            }
        }
    }

    /// The messages so far; `None` if the response has none.
    pub fn messages(&self) -> Option<ConversationText> {
        match &self.response {
            ResponseRecorderState::Nothing => None,
            ResponseRecorderState::Stream { messages, .. } => Some(messages.text()),
            ResponseRecorderState::Body { is_cut: true, .. } => Some(ConversationText {
                json: "[]".into(),
                is_truncated: true,
            }),
            ResponseRecorderState::Body { bytes, .. } => {
                let bytes = Bytes::copy_from_slice(bytes);
                let body = JsonDocument::parse(bytes, &JsonLimits::default()).ok()?;
                Some(response_text(self.shape, &body, self.bytes_max))
            }
        }
    }
}
