//! What protocols without a member for it say of the result of a tool.

use crate::escaped_text::EscapedText;

/// The line before the result of a call that failed.
pub(crate) const ERROR_LINE: EscapedText<'static> =
    EscapedText::literal(r"The tool reported an error:\n");
