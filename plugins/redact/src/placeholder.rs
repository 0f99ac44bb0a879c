//! The placeholders of one exchange, such as `[EMAIL_1]`.

use std::collections::{HashMap, HashSet};

/// The placeholders of one exchange and the data that they stand for. The numbers follow the order in the request, so
/// that a conversation that grows at its end keeps its placeholders from turn to turn.
#[derive(Debug, Default)]
pub struct PlaceholderTable {
    by_data: HashMap<String, String>,
    by_placeholder: HashMap<String, String>,
    last_numbers: HashMap<String, u32>,
    /// Texts of the request that look like placeholders, which are not used for data.
    occupied: HashSet<String>,
    longest: usize,
}

/// A part of a text in which placeholders were looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'t> {
    /// A placeholder, and the data that it stands for.
    Placeholder {
        start: usize,
        end: usize,
        data: &'t str,
    },
    /// The end of the text from here may be the start of a placeholder.
    Begun { start: usize },
}

impl PlaceholderTable {
    /// The table for a request, whose own texts that look like placeholders stay as they are.
    pub fn new(request: &str) -> Self {
        let occupied = request.split('[').skip(1).filter_map(|rest| {
            let (inner, _) = rest.split_once(']')?;
            let (name, number) = inner.rsplit_once('_')?;
            let is_name = name
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
            (is_name && number.parse::<u32>().is_ok()).then(|| format!("[{inner}]"))
        });
        Self {
            occupied: occupied.collect(),
            ..Self::default()
        }
    }

    pub fn is_empty(&self) -> bool {
        self.by_placeholder.is_empty()
    }

    pub fn len(&self) -> usize {
        self.by_placeholder.len()
    }

    /// The placeholder of data, the same for the same data.
    pub fn placeholder(&mut self, name: &str, data: &str) -> &str {
        if !self.by_data.contains_key(data) {
            let placeholder = self.next(name);
            self.longest = self.longest.max(placeholder.len());
            self.by_placeholder
                .insert(placeholder.clone(), data.to_owned());
            self.by_data.insert(data.to_owned(), placeholder);
        }
        &self.by_data[data]
    }

    fn next(&mut self, name: &str) -> String {
        let last = self.last_numbers.entry(name.to_owned()).or_default();
        loop {
            *last += 1;
            let placeholder = format!("[{name}_{last}]");
            if !self.occupied.contains(&placeholder) {
                return placeholder;
            }
        }
    }

    /// The placeholders in a text, and its end if that may be the start of one: the shortest end without which the
    /// rest of the text is final.
    pub fn find(&self, text: &str) -> Vec<Piece<'_>> {
        let mut pieces = Vec::new();
        for (start, _) in text.match_indices('[') {
            let rest = &text[start..];
            // A bracket within a placeholder would end this one.
            let inner = rest[1..].find(['[', ']']);
            match inner {
                Some(length) if rest[1 + length..].starts_with(']') => {
                    let end = start + length + 2;
                    if let Some(data) = self.by_placeholder.get(&text[start..end]) {
                        pieces.push(Piece::Placeholder { start, end, data });
                    }
                }
                Some(_) => (),
                None if self.has_prefix(rest) => pieces.push(Piece::Begun { start }),
                None => (),
            }
        }
        pieces
    }

    /// Whether a placeholder begins with a text.
    fn has_prefix(&self, text: &str) -> bool {
        text.len() < self.longest
            && self
                .by_placeholder
                .keys()
                .any(|known| known.starts_with(text))
    }
}

#[cfg(test)]
mod tests {
    use super::{Piece, PlaceholderTable};

    #[test]
    fn the_same_data_has_the_same_placeholder() {
        let mut table = PlaceholderTable::default();
        assert_eq!(table.placeholder("EMAIL", "a@b.io"), "[EMAIL_1]");
        assert_eq!(table.placeholder("EMAIL", "c@d.io"), "[EMAIL_2]");
        assert_eq!(table.placeholder("PHONE", "+49301234567"), "[PHONE_1]");
        assert_eq!(table.placeholder("EMAIL", "a@b.io"), "[EMAIL_1]");
        assert_eq!(table.len(), 3);
    }

    #[test]
    fn placeholders_of_the_request_itself_are_not_used() {
        let mut table = PlaceholderTable::new(r#"what is [EMAIL_1] or [[EMAIL_3]] or [x]"#);
        assert_eq!(table.placeholder("EMAIL", "a@b.io"), "[EMAIL_2]");
        assert_eq!(table.placeholder("EMAIL", "c@d.io"), "[EMAIL_4]");
    }

    #[test]
    fn only_the_end_that_may_be_a_placeholder_is_begun() {
        let mut table = PlaceholderTable::default();
        table.placeholder("EMAIL", "a@b.io");
        for (text, start) in [
            ("x [", Some(2)),
            ("[EMAIL_1", Some(0)),
            ("[[E", Some(1)),
            ("[EMAIL_1][", Some(9)),
            ("[F", None),
            ("[EMAIL_2", None),
            ("[EMAIL_1x", None),
            ("[]", None),
            ("E", None),
        ] {
            let begun = table.find(text).into_iter().find_map(|piece| match piece {
                Piece::Begun { start } => Some(start),
                Piece::Placeholder { .. } => None,
            });
            assert_eq!(begun, start, "{text}");
        }
    }

    #[test]
    fn unknown_placeholders_are_not_found() {
        let mut table = PlaceholderTable::default();
        table.placeholder("EMAIL", "a@b.io");
        let data = "a@b.io";
        assert_eq!(
            table.find("[EMAIL_2] [[EMAIL_1]]"),
            [Piece::Placeholder {
                start: 11,
                end: 20,
                data
            }]
        );
    }
}
