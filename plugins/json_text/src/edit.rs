//! Edits of a text by ranges of bytes.

use std::ops::Range;

/// Replaces a range of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub range: Range<usize>,
    pub text: String,
}

/// Applies edits, which must be in the order of their ranges and must not overlap.
pub fn apply(text: &str, edits: &[Edit]) -> String {
    let grown: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut edited = String::with_capacity(text.len() + grown);
    let mut at = 0;
    for edit in edits {
        edited.push_str(&text[at..edit.range.start]);
        edited.push_str(&edit.text);
        at = edit.range.end;
    }
    edited.push_str(&text[at..]);
    edited
}

#[cfg(test)]
mod tests {
    use super::{Edit, apply};

    #[test]
    fn edits_leave_the_other_bytes() {
        let edit = |range, text: &str| Edit {
            range,
            text: text.to_owned(),
        };
        let edits = [
            edit(0..1, "A"),
            edit(2..2, "+"),
            edit(2..4, ""),
            edit(5..5, "!"),
        ];
        assert_eq!(apply("abcde", &edits), "Ab+e!");
    }
}
