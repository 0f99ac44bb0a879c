//! Finds and edits the text in JSON, and leaves all other bytes as they are.
//!
//! A plugin that parses a body and writes it again changes the order of members, white space, the form of numbers and
//! the escapes of strings, and needs many times the body's size in memory. [`walk`] visits the values of a JSON text
//! with their places, [`is_prompt_text`] knows which of them a model reads, [`decode`] returns the text of a string and
//! maps its positions to the JSON text, and [`apply`] makes the edits.

mod decode;
mod edit;
mod local_reply;
mod prompt;
mod walk;

pub use decode::{StringText, decode, encode};
pub use edit::{Edit, apply};
pub use local_reply::{error_body, is_json, is_json_type};
pub use prompt::{TEXT_FIELDS, is_prompt_text};
pub use walk::{NotJson, Step, Value, ValueKind, key, walk};
