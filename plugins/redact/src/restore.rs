//! Restores the data in strings of JSON.

use crate::placeholder::{Piece, PlaceholderTable};
use json_text::{Edit, NotJson, Step, ValueKind, apply, decode, encode, key, walk};
use std::ops::Range;

/// How a string's text is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    Text,
    /// The text is itself JSON, as the arguments of a tool are.
    Json,
}

/// The JSON body of a response with the data in place of the placeholders; nothing if it has none.
pub fn restore(table: &PlaceholderTable, body: &str) -> Result<Option<String>, NotJson> {
    let mut edits = Vec::new();
    walk(body, &mut |path, value| {
        if value.kind == ValueKind::String {
            let notation = notation(path);
            edits.extend(edits_of_string(table, body, value.range, notation));
        }
    })?;
    Ok((!edits.is_empty()).then(|| apply(body, &edits)))
}

/// The notation of a string outside of deltas.
pub fn notation(path: &[Step]) -> Notation {
    match key(path) {
        Some("arguments" | "partial_json") => Notation::Json,
        _ => Notation::Text,
    }
}

/// The edits that restore the placeholders of one string of a JSON text.
pub fn edits_of_string(
    table: &PlaceholderTable,
    json: &str,
    range: Range<usize>,
    notation: Notation,
) -> Vec<Edit> {
    let source = &json[range.clone()];
    if !may_have_placeholder(source) {
        return Vec::new();
    }
    let string = decode(source);
    let pieces = table.find(&string.text).into_iter();
    let edits = pieces.filter_map(|piece| match piece {
        Piece::Placeholder { start, end, data } => {
            let place = string.place(start..end);
            Some(Edit {
                range: range.start + place.start..range.start + place.end,
                text: as_string(data, notation),
            })
        }
        Piece::Begun { .. } => None,
    });
    edits.collect()
}

/// Whether a JSON string may have a bracket.
pub fn may_have_placeholder(string: &str) -> bool {
    string.bytes().any(|byte| byte == b'[' || byte == b'\\')
}

/// Data as part of a JSON string.
pub fn as_string(data: &str, notation: Notation) -> String {
    let mut text = String::new();
    encode(data, &mut text);
    if notation == Notation::Json {
        let mut nested = String::new();
        encode(&text, &mut nested);
        return nested;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::restore;
    use crate::placeholder::PlaceholderTable;

    #[test]
    fn placeholders_are_restored_in_all_strings() {
        let mut table = PlaceholderTable::default();
        table.placeholder("EMAIL", "ann@x.io");
        table.placeholder("QUOTE", "say \"hi\"");
        for (body, expected) in [
            (
                r#"{"choices": [{"message":{"content":"To [EMAIL_1], [EMAIL_2]\n"}}], "n": 1.0}"#,
                Some(
                    r#"{"choices": [{"message":{"content":"To ann@x.io, [EMAIL_2]\n"}}], "n": 1.0}"#,
                ),
            ),
            (
                r#"{"content":"[QUOTE_1]","arguments":"{\"a\":\"[QUOTE_1]\"}"}"#,
                Some(r#"{"content":"say \"hi\"","arguments":"{\"a\":\"say \\\"hi\\\"\"}"}"#),
            ),
            (
                r#"{"text":"\u005bEMAIL_1]é"}"#,
                Some(r#"{"text":"ann@x.ioé"}"#),
            ),
            (r#"{"text":"[EMAIL_1"}"#, None),
            (r#"{"[EMAIL_1]":1}"#, None),
        ] {
            assert_eq!(
                restore(&table, body).unwrap().as_deref(),
                expected,
                "{body}"
            );
        }
    }
}
