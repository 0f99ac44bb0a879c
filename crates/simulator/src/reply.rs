//! What the simulated model replies: text or a tool call, with the tokens it took.

use super::ask::{Ask, Shape};
use super::directive::Sizes;
use super::{fitting, text};
use serde_json::json;

/// Bytes of tool arguments in an event; they have too few blanks to go by words.
const ARGUMENT_BYTES: usize = 8;

/// The model's reply, not yet in any protocol's form.
pub struct Reply {
    pub content: Content,
    /// Whether the token limit of the request cut the text short.
    pub truncated: bool,
    pub usage: Usage,
    piece: Option<usize>,
}

pub enum Content {
    Text(String),
    ToolCall {
        name: String,
        /// JSON text.
        arguments: String,
    },
}

/// Tokens.
#[derive(Clone, Copy)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
}

impl Reply {
    /// The reply to `ask`, of `sizes` where they are given and else of `ordinary_tokens`.
    pub fn to(ask: &Ask, sizes: Sizes, ordinary_tokens: u64) -> Self {
        let (content, truncated) = match ask.tool_to_call() {
            Some(tool) => {
                let arguments = tool.schema.map_or_else(|| json!({}), fitting::value);
                let call = Content::ToolCall {
                    name: tool.name.to_owned(),
                    arguments: arguments.to_string(),
                };
                (call, false)
            }
            None => said(ask, sizes, ordinary_tokens),
        };
        let output = text::tokens(streamed(&content).len());
        Self {
            content,
            truncated,
            usage: Usage {
                input: ask.input_tokens,
                output,
            },
            piece: sizes.piece,
        }
    }

    /// The text, or the arguments of the tool call, as streamed piece by piece.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        let ordinary = match self.content {
            Content::Text(_) => None,
            Content::ToolCall { .. } => Some(ARGUMENT_BYTES),
        };
        text::pieces(streamed(&self.content), self.piece.or(ordinary))
    }
}

impl Usage {
    pub fn total(self) -> u64 {
        self.input + self.output
    }
}

fn said(ask: &Ask, sizes: Sizes, ordinary_tokens: u64) -> (Content, bool) {
    let mut text = match (ask.shape, sizes.text) {
        (Shape::Prose, Some(bytes)) => {
            // The size was asked for in so many words, whatever the token limit.
            return (
                Content::Text(text::answer(&ask.last_user_text, bytes)),
                false,
            );
        }
        (Shape::Prose, None) => text::answer(&ask.last_user_text, text::bytes_of(ordinary_tokens)),
        (Shape::AnyObject, _) => {
            json!({"answer": text::answer(&ask.last_user_text, 120)}).to_string()
        }
        (Shape::Fitting(schema), _) => fitting::value(schema).to_string(),
    };
    let limit = ask.max_tokens.map_or(usize::MAX, text::bytes_of);
    let truncated = text.len() > limit;
    text.truncate(text.floor_char_boundary(limit));
    (Content::Text(text), truncated)
}

fn streamed(content: &Content) -> &str {
    match content {
        Content::Text(text) => text,
        Content::ToolCall { arguments, .. } => arguments,
    }
}
