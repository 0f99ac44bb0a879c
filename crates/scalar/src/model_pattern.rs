//! Patterns of model names: which names they match, and what a name has in place of the star.

use std::fmt;

/// A pattern of model names, in which `*` matches any run of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelPattern {
    pieces: Vec<Box<str>>,
}

impl ModelPattern {
    pub fn new(pattern: &str) -> Self {
        Self {
            pieces: pattern.split('*').map(Box::from).collect(),
        }
    }

    /// Whether the pattern matches the whole of `name`.
    pub fn matches(&self, name: &str) -> bool {
        let [first, middle @ .., last] = self.pieces.as_slice() else {
            return self.pieces.first().is_some_and(|only| **only == *name);
        };
        let Some(mut rest) = name.strip_prefix(&**first) else {
            return false;
        };
        for piece in middle {
            match rest.find(&**piece) {
                Some(at) => rest = &rest[at + piece.len()..],
                None => return false,
            }
        }
        rest.len() >= last.len() && rest.ends_with(&**last)
    }

    /// Whether some name might match both patterns. Only what precedes the first star and what follows the last one is
    /// compared.
    pub fn may_overlap(&self, other: &Self) -> bool {
        if !self.has_star() {
            return other.matches(&self.pieces[0]);
        }
        if !other.has_star() {
            return self.matches(&other.pieces[0]);
        }
        let (ours, theirs) = (self.prefix(), other.prefix());
        let has_same_start = ours.starts_with(theirs) || theirs.starts_with(ours);
        let (ours, theirs) = (self.suffix(), other.suffix());
        has_same_start && (ours.ends_with(theirs) || theirs.ends_with(ours))
    }

    pub fn has_star(&self) -> bool {
        self.pieces.len() > 1
    }

    /// What precedes the first star; the whole pattern if it has none.
    pub fn prefix(&self) -> &str {
        self.pieces.first().map_or("", |first| first)
    }

    /// What follows the last star; the whole pattern if it has none.
    pub fn suffix(&self) -> &str {
        self.pieces.last().map_or("", |last| last)
    }

    /// The bytes of the pattern besides its stars. Of two patterns that match a name, the one with more is more exact: the
    /// only rule of precedence, for channels, prices, properties and limits.
    pub fn literal_len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }
}

/// The pattern as written.
impl fmt::Display for ModelPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pieces.join("*"))
    }
}

/// A name with at most one star, which stands for any text: it takes names apart and puts them together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameTemplate {
    Literal(Box<str>),
    Starred { before: Box<str>, after: Box<str> },
}

impl NameTemplate {
    /// `None` if `text` has more than one star.
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once('*') {
            None => Some(Self::Literal(text.into())),
            Some((_, after)) if after.contains('*') => None,
            Some((before, after)) => Some(Self::Starred {
                before: before.into(),
                after: after.into(),
            }),
        }
    }

    /// What `name` has in place of the star; `None` if it does not match, or the template has no star.
    pub fn capture<'n>(&self, name: &'n str) -> Option<&'n str> {
        match self {
            Self::Literal(_) => None,
            Self::Starred { before, after } => name.strip_prefix(&**before)?.strip_suffix(&**after),
        }
    }

    /// The name with `text` in place of the star.
    pub fn fill(&self, text: &str) -> String {
        match self {
            Self::Literal(name) => name.to_string(),
            Self::Starred { before, after } => [before, text, after].concat(),
        }
    }

    pub fn has_star(&self) -> bool {
        matches!(self, Self::Starred { .. })
    }
}

impl From<&NameTemplate> for ModelPattern {
    fn from(template: &NameTemplate) -> Self {
        Self::new(&template.to_string())
    }
}

/// The template as written.
impl fmt::Display for NameTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fill("*"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run_of_characters() {
        for (pattern, name, fits) in [
            ("*", "", true),
            ("*", "anything", true),
            ("chat", "chat", true),
            ("chat", "chat-large", false),
            ("chat-*", "chat-large", true),
            ("chat-*", "chat", false),
            ("*-mini", "chat-mini", true),
            ("*-mini", "chat-mini-2", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(
                ModelPattern::new(pattern).matches(name),
                fits,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn two_patterns_overlap_if_a_name_could_match_both() {
        for (one, other, overlap) in [
            ("*", "chat", true),
            ("*", "openai/*", true),
            ("openai/*", "openai/gpt-*", true),
            ("openai/*", "anthropic/*", false),
            ("*-mini", "gpt-*", true),
            ("*-mini", "*-max", false),
            ("chat", "chat", true),
            ("chat", "chat-*", false),
        ] {
            let (one, other) = (ModelPattern::new(one), ModelPattern::new(other));
            assert_eq!(one.may_overlap(&other), overlap, "{one} {other}");
            assert_eq!(other.may_overlap(&one), overlap, "{other} {one}");
        }
    }

    #[test]
    fn a_template_puts_in_what_another_took_out() {
        for (pattern, name, template, expected) in [
            ("*", "gpt-4o", "*", Some("gpt-4o")),
            ("openai/*", "openai/gpt-4o", "*", Some("gpt-4o")),
            ("openai/*", "openai/ft:a/b", "*", Some("ft:a/b")),
            (
                "gpt-*",
                "gpt-4o",
                "deployment-*-eu",
                Some("deployment-4o-eu"),
            ),
            ("gpt-*", "gpt-4o", "fixed", Some("fixed")),
            ("openai/*", "anthropic/x", "*", None),
            ("ab*ba", "aba", "*", None),
        ] {
            let pattern = NameTemplate::parse(pattern).unwrap();
            let template = NameTemplate::parse(template).unwrap();
            let filled = pattern.capture(name).map(|text| template.fill(text));
            assert_eq!(filled.as_deref(), expected, "{pattern} {name} {template}");
        }
        assert_eq!(NameTemplate::parse("a*b*c"), None);
    }
}
