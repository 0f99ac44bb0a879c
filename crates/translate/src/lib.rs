//! Translates requests, responses and streams between the conversation protocols: chat, messages and responses, and
//! that of Gemini, which only channels have.
//!
//! A reader of the caller's protocol makes a [`superset`] request of the body, a writer of the channel's protocol makes
//! the provider's body of that; the way back is the same with responses and the pieces of streams. What cannot be
//! carried exactly stands in a [`ledger`], by the tables in `fields`. Nothing is lost in silence, and nothing invented.

mod cache_marks;
mod chat;
mod context;
pub mod dialect;
mod escaped_text;
mod fields;
mod free_text_tools;
mod gemini;
mod instructions;
mod json_writer;
mod last_author;
mod ledger;
mod member_path;
mod messages;
mod policy;
mod request;
mod response;
mod responses;
mod stream;
mod strict_schema;
pub mod superset;
mod text_document;
mod thinking;
mod token_count;
mod tool_calls;
mod tool_declarations;
mod tool_names;
mod tool_results;
mod typed_value;

pub use context::{ChannelSettings, RenamedTool, ResponseContext};
pub use dialect::{Dialect, DialectConfig, InvalidDialect, ModelFeatures, SHIPPED_DIALECTS};
pub use escaped_text::EscapedText;
pub use fields::{ListedMember, MemberList, list_members};
pub use json_writer::JsonWriter;
pub use ledger::{FieldOutcome, Ledger, LedgerEntry, OnLoss};
pub use policy::{ModelTranslationPolicy, ProtocolPair, TranslationPolicy};
pub use request::{TranslatedRequest, translate_request};
pub use response::{UnreadableResponse, translate_response};
pub use stream::StreamTranslator;
pub use thinking::{ThinkingSealer, remove_seals, thinking_handles};
pub use token_count::{
    estimate_input_tokens, token_count_path, token_count_request, token_count_response,
    translate_token_count,
};
