//! Translates requests, responses and streams between the conversation protocols: chat, messages and responses, and
//! into those of Gemini and Amazon Bedrock, whose callers are not translated.
//!
//! A reader of the caller's protocol makes a request of the [superset](headgate_superset) of the body, a writer of the
//! channel's protocol makes the provider's body of that; the way back is the same with responses and the pieces of
//! streams. What cannot be carried exactly stands in a [`Ledger`], by the tables in `fields`. Nothing is lost in silence,
//! and nothing invented.

mod answer_instruction;
mod cache_marks;
mod chat;
mod context;
mod converse;
pub mod dialect;
mod fields;
mod gemini;
mod messages;
mod provider_error;
mod request;
mod response;
mod responses;
mod stream;
mod thinking;
mod token_count;
mod tool_names;

pub use context::{ChannelSettings, RenamedTool, ResponseContext};
pub use converse::with_error_code;
pub use dialect::{Dialect, DialectConfig, InvalidDialect, ModelFeatures, SHIPPED_DIALECTS};
pub use fields::{ListedMember, MemberList, list_members};
pub use headgate_superset::escaped_text::EscapedText;
pub use headgate_superset::json_writer::JsonWriter;
pub use headgate_superset::ledger::{FieldOutcome, Ledger, LedgerEntry, OnLoss};
pub use headgate_superset::policy::{ModelTranslationPolicy, TranslationPolicy};
pub use headgate_superset::protocol_pair::ProtocolPair;
pub use headgate_superset::request_path::{path_with_model, request_path, takes_call_ids};
pub use provider_error::{caller_status, error_body};
pub use request::{TranslatedRequest, translate_request};
pub use response::{UnreadableResponse, translate_response};
pub use stream::StreamTranslator;
pub use thinking::{ThinkingSealer, remove_seals, thinking_handles};
pub use token_count::{
    estimate_input_tokens, token_count_path, token_count_request, token_count_response,
    translate_token_count,
};

use headgate_superset::{
    self as superset, escaped_text, free_text_tools, further_choices, instructions, json_schema,
    json_writer, last_author, ledger, member_path, text_document, tool_calls, tool_declarations,
    tool_results, typed_value,
};
