//! A response, whole or as a stream.

use crate::arguments::Arguments;
use crate::escaped_text::EscapedText;

/// A whole response of any protocol.
#[derive(Clone, Debug, Default)]
pub struct Response<'a> {
    /// The provider's id.
    pub id: Option<EscapedText<'a>>,
    pub parts: Vec<OutputPart<'a>>,
    /// `None` if the provider gave none.
    pub finish: Option<FinishReason>,
    /// The text of the request at which the model stopped.
    pub stop_sequence: Option<EscapedText<'a>>,
    pub usage: Option<Usage>,
}

/// A part of a response.
#[derive(Clone, Debug)]
pub enum OutputPart<'a> {
    Text(EscapedText<'a>),
    Refusal(EscapedText<'a>),
    Thinking {
        text: EscapedText<'a>,
        /// The provider's proof of the text.
        signature: Option<EscapedText<'a>>,
    },
    /// Thoughts that only their provider can read.
    SealedThinking(EscapedText<'a>),
    ToolCall {
        id: EscapedText<'a>,
        name: EscapedText<'a>,
        arguments: Arguments<'a>,
    },
}

/// Why a response ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model was done.
    Stop,
    /// The model came to a text at which it should stop.
    StopSequence,
    /// The limit of output tokens.
    Length,
    /// The context window is full.
    ContextWindow,
    /// The model waits for results of tools.
    ToolCalls,
    /// A filter of the provider, or a refusal of the model.
    ContentFilter,
    /// The provider paused a long turn, which the caller may continue.
    Pause,
}

/// Tokens, as every protocol can count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub input: u64,
    /// Those that were read from the provider's cache.
    pub cache_read: u64,
    /// Those that were written to the provider's cache.
    pub cache_write: u64,
    /// Tokens of the response, thoughts included.
    pub output: u64,
    /// Those that were thoughts; `None` if the provider does not count them.
    pub reasoning: Option<u64>,
}

/// A piece of a streamed response, in the order in which the caller gets it.
///
/// Parts are told apart by `part`, a number that the reader assigns and never uses again in the stream.
#[derive(Clone, Debug)]
pub enum StreamPiece<'a> {
    /// The response begins. Some protocols count the prompt here.
    Start {
        id: Option<EscapedText<'a>>,
        usage: Option<Usage>,
    },
    Text {
        part: u32,
        text: EscapedText<'a>,
    },
    Refusal {
        part: u32,
        text: EscapedText<'a>,
    },
    Thinking {
        part: u32,
        text: EscapedText<'a>,
    },
    /// The provider's proof of the thoughts of a part.
    Signature {
        part: u32,
        signature: EscapedText<'a>,
    },
    SealedThinking {
        part: u32,
        data: EscapedText<'a>,
    },
    ToolCall {
        part: u32,
        id: EscapedText<'a>,
        name: EscapedText<'a>,
    },
    /// More of the JSON text of a call's arguments.
    Arguments {
        part: u32,
        json: EscapedText<'a>,
    },
    /// More of the text that a call of a tool of free text takes.
    FreeText {
        part: u32,
        text: EscapedText<'a>,
    },
    /// Nothing more comes of this part.
    PartEnd {
        part: u32,
    },
    Finish {
        reason: FinishReason,
        stop_sequence: Option<EscapedText<'a>>,
    },
    /// The newest counts.
    Usage(Usage),
    /// The response is complete, by a sign of its protocol. Only the first one counts.
    End,
    /// The provider reports an error: its own words, and the code or type.
    Error {
        message: EscapedText<'a>,
        code: Option<EscapedText<'a>>,
    },
}
