//! The content of a JSON string as it is written, so that a text is carried without decoding it.

use headgate_protocol::json::{DocumentNode, quoted};
use std::borrow::Cow;
use std::ops::Range;

/// A JSON string's content between its quotes, with its escapes.
///
/// All protocols write texts as JSON strings, so that the same bytes have the same meaning in each of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EscapedText<'a>(Cow<'a, str>);

impl<'a> EscapedText<'a> {
    /// The content of a string; `None` for other values.
    pub fn from_node(node: DocumentNode<'a>) -> Option<Self> {
        let content = node.raw_text()?.written();
        Some(Self(Cow::Borrowed(content)))
    }

    /// A text without escapes, which gets those that JSON demands.
    pub fn plain(text: &str) -> EscapedText<'static> {
        let quoted = quoted(text);
        let content = std::str::from_utf8(&quoted[1..quoted.len() - 1]);
        EscapedText(Cow::Owned(content.expect("JSON is UTF-8").to_owned()))
    }

    /// A text that needs no escapes: no quote, backslash or control character.
    pub const fn literal(text: &'static str) -> EscapedText<'static> {
        EscapedText(Cow::Borrowed(text))
    }

    /// A text that has its escapes.
    pub fn from_written(content: String) -> EscapedText<'static> {
        EscapedText(Cow::Owned(content))
    }

    /// The content as it is written.
    pub fn as_written(&self) -> &str {
        &self.0
    }

    /// The text without escapes.
    pub fn decoded(&self) -> Cow<'_, str> {
        match memchr::memchr(b'\\', self.0.as_bytes()) {
            None => Cow::Borrowed(&self.0),
            Some(_) => headgate_protocol::json::escapes::decoded_escapes(&self.0).into(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is nothing but white space.
    pub fn is_blank(&self) -> bool {
        let mut rest = self.as_written();
        loop {
            rest = rest.trim_start();
            let mut escapes = [r"\n", r"\r", r"\t"].into_iter();
            match escapes.find_map(|escape| rest.strip_prefix(escape)) {
                Some(after) => rest = after,
                None => return rest.is_empty(),
            }
        }
    }

    /// The bytes in `range` of the text as it is written. Its ends must not be inside of an escape.
    pub fn slice(&self, range: Range<usize>) -> EscapedText<'a> {
        EscapedText(match &self.0 {
            Cow::Borrowed(text) => Cow::Borrowed(&text[range]),
            Cow::Owned(text) => Cow::Owned(text[range].to_owned()),
        })
    }

    /// The same text, independent of the document that it was read from.
    pub fn into_owned(self) -> EscapedText<'static> {
        EscapedText(Cow::Owned(self.0.into_owned()))
    }

    /// Adds a text at the end.
    pub fn push(&mut self, more: &EscapedText<'_>) {
        self.0.to_mut().push_str(&more.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use headgate_protocol::json::{JsonDocument, JsonLimits};

    #[test]
    fn a_text_keeps_its_escapes() {
        let body = Bytes::from_static(br#"{"text":"a\n\"b\" \u00e9 \ud83d\ude00"}"#);
        let document = JsonDocument::parse(body, &JsonLimits::default()).unwrap();
        let text = EscapedText::from_node(document.root().get("text").unwrap()).unwrap();
        assert_eq!(text.as_written(), r#"a\n\"b\" \u00e9 \ud83d\ude00"#);
        assert_eq!(text.decoded(), "a\n\"b\" é 😀");
        assert_eq!(EscapedText::from_node(document.root()), None);
    }

    #[test]
    fn a_plain_text_gets_escapes() {
        let text = EscapedText::plain("a\n\"b\"\\");
        assert_eq!(text.as_written(), r#"a\n\"b\"\\"#);
        assert_eq!(text.decoded(), "a\n\"b\"\\");
    }
}
