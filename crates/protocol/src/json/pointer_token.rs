//! The reference tokens of JSON pointers (RFC 6901), which are their steps.

use std::borrow::Cow;

/// A step of a pointer as it is compared with keys.
pub(super) fn unescaped(token: &str) -> Cow<'_, str> {
    if token.contains('~') {
        Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(token)
    }
}

/// The index that a step of a pointer names.
pub(super) fn array_index(token: &str) -> Option<usize> {
    let is_plain = token == "0" || !token.starts_with(['0', '+']);
    is_plain.then(|| token.parse().ok())?
}
