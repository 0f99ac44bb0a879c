//! The texts of a reasoning item: summaries and thoughts, of which other protocols have one text.

use crate::escaped_text::EscapedText;

/// What stands between two texts.
pub(super) const SEPARATOR: EscapedText<'static> = EscapedText::literal(r"\n\n");

/// Adds a text, with a blank line before each but the first.
pub(super) fn add_thought<'a>(thoughts: &mut EscapedText<'a>, text: EscapedText<'a>) {
    if thoughts.is_empty() {
        *thoughts = text;
    } else if !text.is_empty() {
        thoughts.push(&SEPARATOR);
        thoughts.push(&text);
    }
}
