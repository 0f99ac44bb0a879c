//! Scalar types of `routes.yaml`: secrets, durations, byte sizes, prices, and a string or a list of strings.

pub mod model_pattern;
pub mod one_or_more;
mod price;
mod schema;
pub mod text_or_expression;

pub use price::{DECIMAL_PLACES, UnitPrice, is_exact_amount};

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

const SPAN_WORDS: &str = "expected a duration above zero, such as 250ms, 2s, 5m, 1h or 1h30m";
const SIZE_WORDS: &str =
    "expected a size above zero, such as 512KiB, 32MiB, 1GiB or a number of bytes";

/// A text that is never printed: `Debug` and `Display` mask it, and it does not implement `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// A duration above zero, with a precision of one millisecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HumanDuration(Duration);

/// A number of bytes above zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(u64);

/// Why a scalar is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidScalar(&'static str);

impl Secret {
    /// # Errors
    /// The text is empty.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidScalar> {
        let text = text.into();
        if text.is_empty() {
            return Err(InvalidScalar("a secret must not be empty"));
        }
        Ok(Self(text))
    }

    /// The secret's text. Only the code that sends the secret calls this.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl HumanDuration {
    /// A duration of whole seconds.
    ///
    /// # Panics
    /// If `seconds` is 0: a duration must be above zero.
    pub const fn seconds(seconds: u64) -> Self {
        assert!(seconds > 0, "a span is above zero");
        Self(Duration::from_secs(seconds))
    }

    /// A duration of whole milliseconds.
    ///
    /// # Panics
    /// If `milliseconds` is 0: a duration must be above zero.
    pub const fn milliseconds(milliseconds: u64) -> Self {
        assert!(milliseconds > 0, "a span is above zero");
        Self(Duration::from_millis(milliseconds))
    }

    pub const fn duration(self) -> Duration {
        self.0
    }
}

impl ByteSize {
    /// A size of whole kibibytes.
    ///
    /// # Panics
    /// If `kibibytes` is 0: a size must be above zero.
    pub const fn kibibytes(kibibytes: u64) -> Self {
        assert!(kibibytes > 0, "a size is above zero");
        Self(kibibytes << 10)
    }

    /// A size of whole mebibytes.
    ///
    /// # Panics
    /// If `mebibytes` is 0: a size must be above zero.
    pub const fn mebibytes(mebibytes: u64) -> Self {
        assert!(mebibytes > 0, "a size is above zero");
        Self(mebibytes << 20)
    }

    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// Prints every unit that is not zero, such as `1h30m`, `2s` or `250ms`.
impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_millis();
        for (unit, millis) in SPAN_UNITS {
            let count = rest / u128::from(millis);
            rest %= u128::from(millis);
            if count > 0 {
                write!(f, "{count}{unit}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Prints the number in the largest unit that needs no fraction.
impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |unit: &&(&str, u64)| self.0.is_multiple_of(unit.1);
        match SIZE_UNITS.iter().find(fits) {
            Some((unit, bytes)) => write!(f, "{}{unit}", self.0 / bytes),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Units of a duration in milliseconds, in the order in which they are written.
const SPAN_UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Units of a size in bytes, in the order in which printing prefers them.
const SIZE_UNITS: [(&str, u64); 6] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
];

impl FromStr for HumanDuration {
    type Err = InvalidScalar;

    fn from_str(text: &str) -> Result<Self, InvalidScalar> {
        let invalid = InvalidScalar(SPAN_WORDS);
        let mut millis: u64 = 0;
        let mut units = SPAN_UNITS.iter();
        let mut rest = text;
        while !rest.is_empty() {
            let (count, after) = leading_number(rest).ok_or_else(|| invalid.clone())?;
            let letters = after.find(|character: char| character.is_ascii_digit());
            let (name, after) = after.split_at(letters.unwrap_or(after.len()));
            // The iterator is never rewound, so a unit that is repeated or out of order is not found.
            let (_, unit) = units
                .find(|(unit, _)| *unit == name)
                .ok_or_else(|| invalid.clone())?;
            let added = count
                .checked_mul(*unit)
                .and_then(|part| millis.checked_add(part));
            millis = added.ok_or_else(|| invalid.clone())?;
            rest = after;
        }
        match millis {
            0 => Err(invalid),
            millis => Ok(Self(Duration::from_millis(millis))),
        }
    }
}

impl FromStr for ByteSize {
    type Err = InvalidScalar;

    fn from_str(text: &str) -> Result<Self, InvalidScalar> {
        let size = leading_number(text).and_then(|(count, unit)| {
            let mut units = SIZE_UNITS.iter().chain(&[("", 1), ("B", 1)]);
            let (_, bytes) = units.find(|(name, _)| *name == unit)?;
            count.checked_mul(*bytes).filter(|size| *size > 0)
        });
        size.map(Self).ok_or(InvalidScalar(SIZE_WORDS))
    }
}

/// The digits that `text` starts with (at most 9, so that sums fit into `u64`), and the text after them.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|character: char| !character.is_ascii_digit());
    let (number, rest) = text.split_at(digits.unwrap_or(text.len()));
    let number = (number.len() <= 9).then_some(number)?;
    Some((number.parse().ok()?, rest))
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Serde's own message would quote the received value.
        let text = String::deserialize(deserializer)
            .map_err(|_| D::Error::custom("a secret must be text"))?;
        Self::new(text).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for HumanDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ByteSizeVisitor)
    }
}

struct ByteSizeVisitor;

impl Visitor<'_> for ByteSizeVisitor {
    type Value = ByteSize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SIZE_WORDS.trim_start_matches("expected "))
    }

    fn visit_u64<E: Error>(self, bytes: u64) -> Result<ByteSize, E> {
        match bytes {
            0 => Err(E::custom(SIZE_WORDS)),
            bytes => Ok(ByteSize(bytes)),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ByteSize, E> {
        text.parse().map_err(E::custom)
    }
}

impl Serialize for HumanDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests;
