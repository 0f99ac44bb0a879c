//! Finds the longest patterns that match a name, whatever the number of patterns.

use crate::scalar::model_pattern::NameTemplate;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Patterns with one star, by what stands before and after it.
#[derive(Debug, Default)]
pub struct PatternIndex {
    by_prefix: AffixTable<AffixTable<Vec<usize>>>,
}

/// Values by text, and the lengths of the texts, the longest first.
#[derive(Debug)]
struct AffixTable<T> {
    values: HashMap<Box<str>, T>,
    lengths: Vec<usize>,
}

impl PatternIndex {
    /// An index of these patterns, which are known by their positions. Those without a star are left out.
    pub fn new<'p>(patterns: impl Iterator<Item = &'p NameTemplate>) -> Self {
        let mut index = Self::default();
        for (position, pattern) in patterns.enumerate() {
            if let NameTemplate::Starred { before, after } = pattern {
                let by_suffix = index.by_prefix.entry(before);
                by_suffix.entry(after).push(position);
            }
        }
        index
    }

    /// The positions of the longest patterns that match `name`, in order; several patterns may be equally long.
    pub fn find(&self, name: &str) -> Vec<usize> {
        let mut longest = 0;
        let mut found: Vec<usize> = Vec::new();
        let prefixes = self.by_prefix.fitting(name.len());
        for (before, by_suffix) in prefixes.filter_map(|length| {
            let text = name.get(..length)?;
            Some((length, self.by_prefix.values.get(text)?))
        }) {
            let rest = &name[before..];
            for after in by_suffix.fitting(rest.len()) {
                let text = rest.get(rest.len() - after..);
                let Some(positions) = text.and_then(|text| by_suffix.values.get(text)) else {
                    continue;
                };
                let length = before + after;
                if length > longest {
                    found.clear();
                    longest = length;
                }
                if length == longest {
                    found.extend(positions);
                }
                // The other suffixes are shorter.
                break;
            }
        }
        found.sort_unstable();
        found
    }
}

impl<T: Default> AffixTable<T> {
    fn entry(&mut self, text: &str) -> &mut T {
        if !self.lengths.contains(&text.len()) {
            self.lengths.push(text.len());
            self.lengths.sort_unstable_by_key(|length| Reverse(*length));
        }
        self.values.entry(text.into()).or_default()
    }
}

impl<T> AffixTable<T> {
    /// The lengths of texts that fit into `most` bytes, the longest first.
    fn fitting(&self, most: usize) -> impl Iterator<Item = usize> {
        let lengths = self.lengths.iter().copied();
        lengths.filter(move |length| *length <= most)
    }
}

impl<T> Default for AffixTable<T> {
    fn default() -> Self {
        Self {
            values: HashMap::new(),
            lengths: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(patterns: &[&str]) -> PatternIndex {
        let patterns: Vec<NameTemplate> = patterns
            .iter()
            .map(|pattern| NameTemplate::parse(pattern).unwrap())
            .collect();
        PatternIndex::new(patterns.iter())
    }

    #[test]
    fn the_longest_pattern_wins_and_equal_ones_are_found_together() {
        let patterns = [
            "*",
            "openai/*",
            "openai/*-mini",
            "*-mini",
            "openai/*",
            "a*c",
            "ab*",
            "ü*",
            "*-max",
        ];
        let index = index(&patterns);
        for (name, expected) in [
            ("other", &[0][..]),
            ("", &[0]),
            ("openai/gpt-4o", &[1, 4]),
            ("openai/gpt-4o-mini", &[2]),
            ("gpt-mini", &[3]),
            ("abc", &[5, 6]),
            ("ac", &[5]),
            ("überall", &[7]),
            ("\u{fc}", &[7]),
            ("\u{e9}-max", &[8]),
        ] {
            assert_eq!(index.find(name), expected, "{name}");
        }
    }

    #[test]
    fn nothing_is_found_without_a_pattern_that_matches() {
        let index = index(&["openai/*", "literal"]);
        for name in ["", "openai", "literal", "Openai/x"] {
            assert!(index.find(name).is_empty(), "{name}");
        }
    }
}
