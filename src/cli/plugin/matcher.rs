//! Matchers of text in the expectations of test cases.

use regex::Regex;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// What a text must be.
#[derive(Debug)]
pub enum TextMatcher {
    Equal(String),
    Pattern(Regex),
    NotPattern(Regex),
}

/// What the values of a header must be.
#[derive(Debug)]
pub enum HeaderMatcher {
    /// All values, joined by a comma and a space.
    JoinedValues(TextMatcher),
    /// The values one by one, in order.
    Each(Vec<TextMatcher>),
}

const KEYS: &[&str] = &["regex", "not_regex"];

impl TextMatcher {
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Self::Equal(expected) => text == expected,
            Self::Pattern(regex) => regex.is_match(text),
            Self::NotPattern(regex) => !regex.is_match(text),
        }
    }

    /// Whether at least one of the lines matches; of `not_regex`, whether all do.
    pub fn matches_lines(&self, lines: &[String]) -> bool {
        match self {
            Self::NotPattern(_) => lines.iter().all(|line| self.matches(line)),
            Self::Equal(_) | Self::Pattern(_) => lines.iter().any(|line| self.matches(line)),
        }
    }
}

impl HeaderMatcher {
    /// Whether the values match. A header that is absent does not.
    pub fn matches(&self, values: &[String]) -> bool {
        match self {
            _ if values.is_empty() => false,
            Self::JoinedValues(matcher) => matcher.matches(&values.join(", ")),
            Self::Each(matchers) => all_match(matchers, values),
        }
    }
}

/// Whether each text matches the matcher at its place, and none is left over.
pub fn all_match(matchers: &[TextMatcher], texts: &[impl AsRef<str>]) -> bool {
    let pairs = || matchers.iter().zip(texts);
    matchers.len() == texts.len() && pairs().all(|(matcher, text)| matcher.matches(text.as_ref()))
}

impl fmt::Display for TextMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal(text) => write!(f, "{text:?}"),
            Self::Pattern(regex) => write!(f, "text in which `{regex}` is found"),
            Self::NotPattern(regex) => write!(f, "text in which `{regex}` is not found"),
        }
    }
}

impl fmt::Display for HeaderMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::JoinedValues(matcher) => matcher.fmt(f),
            Self::Each(matchers) => list(matchers).fmt(f),
        }
    }
}

/// Several matchers as a message has them.
pub fn list(matchers: &[TextMatcher]) -> String {
    let matchers: Vec<String> = matchers.iter().map(ToString::to_string).collect();
    format!("[{}]", matchers.join(", "))
}

impl<'de> Deserialize<'de> for TextMatcher {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextMatcherVisitor)
    }
}

impl<'de> Deserialize<'de> for HeaderMatcher {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(HeaderMatcherVisitor)
    }
}

struct TextMatcherVisitor;

impl<'de> Visitor<'de> for TextMatcherVisitor {
    type Value = TextMatcher;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, `{regex: …}` or `{not_regex: …}`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<TextMatcher, E> {
        Ok(TextMatcher::Equal(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TextMatcher, A::Error> {
        let Some(key) = map.next_key::<String>()? else {
            return Err(Error::custom(
                "a matcher has one of `regex` and `not_regex`",
            ));
        };
        let matcher = match key.as_str() {
            "regex" => TextMatcher::Pattern(regex(&map.next_value::<String>()?)?),
            "not_regex" => TextMatcher::NotPattern(regex(&map.next_value::<String>()?)?),
            other => return Err(Error::unknown_field(other, KEYS)),
        };
        match map.next_key::<String>()? {
            None => Ok(matcher),
            Some(second) => Err(Error::custom(format!(
                "a matcher has one key, and `{second}` is a second one"
            ))),
        }
    }
}

struct HeaderMatcherVisitor;

impl<'de> Visitor<'de> for HeaderMatcherVisitor {
    type Value = HeaderMatcher;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, `{regex: …}`, `{not_regex: …}`, or a list of these")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<HeaderMatcher, E> {
        TextMatcherVisitor
            .visit_str(text)
            .map(HeaderMatcher::JoinedValues)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HeaderMatcher, A::Error> {
        TextMatcherVisitor
            .visit_map(map)
            .map(HeaderMatcher::JoinedValues)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<HeaderMatcher, A::Error> {
        let mut matchers = Vec::new();
        while let Some(matcher) = list.next_element()? {
            matchers.push(matcher);
        }
        Ok(HeaderMatcher::Each(matchers))
    }
}

fn regex<E: Error>(pattern: &str) -> Result<Regex, E> {
    Regex::new(pattern)
        .map_err(|error| Error::custom(format!("invalid regular expression: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_matches_as_the_matcher_has_it() {
        let table = [
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("''", "", true),
            ("{regex: b}", "abc", true),
            ("{regex: ^b}", "abc", false),
            ("{not_regex: ^b}", "abc", true),
            ("{not_regex: b}", "abc", false),
        ];
        for (matcher, text, expected) in table {
            let parsed: TextMatcher = serde_saphyr::from_str(matcher).unwrap();
            assert_eq!(parsed.matches(text), expected, "{matcher} {text}");
        }
    }

    #[test]
    fn values_of_a_header_match_together_or_one_by_one() {
        let table: [(&str, &[&str], bool); 7] = [
            ("a, b", &["a", "b"], true),
            ("a", &["a", "b"], false),
            ("[a, b]", &["a", "b"], true),
            ("[b, a]", &["a", "b"], false),
            ("[a]", &["a", "b"], false),
            ("[{regex: .}, b]", &["a", "b"], true),
            ("{not_regex: a}", &[], false),
        ];
        for (matcher, values, expected) in table {
            let parsed: HeaderMatcher = serde_saphyr::from_str(matcher).unwrap();
            let values: Vec<String> = values.iter().map(|value| value.to_string()).collect();
            assert_eq!(parsed.matches(&values), expected, "{matcher} {values:?}");
        }
    }

    #[test]
    fn one_line_must_match_and_no_line_may_have_what_is_excluded() {
        let lines = ["info a".to_owned(), "warn b".to_owned()];
        let table = [
            ("info a", true),
            ("info", false),
            ("{regex: ^warn}", true),
            ("{not_regex: c}", true),
            ("{not_regex: b}", false),
        ];
        for (matcher, expected) in table {
            let parsed: TextMatcher = serde_saphyr::from_str(matcher).unwrap();
            assert_eq!(parsed.matches_lines(&lines), expected, "{matcher}");
        }
    }

    #[test]
    fn a_matcher_of_another_form_is_an_error() {
        let table = [
            ("5", "a string, `{regex: …}` or `{not_regex: …}`"),
            ("{regexp: a}", "regexp"),
            ("{regex: a, not_regex: b}", "a second one"),
            ("{regex: '('}", "invalid regular expression"),
            ("{}", "one of `regex` and `not_regex`"),
        ];
        for (matcher, expected) in table {
            let error = serde_saphyr::from_str::<TextMatcher>(matcher).unwrap_err();
            assert!(error.to_string().contains(expected), "{matcher}: {error}");
        }
    }
}
