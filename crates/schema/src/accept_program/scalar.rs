//! Sets of kinds, ranges of numbers, and ranges of counts.

use super::SchemaVerdict;
use headgate_protocol::json::{DocumentNode, ValueKind};
use serde_json::{Number, Value};

/// A set of kinds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindSet(u8);

/// The numbers within `minimum`, `maximum` and their exclusive forms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberRange {
    lower: f64,
    excludes_lower: bool,
    upper: f64,
    excludes_upper: bool,
}

/// The counts from `min` to `max`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountRange {
    pub min: usize,
    pub max: usize,
}

/// Beyond it not all integers are doubles, so comparing doubles is not exact.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

impl KindSet {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(0b11_1111);
    pub const EACH: [ValueKind; 6] = [
        ValueKind::Null,
        ValueKind::Bool,
        ValueKind::Number,
        ValueKind::String,
        ValueKind::Array,
        ValueKind::Object,
    ];

    #[inline]
    pub fn contains(self, kind: ValueKind) -> bool {
        self.0 & Self::from(kind).0 != 0
    }

    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The kinds that a `type` names, and whether numbers must be integers; `None` for a word that is no type.
    pub fn from_type(words: &Value) -> Option<(Self, bool)> {
        let one = std::slice::from_ref(words);
        let words = words.as_array().map_or(one, Vec::as_slice);
        let (mut kinds, mut integer, mut number) = (Self::NONE, false, false);
        for word in words {
            let kind = match word.as_str()? {
                "null" => ValueKind::Null,
                "boolean" => ValueKind::Bool,
                "integer" | "number" => ValueKind::Number,
                "string" => ValueKind::String,
                "array" => ValueKind::Array,
                "object" => ValueKind::Object,
                _ => return None,
            };
            integer |= word == "integer";
            number |= word == "number";
            kinds = kinds.union(kind.into());
        }
        Some((kinds, integer && !number))
    }
}

impl From<ValueKind> for KindSet {
    #[inline]
    fn from(kind: ValueKind) -> Self {
        Self(1 << kind as u8)
    }
}

impl From<&Value> for KindSet {
    fn from(value: &Value) -> Self {
        Self::from(match value {
            Value::Null => ValueKind::Null,
            Value::Bool(_) => ValueKind::Bool,
            Value::Number(_) => ValueKind::Number,
            Value::String(_) => ValueKind::String,
            Value::Array(_) => ValueKind::Array,
            Value::Object(_) => ValueKind::Object,
        })
    }
}

impl NumberRange {
    pub const ALL: Self = Self {
        lower: f64::NEG_INFINITY,
        excludes_lower: false,
        upper: f64::INFINITY,
        excludes_upper: false,
    };

    /// The limit as a double; `None` if comparing doubles with it is not exact.
    ///
    /// Rounding to a double keeps the order of numbers, so a comparison with a limit below [`EXACT_MAX`] is that of
    /// `jsonschema`, which compares integers as such and other numbers as doubles.
    pub fn limit(number: &Number) -> Option<f64> {
        number.as_f64().filter(|limit| limit.abs() < EXACT_MAX)
    }

    /// Narrows the range to numbers from `limit`.
    pub fn raise_lower(&mut self, limit: f64, is_exclusive: bool) {
        if limit > self.lower {
            (self.lower, self.excludes_lower) = (limit, is_exclusive);
        } else if limit == self.lower {
            self.excludes_lower |= is_exclusive;
        }
    }

    /// Narrows the range to numbers up to `limit`.
    pub fn reduce_upper(&mut self, limit: f64, is_exclusive: bool) {
        if limit < self.upper {
            (self.upper, self.excludes_upper) = (limit, is_exclusive);
        } else if limit == self.upper {
            self.excludes_upper |= is_exclusive;
        }
    }

    /// Whether a number is in the range. Numbers beyond all doubles are infinities of their sign.
    pub fn admits(&self, value: DocumentNode<'_>) -> bool {
        if *self == Self::ALL {
            return true;
        }
        let text = value.number_text().unwrap_or_default();
        let Ok(number) = text.parse::<f64>() else {
            return false;
        };
        (number > self.lower || (number == self.lower && !self.excludes_lower))
            && (number < self.upper || (number == self.upper && !self.excludes_upper))
    }
}

impl CountRange {
    pub const ALL: Self = Self {
        min: 0,
        max: usize::MAX,
    };

    #[inline]
    pub fn contains(self, count: usize) -> bool {
        (self.min..=self.max).contains(&count)
    }

    /// Whether the range contains a string's length in code points.
    pub fn admits_length(self, value: DocumentNode<'_>) -> bool {
        // A string that is not empty has at least one code point: no need to count a long text for `minLength: 1`.
        let is_decided = self.max == usize::MAX && self.min <= 1;
        match is_decided {
            true => self.min == 0 || value.raw_text().is_some_and(|text| !text.bytes.is_empty()),
            false => value.str_len().is_some_and(|length| self.contains(length)),
        }
    }

    /// The verdict on the number of parts that say yes; those that are unknown may or may not count.
    pub fn check_count(self, verdicts: impl Iterator<Item = SchemaVerdict>) -> SchemaVerdict {
        let (mut least, mut most) = (0, 0);
        for verdict in verdicts {
            least += usize::from(verdict == SchemaVerdict::Yes);
            most += usize::from(verdict != SchemaVerdict::No);
        }
        if least > self.max || most < self.min {
            SchemaVerdict::No
        } else if least >= self.min && most <= self.max {
            SchemaVerdict::Yes
        } else {
            SchemaVerdict::Unknown
        }
    }
}
