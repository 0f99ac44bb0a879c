//! What messages about a configuration may not repeat: its secrets, and what variables and files gave it.

use headgate_protocol::secret_shape;
use headgate_protocol::secret_shape::MASK;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

/// Shorter texts are words that messages have anyway.
const TEXT_BYTES_MIN: usize = 6;
/// Shorter values of variables are numbers and switches.
const VALUE_BYTES_MIN: usize = 4;

/// Masks secrets in messages, paths and hints.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Scalars and keys of the file that are secret, as they were read.
    texts: HashSet<String>,
    /// What variables and files hold, and what is printed instead.
    values: BTreeMap<String, String>,
}

impl Redactor {
    /// Masks these scalars and keys of the file from now on.
    pub fn add_texts(&mut self, texts: impl IntoIterator<Item = String>) {
        let long = texts
            .into_iter()
            .filter(|text| text.len() >= TEXT_BYTES_MIN);
        self.texts.extend(long);
    }

    /// Prints `instead` wherever this value would stand.
    pub fn add_value(&mut self, value: &str, instead: &str) {
        for value in [value, value.trim()] {
            if value.len() >= VALUE_BYTES_MIN && value != instead {
                self.values.insert(value.to_owned(), instead.to_owned());
            }
        }
    }

    /// The message without secrets, on one line, no longer than `chars_max`.
    pub fn message(&self, text: &str, chars_max: usize) -> String {
        let mut text = Cow::Borrowed(text);
        // A longer value may have a shorter one in it.
        let mut values: Vec<_> = self.values.iter().collect();
        values.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        for (value, instead) in values {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), instead).into();
            }
        }
        let text = self.without_texts(&text);
        clipped(&secret_shape::masked(&text), chars_max)
    }

    /// A key or an index as a path may show it.
    pub fn token<'token>(&self, token: &'token str) -> Cow<'token, str> {
        if self.texts.contains(token) {
            return Cow::Borrowed(MASK);
        }
        match secret_shape::masked(token) {
            Cow::Borrowed(_) if token.chars().count() <= TOKEN_CHARS_MAX => Cow::Borrowed(token),
            masked => Cow::Owned(clipped(&masked, TOKEN_CHARS_MAX)),
        }
    }

    /// Masks what is quoted, and each word, where it is a secret of the file.
    fn without_texts(&self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        for (index, quoted) in text.split('`').enumerate() {
            if index > 0 {
                shown.push('`');
            }
            if self.texts.contains(quoted) {
                shown.push_str(MASK);
                continue;
            }
            let is_end = |c: char| c.is_whitespace() || "\"'(),;[]{}<>=".contains(c);
            for word in quoted.split_inclusive(is_end) {
                let bare = word.trim_end_matches(is_end);
                let known = self.texts.contains(bare);
                shown.push_str(if known { MASK } else { bare });
                shown.push_str(&word[bare.len()..]);
            }
        }
        shown
    }
}

const TOKEN_CHARS_MAX: usize = 64;

/// Characters that a terminal would obey are replaced, and a long text is cut.
fn clipped(text: &str, chars_max: usize) -> String {
    let printable = |c: char| match c {
        '\n' | '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    let mut characters = text.chars().map(printable);
    let mut clipped: String = characters.by_ref().take(chars_max).collect();
    if characters.next().is_some() {
        clipped.push('…');
    }
    clipped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_the_file_and_values_of_variables_are_not_repeated() {
        let mut redactor = Redactor::default();
        redactor.add_texts(["hunter2-xyz".into(), "correct horse".into(), "no".into()]);
        redactor.add_value("gate.example", "${HOST}");
        redactor.add_value("of-the-file\n", MASK);
        for (message, shown) in [
            ("unknown key `hunter2-xyz`", "unknown key `[secret]`"),
            ("found `correct horse`", "found `[secret]`"),
            ("a (hunter2-xyz) b=hunter2-xyz", "a ([secret]) b=[secret]"),
            ("no, `no` is a word", "no, `no` is a word"),
            ("`gate.example:1` is not", "`${HOST}:1` is not"),
            ("it is of-the-file.", "it is [secret]."),
            (
                "`sk-123456` is\nno \u{1b}[31m",
                "`[secret]` is no \u{fffd}[31m",
            ),
        ] {
            assert_eq!(redactor.message(message, 99), shown);
        }
        assert_eq!(redactor.message("abcdef", 3), "abc…");
        assert_eq!(redactor.token("hunter2-xyz"), MASK);
        assert_eq!(redactor.token("channels"), "channels");
        assert_eq!(redactor.token(&"x".repeat(99)).chars().count(), 65);
    }
}
