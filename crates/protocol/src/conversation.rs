//! The messages of a request and of its response, as OpenTelemetry's conventions for generative AI write them.
//!
//! What is written is bounded, and what looks like a secret in it is masked. Images, sound, files and what the gateway
//! does not know are named by their type, without their content.

mod parts;
mod prefix;
mod request;
mod response;
mod stream;
#[cfg(test)]
mod tests;

pub use prefix::each_prefix_value;
pub use request::{RequestMessages, request_messages};
pub use response::response_text;
pub use stream::StreamMessageCollector;
pub(crate) use stream::{StreamedPartKind, number, text};

use super::json::DocumentNode;
use super::secret_shape::masked;
use serde::Serialize;

/// Bytes of a text that are looked at beyond its limit, so that a secret at the limit is recognised as one.
const SECRET_BYTES: usize = 512;
/// Bytes that a message or a part takes besides its texts.
const PART_BYTES: usize = 64;

/// A list of messages or parts as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationText {
    /// A JSON array, slightly longer than its limit at most.
    pub json: String,
    /// Whether something was left out.
    pub is_truncated: bool,
}

#[derive(Debug, Serialize)]
struct ConversationMessage {
    role: String,
    parts: Vec<MessagePart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum MessagePart {
    Text {
        content: String,
    },
    Reasoning {
        content: String,
    },
    ToolCall {
        id: String,
        name: String,
        arguments: String,
    },
    ToolCallResponse {
        id: String,
        response: String,
    },
    /// Content that is not exported, with the type that the protocol gives it.
    #[serde(untagged)]
    Other {
        r#type: String,
    },
}

/// A protocol of callers whose conversations can be translated into others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConversationFormat {
    Chat,
    Messages,
    Responses,
}

/// A protocol of channels into which conversations can be translated: those of callers, and some whose callers are not translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProviderFormat {
    Chat,
    Messages,
    Responses,
    /// Of Google.
    Gemini,
    /// Of Amazon Bedrock.
    Converse,
}

/// What may still be written.
#[derive(Debug)]
struct TextAllowance {
    bytes_left: usize,
    is_exceeded: bool,
}

/// Where requests and responses of a protocol have messages.
#[derive(Clone, Copy, Debug)]
pub struct ConversationShape {
    /// The member with the tools that the model may call.
    pub tools: &'static str,
    /// The member with instructions that are no message.
    pub instructions: Option<&'static str>,
    /// The member with the messages of a request.
    pub messages: &'static str,
    /// The members of a request that limit the tokens of its response, with the objects around them and dots between.
    pub output_limits: &'static [&'static str],
    pub response: ResponseMessages,
    /// Adds what an event has to the messages of its stream.
    pub add_event: fn(&mut StreamMessageCollector, DocumentNode<'_>),
}

/// Where a whole response has messages.
#[derive(Clone, Copy, Debug)]
pub enum ResponseMessages {
    /// One in each of `choices`.
    Choices,
    /// One in each of `candidates`, as `content`.
    Candidates,
    /// One in `output`, as `message`.
    Output,
    /// The response is one message: the members with its parts and with the reason why it ended.
    One {
        parts: &'static str,
        reason: &'static str,
    },
}

impl ConversationFormat {
    pub const ALL: [Self; 3] = [Self::Chat, Self::Messages, Self::Responses];

    /// The name of the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Messages => "messages",
            Self::Responses => "responses",
        }
    }

    /// The same protocol as that of a channel.
    pub const fn provider_format(self) -> ProviderFormat {
        match self {
            Self::Chat => ProviderFormat::Chat,
            Self::Messages => ProviderFormat::Messages,
            Self::Responses => ProviderFormat::Responses,
        }
    }
}

impl ProviderFormat {
    pub const ALL: [Self; 5] = [
        Self::Chat,
        Self::Messages,
        Self::Responses,
        Self::Gemini,
        Self::Converse,
    ];

    /// The name of the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Messages => "messages",
            Self::Responses => "responses",
            Self::Gemini => "gemini",
            Self::Converse => "converse",
        }
    }

    /// The same protocol as that of callers; `None` if its callers are not translated.
    pub fn caller_format(self) -> Option<ConversationFormat> {
        match self {
            Self::Chat => Some(ConversationFormat::Chat),
            Self::Messages => Some(ConversationFormat::Messages),
            Self::Responses => Some(ConversationFormat::Responses),
            Self::Gemini => None,
            Self::Converse => None,
        }
    }
}

impl TextAllowance {
    fn new(bytes_max: usize) -> Self {
        Self {
            bytes_left: bytes_max,
            is_exceeded: false,
        }
    }

    /// Whether there is room for a further message or part.
    fn admits_part(&mut self) -> bool {
        let has_room = self.bytes_left > PART_BYTES;
        match has_room {
            true => self.bytes_left -= PART_BYTES,
            false => self.is_exceeded = true,
        }
        has_room
    }

    /// How many bytes of a text are read.
    fn read_bytes(&self) -> usize {
        self.bytes_left + SECRET_BYTES
    }

    /// The start of a text, masked, that fits as JSON; `is_whole` is false if the text was cut before.
    fn text(&mut self, text: &str, is_whole: bool) -> String {
        let masked = masked(text);
        let mut bytes = 0;
        let end = masked.char_indices().find_map(|(at, character)| {
            bytes += json_bytes(character);
            (bytes > self.bytes_left).then_some(at)
        });
        self.is_exceeded |= end.is_some() || !is_whole;
        match end {
            None => self.bytes_left -= bytes,
            Some(_) => self.bytes_left = 0,
        }
        masked[..end.unwrap_or(masked.len())].to_owned()
    }

    fn written<T: Serialize>(&self, list: &[T]) -> ConversationText {
        ConversationText {
            json: serde_json::to_string(list).expect("messages are texts"),
            is_truncated: self.is_exceeded,
        }
    }
}

/// Bytes of a character in a JSON string.
fn json_bytes(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => character.len_utf8(),
    }
}
