//! Values by model name, in which `*` matches any characters.

use crate::scalar::model_pattern::ModelPattern;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Values by literal names and patterns. A literal name takes precedence over patterns, a longer pattern (its stars do not
/// count) over a shorter one, and of equally long ones the one that was inserted first.
#[derive(Clone, Debug)]
pub struct ByModelName<T> {
    literal: HashMap<Box<str>, T>,
    /// The longer ones first.
    patterns: Vec<(ModelPattern, T)>,
}

impl<T> ByModelName<T> {
    /// The value of the model's own name, else that of the longest pattern that matches.
    pub fn find(&self, model: &str) -> Option<&T> {
        self.literal.get(model).or_else(|| {
            let mut patterns = self.patterns.iter();
            let found = patterns.find(|(pattern, _)| pattern.matches(model));
            found.map(|(_, value)| value)
        })
    }

    /// Sets the value of a model, or of all models that a pattern matches.
    pub fn insert(&mut self, name: &str, value: T) {
        let pattern = ModelPattern::new(name);
        if pattern.has_star() {
            self.patterns.push((pattern, value));
            // The sort is stable.
            self.patterns
                .sort_by_key(|(pattern, _)| Reverse(pattern.literal_len()));
        } else {
            self.literal.insert(name.into(), value);
        }
    }

    /// The same names with other values.
    pub fn map<U>(&self, value: impl Fn(&T) -> U) -> ByModelName<U> {
        let literal = self.literal.iter();
        let patterns = self.patterns.iter();
        ByModelName {
            literal: literal
                .map(|(name, old)| (name.clone(), value(old)))
                .collect(),
            patterns: patterns
                .map(|(name, old)| (name.clone(), value(old)))
                .collect(),
        }
    }

    /// All values, in no particular order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        let patterns = self.patterns.iter().map(|(_, value)| value);
        self.literal.values().chain(patterns)
    }

    pub fn is_empty(&self) -> bool {
        self.literal.is_empty() && self.patterns.is_empty()
    }

    /// The value of this literal name.
    pub fn get_literal(&self, name: &str) -> Option<&T> {
        self.literal.get(name)
    }
}

impl<T> Default for ByModelName<T> {
    fn default() -> Self {
        Self {
            literal: HashMap::new(),
            patterns: Vec::new(),
        }
    }
}

impl<N: AsRef<str>, T> FromIterator<(N, T)> for ByModelName<T> {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(values: I) -> Self {
        let mut all = Self::default();
        for (name, value) in values {
            all.insert(name.as_ref(), value);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::ByModelName;

    #[test]
    fn the_most_specific_name_applies() {
        let values = ByModelName::from_iter([("*", 1), ("chat-*", 2), ("chat-large", 3)]);
        for (model, expected) in [("other", 1), ("chat-small", 2), ("chat-large", 3)] {
            assert_eq!(values.find(model), Some(&expected), "{model}");
        }
        let equal = ByModelName::from_iter([("*-a", 1), ("a-*", 2)]);
        assert_eq!(equal.find("a-a"), Some(&1));
        // Stars make no pattern more exact.
        let starred = ByModelName::from_iter([("a*c", 1), ("a*b*", 2), ("*a**", 3)]);
        assert_eq!(starred.find("abc"), Some(&1));
        let starred = ByModelName::from_iter([("*a**", 1), ("ab*", 2)]);
        assert_eq!(starred.find("abc"), Some(&2));
        assert_eq!(values.get_literal("chat-small"), None);
        assert_eq!(ByModelName::<u8>::default().find("other"), None);
    }
}
