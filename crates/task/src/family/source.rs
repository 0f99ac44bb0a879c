//! Sources of values in a response: a pointer, a difference, a quotient, a text with pointers in it, or an expression.

use super::document_expression::DocumentExpression;
use super::response_pointer::{find, find_all};
use headgate_protocol::json::DocumentNode;

/// The sources of a value; the first one with a value counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueSourceList(Vec<ValueSource>);

/// A source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueSource {
    Pointer(String),
    /// `/a - /b`
    Minus(String, String),
    /// `/a / /b`, rounded down
    Over(String, String),
    /// `{/a}p`
    Text(Vec<ResponseSourceTextPart>),
    /// `{cel: …}`
    Computed(DocumentExpression),
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseSourceTextPart {
    Literal(String),
    Pointer(String),
    /// `{create_path}`: the path that the create was sent to.
    CreatePath,
    /// `{model}`: the channel's model of the create.
    Model,
}

/// The create that a response belongs to.
#[derive(Clone, Copy, Debug)]
pub struct SentCreate<'a> {
    /// Without the path of the channel's base URL.
    pub path: &'a str,
    pub channel_model: &'a str,
}

impl ValueSource {
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if !text.starts_with('/') {
            return parse_text(text);
        }
        for (sign, source) in [
            (" - ", Self::Minus as fn(String, String) -> Self),
            (" / ", Self::Over),
        ] {
            if let Some((left, right)) = text.split_once(sign) {
                return Ok(source(pointer(left)?, pointer(right)?));
            }
        }
        Ok(Self::Pointer(pointer(text)?))
    }

    /// The pointer, if the source is a plain pointer.
    pub fn pointer(&self) -> Option<&str> {
        match self {
            Self::Pointer(pointer) => Some(pointer),
            Self::Minus(..) | Self::Over(..) | Self::Text(_) | Self::Computed(_) => None,
        }
    }

    /// Whether the value depends on the create, not only on the response.
    pub fn names_create(&self) -> bool {
        let Self::Text(parts) = self else {
            return false;
        };
        let mut parts = parts.iter();
        parts.any(|part| {
            matches!(
                part,
                ResponseSourceTextPart::CreatePath | ResponseSourceTextPart::Model
            )
        })
    }

    fn text(&self, root: DocumentNode<'_>, create: Option<SentCreate<'_>>) -> Option<String> {
        match self {
            Self::Pointer(pointer) => word(find(root, pointer)?),
            Self::Minus(..) | Self::Over(..) => Some(self.number(root)?.to_string()),
            Self::Computed(expression) => expression.text(root),
            Self::Text(parts) => {
                let words = parts.iter().map(|part| match part {
                    ResponseSourceTextPart::Literal(text) => Some(text.clone()),
                    // Providers write 0 for an unknown size.
                    ResponseSourceTextPart::Pointer(pointer) => {
                        word(find(root, pointer)?).filter(|word| word != "0")
                    }
                    ResponseSourceTextPart::CreatePath => Some(create?.path.to_owned()),
                    ResponseSourceTextPart::Model => Some(create?.channel_model.to_owned()),
                });
                words.collect()
            }
        }
    }

    fn number(&self, root: DocumentNode<'_>) -> Option<f64> {
        let number = |pointer: &str| word(find(root, pointer)?)?.parse::<f64>().ok();
        let number = match self {
            Self::Pointer(pointer) => number(pointer)?,
            Self::Minus(left, right) => number(left)? - number(right)?,
            Self::Over(left, right) => (number(left)? / number(right)?).floor(),
            Self::Text(_) | Self::Computed(_) => self.text(root, None)?.parse().ok()?,
        };
        number.is_finite().then_some(number)
    }
}

impl ValueSourceList {
    pub fn new(sources: Vec<ValueSource>) -> Self {
        Self(sources)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first text that is present and not empty; a number counts as text.
    pub fn text(&self, root: DocumentNode<'_>) -> Option<String> {
        self.0.iter().find_map(|source| source.text(root, None))
    }

    /// As [`Self::text`], of the response to a create.
    pub fn text_after(&self, root: DocumentNode<'_>, create: SentCreate<'_>) -> Option<String> {
        let mut sources = self.0.iter();
        sources.find_map(|source| source.text(root, Some(create)))
    }

    /// The first number that is present and not below zero, rounded.
    pub fn whole(&self, root: DocumentNode<'_>) -> Option<u64> {
        Some(self.number(root)?.round() as u64)
    }

    /// The first number that is present and not below zero.
    pub fn number(&self, root: DocumentNode<'_>) -> Option<f64> {
        let mut numbers = self.0.iter().filter_map(|source| source.number(root));
        numbers.find(|number| (0.0..9_007_199_254_740_992.0).contains(&number.round()))
    }

    /// The plain pointers among these sources.
    pub fn pointers(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(ValueSource::pointer)
    }

    /// All values at the pointers; `*` matches all elements of a list.
    pub fn nodes<'a>(&self, root: DocumentNode<'a>) -> Vec<DocumentNode<'a>> {
        let mut nodes = Vec::new();
        for pointer in self.pointers() {
            find_all(root, pointer, &mut nodes);
        }
        nodes
    }
}

