//! Values of schemas that are compared with those of bodies: the texts of `enum`, `const` and keys.

use super::scalar::KindSet;
use headgate_protocol::json::tape_values::{SPELLING_BYTES_MAX, equal};
use headgate_protocol::json::{DocumentNode, ValueKind};
use serde_json::Value;
use std::collections::HashSet;

/// A text that is compared with others by its length and two words.
pub struct Text {
    bytes: Box<[u8]>,
    words: TextEdgeWords,
}

/// The start and the end of a text. Two texts of equal length up to 16 bytes are equal if their words are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TextEdgeWords {
    first: u64,
    last: u64,
}

/// One value of an `enum`, or that of a `const`.
pub struct Literal {
    value: Value,
    text: Option<Text>,
}

/// A value of a body that is compared with literals.
pub struct ComparedBodyValue<'a> {
    value: DocumentNode<'a>,
    /// The text of a string without escapes, which needs no decoding.
    text: Option<(&'a [u8], TextEdgeWords)>,
}

/// The values of an `enum`.
pub struct Enumeration {
    /// All values of a short list; of a long one those that are not in a set.
    literals: Box<[Literal]>,
    texts: HashSet<Box<str>>,
    integers: HashSet<u64>,
}

/// Up to this many values are compared one by one, which is faster than a hash.
const COMPARED_MAX: usize = 32;

/// The number of bytes that two words show.
const WORDS_BYTES: usize = 16;
/// The longest text of a literal. `jsonschema` compares only the start of longer ones.
const LITERAL_BYTES_MAX: usize = 4 << 10;

impl Text {
    pub fn new(text: &str) -> Self {
        let bytes: Box<[u8]> = text.as_bytes().into();
        let words = TextEdgeWords::from_bytes(&bytes);
        Self { bytes, words }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the text is equal to another of the same length, whose words are known.
    #[inline]
    pub fn equals(&self, bytes: &[u8], words: TextEdgeWords) -> bool {
        self.words == words && (bytes.len() <= WORDS_BYTES || *self.bytes == *bytes)
    }
}

impl TextEdgeWords {
    #[inline]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        match (bytes.first_chunk(), bytes.last_chunk()) {
            (Some(first), Some(last)) => Self {
                first: u64::from_le_bytes(*first),
                last: u64::from_le_bytes(*last),
            },
            _ => Self {
                first: short_word(bytes),
                last: 0,
            },
        }
    }
}

/// Up to seven bytes as a word. Texts of equal length have equal words only if they are equal.
#[inline]
fn short_word(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
        }
        _ => bytes
            .iter()
            .fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

impl Literal {
    /// The literal; `None` for one that is too long to be compared.
    pub fn new(value: &Value) -> Option<Self> {
        let text = value.as_str();
        let is_short = text.is_none_or(|text| text.len() <= LITERAL_BYTES_MAX);
        is_short.then(|| Self {
            value: value.clone(),
            text: text.map(Text::new),
        })
    }

    #[inline]
    pub fn equals(&self, probe: &ComparedBodyValue<'_>) -> bool {
        match (&self.text, probe.text) {
            (Some(text), Some((bytes, words))) => {
                text.bytes.len() == bytes.len() && text.equals(bytes, words)
            }
            _ => self.equals_slowly(probe),
        }
    }

    fn equals_slowly(&self, probe: &ComparedBodyValue<'_>) -> bool {
        probe.text.is_none() && equal(probe.value, &self.value)
    }
}

impl<'a> ComparedBodyValue<'a> {
    #[inline]
    pub fn new(value: DocumentNode<'a>) -> Self {
        let raw = value.raw_text().filter(|raw| !raw.is_escaped());
        Self {
            value,
            text: raw.map(|raw| (raw.bytes, TextEdgeWords::from_bytes(raw.bytes))),
        }
    }
}

impl Enumeration {
    /// The list, and the kinds of its values; `None` for a list with a value that is too long to be compared.
    pub fn new(values: &[Value]) -> Option<(Self, KindSet)> {
        let kinds = values.iter().map(KindSet::from);
        let kinds = kinds.fold(KindSet::NONE, KindSet::union);
        let mut list = Self {
            literals: Box::default(),
            texts: HashSet::new(),
            integers: HashSet::new(),
        };
        let is_short = values.len() <= COMPARED_MAX;
        let compared = values
            .iter()
            .filter(|value| is_short || !list.add_to_set(value));
        list.literals = compared.map(Literal::new).collect::<Option<_>>()?;
        Some((list, kinds))
    }

    /// The kinds of which some values are in the list and some are not.
    pub fn is_relevant(&self, kind: ValueKind) -> bool {
        kind != ValueKind::Null
            && !(kind == ValueKind::Bool
                && [true, false].iter().all(|word| {
                    self.literals
                        .iter()
                        .any(|literal| literal.value == Value::Bool(*word))
                }))
    }

    pub fn contains(&self, value: DocumentNode<'_>) -> bool {
        let probe = ComparedBodyValue::new(value);
        self.literals.iter().any(|literal| literal.equals(&probe)) || self.is_in_set(value)
    }

    /// Adds a value that can be looked up: a text that is not too long, or an integer that is not negative.
    fn add_to_set(&mut self, value: &Value) -> bool {
        match (value.as_str(), value.as_u64()) {
            (Some(text), _) if text.len() <= LITERAL_BYTES_MAX => {
                self.texts.insert(text.into());
                true
            }
            (None, Some(integer)) => {
                self.integers.insert(integer);
                true
            }
            _ => false,
        }
    }

    /// Whether a value is one of those that are looked up, in whatever spelling.
    fn is_in_set(&self, value: DocumentNode<'_>) -> bool {
        if !self.texts.is_empty() && value.kind() == ValueKind::String {
            // The longest text, with every byte as an escape.
            let is_short = value.span().len() <= LITERAL_BYTES_MAX * SPELLING_BYTES_MAX + 2;
            let text = value.as_str().filter(|_| is_short);
            return text.is_some_and(|text| self.texts.contains(&*text));
        }
        if self.integers.is_empty() || value.kind() != ValueKind::Number {
            return false;
        }
        match value.as_u64() {
            Some(integer) => self.integers.contains(&integer),
            // Such as 1.0 and 1e3, which equal integers.
            None => {
                let mut integers = self.integers.iter();
                integers.any(|integer| equal(value, &Value::from(*integer)))
            }
        }
    }
}
