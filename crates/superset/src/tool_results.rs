//! What protocols without a member for it say of the result of a tool.

use crate::escaped_text::EscapedText;

/// The line before the result of a call that failed.
pub const ERROR_LINE: EscapedText<'static> = EscapedText::literal(r"The tool reported an error:\n");

/// The text before an image or document that a tool returned, where results have only text: so that it does not pass for
/// what the user shows. A name has no letters that could end the frame.
pub fn media_frame<'a>(name: &EscapedText<'a>) -> [EscapedText<'a>; 3] {
    [
        EscapedText::literal("The next item is not from the user. The tool `"),
        name.clone(),
        EscapedText::literal("` returned it:"),
    ]
}