fn parse_text(text: &str) -> Result<ValueSource, &'static str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((literal, after)) = rest.split_once('{') {
        let (inner, after) = after.split_once('}').ok_or("unclosed `{`")?;
        parts.push(ResponseSourceTextPart::Literal(literal.into()));
        parts.push(match inner {
            "create_path" => ResponseSourceTextPart::CreatePath,
            "model" => ResponseSourceTextPart::Model,
            inner => ResponseSourceTextPart::Pointer(pointer(inner)?),
        });
        rest = after;
    }
    if parts.is_empty() {
        return Err("not a JSON pointer: it must begin with `/`");
    }
    parts.push(ResponseSourceTextPart::Literal(rest.into()));
    parts.retain(|part| *part != ResponseSourceTextPart::Literal(String::new()));
    Ok(ValueSource::Text(parts))
}

fn pointer(text: &str) -> Result<String, &'static str> {
    match text.starts_with('/') && text.len() > 1 && !text.contains(char::is_whitespace) {
        true => Ok(text.into()),
        false => Err(
            "a JSON pointer must begin with `/`, as in /output/task_id, and must not contain spaces",
        ),
    }
}

/// A string that is not empty, or a number as written.
fn word(node: DocumentNode<'_>) -> Option<String> {
    let text = node.as_str().map(|text| text.into_owned());
    let word = text.or_else(|| node.number_text().map(String::from))?;
    (!word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::json::{JsonDocument, JsonLimits};
    use serde_json::json;

    fn sources(texts: &[&str]) -> ValueSourceList {
        ValueSourceList::new(
            texts
                .iter()
                .map(|text| ValueSource::parse(text).unwrap())
                .collect(),
        )
    }

    #[test]
    fn the_first_present_source_is_used() {
        let response = json!({
            "five": 5, "text": "5.6", "half": 4.5, "zero": 0, "empty": "", "null": null, "minus": -1,
            "list": [{"id": "a"}, {"other": 1}, {"id": "b"}], "true": true, "huge": 1e300
        });
        let response =
            JsonDocument::parse(response.to_string().into(), &JsonLimits::default()).unwrap();
        let root = response.root();
        let numbers: [(&[&str], Option<u64>); 11] = [
            (&["/five"], Some(5)),
            (
                &["/missing", "/null", "/empty", "/minus", "/true", "/text"],
                Some(6),
            ),
            (&["/half"], Some(5)),
            (&["/zero", "/five"], Some(0)),
            (&["/five - /half"], Some(1)),
            (&["/five / /half"], Some(1)),
            (&["/five / /zero"], None),
            (&["/zero - /five", "/half"], Some(5)),
            (&["/five - /missing"], None),
            (&["/huge"], None),
            (&[], None),
        ];
        for (texts, expected) in numbers {
            assert_eq!(sources(texts).whole(root), expected, "{texts:?}");
        }
        let words: [(&[&str], Option<&str>); 6] = [
            (&["/text"], Some("5.6")),
            (&["/five"], Some("5")),
            (&["/empty", "/null", "/true", "/list/0/id"], Some("a")),
            (&["{/five}p"], Some("5p")),
            (&["{/five}:{/text}"], Some("5:5.6")),
            (&["{/zero}p", "{/empty}p", "{/missing}p"], None),
        ];
        for (texts, expected) in words {
            assert_eq!(sources(texts).text(root).as_deref(), expected, "{texts:?}");
        }
        let ids = sources(&["/list/*/id", "/missing/*/id", "/five"]);
        let found: Vec<_> = ids.nodes(root).iter().map(|node| node.raw()).collect();
        assert_eq!(found, [&b"\"a\""[..], b"\"b\"", b"5"]);
    }

    #[test]
    fn what_leads_nowhere_is_refused() {
        for text in [
            "", "output", "p", "{/a", "{a}p", "/", "/a b", "/a - b", "/a /b", "{}",
        ] {
            assert!(ValueSource::parse(text).is_err(), "{text}");
        }
    }
}
