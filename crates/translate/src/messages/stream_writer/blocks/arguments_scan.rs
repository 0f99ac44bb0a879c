//! Whether the arguments of a call that come in pieces are one JSON object from its begin to its end.

use crate::escaped_text::EscapedText;

/// What came of the arguments. Only braces, brackets and strings are looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ArgumentsScan {
    state: ScanState,
    /// Braces and brackets that are open.
    depth: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ScanState {
    #[default]
    Before,
    Inside,
    InString,
    AfterBackslash,
    Complete,
    NoObject,
}

impl ArgumentsScan {
    pub fn push(&mut self, json: &EscapedText<'_>) {
        for byte in json.decoded().bytes() {
            self.step(byte);
        }
    }

    /// Whether there is a whole object, or nothing at all, which is one without members.
    pub fn is_whole(&self) -> bool {
        matches!(self.state, ScanState::Before | ScanState::Complete)
    }

    fn step(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (ScanState::NoObject, _) => ScanState::NoObject,
            (ScanState::AfterBackslash, _) => ScanState::InString,
            (ScanState::InString, b'\\') => ScanState::AfterBackslash,
            (ScanState::InString, b'"') => ScanState::Inside,
            (ScanState::InString, _) => ScanState::InString,
            (ScanState::Before | ScanState::Complete, _) if byte.is_ascii_whitespace() => {
                self.state
            }
            (ScanState::Before, b'{') => {
                self.depth = 1;
                ScanState::Inside
            }
            (ScanState::Before | ScanState::Complete, _) => ScanState::NoObject,
            (ScanState::Inside, b'"') => ScanState::InString,
            (ScanState::Inside, b'{' | b'[') => {
                self.depth += 1;
                ScanState::Inside
            }
            (ScanState::Inside, b'}' | b']') => {
                self.depth -= 1;
                match self.depth {
                    0 => ScanState::Complete,
                    _ => ScanState::Inside,
                }
            }
            (ScanState::Inside, _) => ScanState::Inside,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_whole_object_is_whole() {
        for (json, is_whole) in [
            ("", true),
            (" \n", true),
            ("{}", true),
            (" {\"a\": [{\"b\": \"}\\\"]\\\\\"}]} \n", true),
            ("{\"a\": \"\u{e9}\u{1f600}\"}", true),
            ("{", false),
            ("{\"a\": \"}", false),
            ("{\"a\": [1}", false),
            ("{}{}", false),
            ("{}x", false),
            ("[]", false),
            ("1", false),
            ("null", false),
        ] {
            let mut scan = ArgumentsScan::default();
            for character in json.chars() {
                scan.push(&EscapedText::plain(&character.to_string()));
            }
            assert_eq!(scan.is_whole(), is_whole, "{json}");
        }
    }
}
