//! Handles of thoughts, as the ends of ids of calls.

use crate::escaped_text::EscapedText;

/// What stands between an id of a provider and a handle.
pub(super) const MARK: &str = "_hg1_";
/// Letters of a handle.
const HANDLE_LEN: usize = 16;
/// What clients and providers take.
const ID_LEN_MAX: usize = 64;

/// The id of a call with a handle behind it; `None` if it would be too long, or has letters that ids may not have.
pub(super) fn with_handle(id: &EscapedText<'_>, handle: &str) -> Option<EscapedText<'static>> {
    let id = id.as_written();
    let marked = format!("{id}{MARK}{handle}");
    let fits = marked.len() <= ID_LEN_MAX && !id.is_empty() && marked.bytes().all(is_plain);
    fits.then(|| EscapedText::plain(&marked))
}

/// The provider's id and the handle behind it; `None` for an id without one.
pub(super) fn split_handle(id: &str) -> Option<(&str, &str)> {
    let (marked, handle) = id.split_at_checked(id.len().checked_sub(HANDLE_LEN)?)?;
    let id = marked.strip_suffix(MARK).filter(|id| !id.is_empty())?;
    handle.bytes().all(is_plain).then_some((id, handle))
}

fn is_plain(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || letter == b'_' || letter == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    const HANDLE: &str = "0123456789abc-_Z";

    #[test]
    fn an_id_with_a_handle_is_as_ids_may_be_and_has_both() {
        for id in ["toolu_01A09q90qw90lq917835lq9", "c", "call_1_hg1_"] {
            let marked = with_handle(&EscapedText::plain(id), HANDLE).unwrap();
            let marked = marked.as_written();
            assert!(marked.len() <= ID_LEN_MAX && marked.bytes().all(is_plain));
            assert_eq!(split_handle(marked), Some((id, HANDLE)));
        }
    }

    #[test]
    fn ids_that_are_too_long_or_have_other_letters_get_no_handle() {
        for id in ["", "a.b", "\u{e9}", &"a".repeat(44)] {
            assert_eq!(
                with_handle(&EscapedText::plain(id), HANDLE).map(|id| id.as_written().to_owned()),
                None
            );
        }
        let longest = EscapedText::plain(&"a".repeat(43));
        assert!(with_handle(&longest, HANDLE).is_some());
    }

    #[test]
    fn ids_of_others_have_no_handle() {
        for id in [
            "",
            "call_1",
            "_hg1_0123456789abc-_Z",
            "call_1_hg1_0123456789abc-_",
            "call_1_hg1_0123456789abc-_\u{e9}",
            "call_1_hg2_0123456789abc-_Z",
            "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
        ] {
            assert_eq!(split_handle(id), None, "{id}");
        }
    }
}
