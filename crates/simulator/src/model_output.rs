//! The output of the simulated model: text or a tool call, with its token usage.

use super::directive::ResponseTextSizes;
use super::model_request::{ModelRequest, OutputFormat};
use super::{schema_value, text};
use serde_json::json;

/// The size in bytes of tool arguments per event; they have too few spaces to be split by words.
pub const ARGUMENT_BYTES: usize = 8;

/// The model's output, independent of the protocol.
pub struct ModelOutput {
    pub content: OutputContent,
    /// Whether the token limit of the request truncated the text.
    pub truncated: bool,
    pub usage: TokenCounts,
    piece: Option<usize>,
}

pub enum OutputContent {
    Text(String),
    ToolCall {
        name: String,
        /// JSON text.
        arguments: String,
    },
}

/// Token counts.
#[derive(Clone, Copy)]
pub struct TokenCounts {
    pub input: u64,
    pub output: u64,
}

impl ModelOutput {
    /// The output for `ask`, with `sizes` if they are given, else with `ordinary_tokens`.
    pub fn to(ask: &ModelRequest, sizes: ResponseTextSizes, ordinary_tokens: u64) -> Self {
        let (content, truncated) = match ask.tool_to_call() {
            Some(tool) => {
                let arguments = tool.schema.map_or_else(|| json!({}), schema_value::value);
                let call = OutputContent::ToolCall {
                    name: tool.name.to_owned(),
                    arguments: arguments.to_string(),
                };
                (call, false)
            }
            None => {
                let (text, truncated) = generated_text(ask, sizes, ordinary_tokens);
                (OutputContent::Text(text), truncated)
            }
        };
        let output = text::tokens(streamed(&content).len());
        Self {
            content,
            truncated,
            usage: TokenCounts {
                input: ask.input_tokens,
                output,
            },
            piece: sizes.piece,
        }
    }

    /// The text, or the arguments of the tool call, in pieces for a stream.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        let ordinary = match self.content {
            OutputContent::Text(_) => None,
            OutputContent::ToolCall { .. } => Some(ARGUMENT_BYTES),
        };
        text::pieces(streamed(&self.content), self.piece.or(ordinary))
    }
}

impl TokenCounts {
    pub fn total(self) -> u64 {
        self.input + self.output
    }
}

/// The text for `ask`, and whether its token limit truncated it.
pub fn generated_text(
    ask: &ModelRequest,
    sizes: ResponseTextSizes,
    ordinary_tokens: u64,
) -> (String, bool) {
    let mut text = match (ask.shape, sizes.text) {
        (OutputFormat::Prose, Some(bytes)) => {
            // A size in the directives takes precedence over the token limit.
            return (text::reply_text(&ask.last_user_text, bytes), false);
        }
        (OutputFormat::Prose, None) => {
            text::reply_text(&ask.last_user_text, text::response_bytes(ordinary_tokens))
        }
        (OutputFormat::AnyObject, _) => {
            json!({"answer": text::reply_text(&ask.last_user_text, 120)}).to_string()
        }
        (OutputFormat::Fitting(schema), _) => schema_value::value(schema).to_string(),
    };
    let limit = ask.max_tokens.map_or(usize::MAX, text::response_bytes);
    let truncated = text.len() > limit;
    text.truncate(text.floor_char_boundary(limit));
    (text, truncated)
}

fn streamed(content: &OutputContent) -> &str {
    match content {
        OutputContent::Text(text) => text,
        OutputContent::ToolCall { arguments, .. } => arguments,
    }
}
