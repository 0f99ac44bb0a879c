//! Content blocks: what each may contain.

use crate::vendors::body_rules::{ValueRule, optional, required};

pub const TEXT: ValueRule = ValueRule::Text;
pub const TOOL_NAME: ValueRule =
    ValueRule::Form(is_name, "a text of the pattern [a-zA-Z0-9_-]{1,64}");
pub const CACHE_POINT: ValueRule = ValueRule::Object(&[
    required("type", ValueRule::Words(&["default"])),
    optional("ttl", ValueRule::Words(&["5m", "1h"])),
]);
const BYTES: ValueRule = ValueRule::Object(&[required("bytes", ValueRule::Base64)]);
const IMAGE: ValueRule = ValueRule::Object(&[
    required("format", ValueRule::Words(&["png", "jpeg", "gif", "webp"])),
    required("source", BYTES),
]);
const DOCUMENT: ValueRule = ValueRule::Object(&[
    required(
        "name",
        ValueRule::Form(
            is_document_name,
            "a name of letters, digits, single spaces, hyphens, parentheses and brackets",
        ),
    ),
    optional(
        "format",
        ValueRule::Words(&[
            "pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md",
        ]),
    ),
    optional("context", TEXT),
    optional("citations", ValueRule::Map),
    required(
        "source",
        ValueRule::Either(&[BYTES, ValueRule::Object(&[required("text", TEXT)])]),
    ),
]);
const AUDIO: ValueRule = ValueRule::Object(&[required("format", TEXT), required("source", BYTES)]);
const USE: ValueRule = ValueRule::Object(&[
    required("toolUseId", TOOL_NAME),
    required("name", TOOL_NAME),
    required("input", ValueRule::Map),
]);
const RESULT_BLOCK: ValueRule = ValueRule::Object(&[
    optional("text", TEXT),
    optional("json", ValueRule::Map),
    optional("image", IMAGE),
    optional("document", DOCUMENT),
]);
const RESULT: ValueRule = ValueRule::Object(&[
    required("toolUseId", TOOL_NAME),
    required("content", ValueRule::List(0, usize::MAX, &RESULT_BLOCK)),
    optional("status", ValueRule::Words(&["success", "error"])),
]);
const REASONING: ValueRule = ValueRule::Object(&[
    optional(
        "reasoningText",
        ValueRule::Object(&[required("text", TEXT), optional("signature", TEXT)]),
    ),
    optional("redactedContent", ValueRule::Base64),
]);
/// A block of a message.
pub const BLOCK: ValueRule = ValueRule::Object(&[
    optional("text", TEXT),
    optional("image", IMAGE),
    optional("document", DOCUMENT),
    optional("audio", AUDIO),
    optional("toolUse", USE),
    optional("toolResult", RESULT),
    optional("reasoningContent", REASONING),
    optional("cachePoint", CACHE_POINT),
]);

fn is_name(name: &str) -> bool {
    let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(is_letter)
}

fn is_document_name(name: &str) -> bool {
    let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || b" -()[]".contains(&letter);
    (1..=200).contains(&name.len()) && name.bytes().all(is_letter) && !name.contains("  ")
}
