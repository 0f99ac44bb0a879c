//! A part of a message's content.

use crate::arguments::Arguments;
use crate::escaped_text::EscapedText;
use crate::media::MediaSource;
use headgate_protocol::json::DocumentNode;

/// A part of a message, with the value of the body that it was read from.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// Where the caller wrote it: for the path in a ledger entry.
    pub at: DocumentNode<'a>,
    pub kind: PartKind<'a>,
    /// The end of a prefix that the provider should cache.
    pub cache: Option<CacheMark<'a>>,
}

/// What a part says.
#[derive(Clone, Debug)]
pub enum PartKind<'a> {
    Text(EscapedText<'a>),
    /// The model declined to answer, in its own words.
    Refusal(EscapedText<'a>),
    Image {
        image: MediaSource<'a>,
        /// The resolution at which the model looks at it: `auto`, `low`, `high`.
        detail: Option<EscapedText<'a>>,
    },
    Document {
        document: MediaSource<'a>,
        /// The title or the file name.
        name: Option<EscapedText<'a>>,
    },
    Audio {
        data: EscapedText<'a>,
        /// `mp3`, `wav`
        format: EscapedText<'a>,
    },
    /// What the model thought before it answered.
    Thinking {
        text: EscapedText<'a>,
        /// The provider's proof of the text, or one of the gateway.
        signature: Option<EscapedText<'a>>,
        origin: ThinkingOrigin,
    },
    /// Thoughts that only their provider can read.
    SealedThinking {
        data: EscapedText<'a>,
        origin: ThinkingOrigin,
    },
    ToolCall {
        id: EscapedText<'a>,
        name: EscapedText<'a>,
        arguments: Arguments<'a>,
    },
    ToolResult {
        /// The id of the call.
        id: EscapedText<'a>,
        parts: Vec<Part<'a>>,
        is_error: bool,
    },
}

/// Where thoughts come from, as far as it is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingOrigin {
    /// The caller gives them as thoughts of a model.
    Caller,
    /// The channel's own model thought so: a seal of the gateway proves it.
    Channel,
}

/// The end of a prefix that the provider should cache.
#[derive(Clone, Debug)]
pub struct CacheMark<'a> {
    pub at: DocumentNode<'a>,
    /// How long it is kept: `5m`, `1h`, `30m`; the provider's default if `None`.
    pub ttl: Option<EscapedText<'a>>,
}
