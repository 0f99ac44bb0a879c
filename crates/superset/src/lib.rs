//! What requests, responses and streams of all conversation protocols can say, in one form.
//!
//! A reader of each protocol makes it, a writer of each protocol turns it into bytes. Values that are only carried stay
//! as they are written: texts with their escapes, numbers and schemas as JSON text. What the writers of several protocols do
//! alike is here, too.

mod arguments;
pub mod escaped_text;
pub mod free_text_tools;
pub mod further_choices;
pub mod instructions;
pub mod json_schema;
pub mod json_writer;
pub mod last_author;
pub mod ledger;
mod media;
pub mod member_path;
mod part;
pub mod policy;
pub mod protocol_pair;
mod request;
pub mod request_path;
mod response;
pub mod text_document;
pub mod tool_calls;
pub mod tool_declarations;
pub mod tool_results;
pub mod typed_value;

pub use arguments::Arguments;
pub use media::{Media, MediaSource};
pub use part::{CacheMark, Part, PartKind, ThinkingOrigin};
pub use request::{
    AnswerFormat, ContentRole, Grammar, ReasoningEffort, ReasoningSettings, Request,
    SamplingSettings, StreamSettings, Tool, ToolCallChoice, ToolSignature, Turn,
};
pub use response::{FinishReason, OutputPart, Response, StreamPiece, Usage};
