//! URLs in responses of providers: an SDK that followed one would carry the caller's key to the provider.

use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{DocumentNode, ValueKind, quoted};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use std::ops::Range;

/// What stands in a text in place of a URL.
const REMOVED: &str = "[URL removed]";
/// Schemes whose URLs clients follow without `//`, or with backslashes.
const WEB_SCHEMES: [&str; 6] = ["http", "https", "ws", "wss", "ftp", "file"];

/// Removes the URLs of a response that reach no caller.
pub(super) struct UrlRemoval<'a> {
    /// Spans of values that were replaced, or are kept as they are.
    pub settled: &'a [Range<usize>],
    pub edits: &'a mut JsonEdits,
    /// Where URLs were removed, such as `urls.web`.
    pub removed: Vec<String>,
}

impl UrlRemoval<'_> {
    /// Removes the URLs in a value and all that it contains. What is nothing but a URL is removed with its member, of a
    /// longer text the URL only.
    pub fn remove_in(&mut self, node: DocumentNode<'_>) {
        if self.settled.contains(&node.span()) {
            return;
        }
        match node.kind() {
            ValueKind::Object => {
                for (name, member) in node.members() {
                    match find_url(&name) {
                        Some(_) => self.remove(member),
                        None => self.remove_in(member),
                    }
                }
            }
            ValueKind::Array => node.elements().for_each(|element| self.remove_in(element)),
            ValueKind::String => {
                let text = node.as_str().unwrap_or_default();
                match find_url(&text) {
                    Some(range) if is_whole(&text, &range) => {
                        self.remove(node);
                    }
                    Some(_) => {
                        self.removed.push(node.path());
                        let text = without_urls(&text);
                        self.edits.replace(node.span(), quoted(&text));
                    }
                    None => {}
                }
            }
            _ => {}
        }
    }

    fn remove(&mut self, node: DocumentNode<'_>) {
        self.removed.push(node.path());
        match node.key_span() {
            Some(_) => self.edits.remove_member(node),
            // An element of a list, or the response itself: others keep their places.
            None => self.edits.replace(node.span(), "null"),
        }
    }
}

/// Whether a text is nothing but a URL.
pub(super) fn is_url(text: &str) -> bool {
    find_url(text).is_some_and(|range| is_whole(text, &range))
}

/// Removes the headers that have a URL or a part of one.
pub(super) fn remove_url_headers(headers: &mut HeaderMap) {
    let has_url = |value: &HeaderValue| {
        let text = String::from_utf8_lossy(value.as_bytes());
        find_url(&text).is_some()
    };
    let with_url = headers.iter().filter(|(name, value)| {
        [
            header::LOCATION,
            header::CONTENT_LOCATION,
            header::LINK,
            header::REFRESH,
        ]
        .contains(*name)
            || has_url(value)
    });
    let names: Vec<HeaderName> = with_url.map(|(name, _)| name.clone()).collect();
    for name in names {
        headers.remove(name);
    }
}

/// Whether a text is nothing but the URL in this range, and blanks.
fn is_whole(text: &str, range: &Range<usize>) -> bool {
    let around = [&text[..range.start], &text[range.end..]];
    around.iter().all(|text| text.chars().all(is_blank))
}

/// A text in which no URL is left.
pub fn without_urls(text: &str) -> String {
    let mut clean = String::new();
    let mut rest = text;
    while let Some(range) = find_url(rest) {
        clean += &rest[..range.start];
        clean += REMOVED;
        rest = &rest[range.end..];
    }
    clean + rest
}

/// The first URL in a text.
fn find_url(text: &str) -> Option<Range<usize>> {
    let begin = text.trim_start_matches(is_blank);
    let start = match begin.starts_with(is_slash) && begin[1..].starts_with(is_slash) {
        // A URL without a scheme, which has that of the request.
        true => text.len() - begin.len(),
        false => find_scheme(text)?,
    };
    let rest = &text[start..];
    let is_end = |character: char| is_blank(character) || r#""<>)]}`"#.contains(character);
    let length = rest.find(is_end).unwrap_or(rest.len());
    Some(start..start + length)
}

fn is_blank(character: char) -> bool {
    character.is_whitespace() || character.is_control()
}

/// Where the scheme of the first URL begins.
fn find_scheme(text: &str) -> Option<usize> {
    let colons = text.match_indices(':').map(|(at, _)| at);
    let mut schemes = colons.filter_map(|colon| {
        let is_in_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+.-_".contains(byte);
        let before = text[..colon].bytes().rev();
        let length = before.take_while(is_in_scheme).count();
        let (scheme, rest) = (&text[colon - length..colon], &text[colon + 1..]);
        let is_web = WEB_SCHEMES
            .iter()
            .any(|known| known.eq_ignore_ascii_case(scheme));
        let follows = match is_web {
            true => rest.starts_with(is_slash),
            false => length > 0 && rest.starts_with("//"),
        };
        follows.then_some(colon - length)
    });
    schemes.next()
}

fn is_slash(character: char) -> bool {
    matches!(character, '/' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::json::{JsonDocument, JsonLimits};

    #[test]
    fn what_a_client_could_follow_is_a_url() {
        for text in [
            "https://vendor.example/x",
            " https://vendor.example",
            "\nHTTPS://vendor.example",
            "//vendor.example/x",
            "\\\\vendor.example/x",
            "https:\\\\vendor.example",
            "http:/vendor.example",
            "gs://bucket/x",
            "mm_file://1",
            "wss://vendor.example/?a=b",
        ] {
            assert!(is_url(text), "{text:?}");
        }
        for text in [
            "a gate",
            "/v1/tasks/1",
            "12:30",
            "16:9",
            "models/veo/operations/1",
            "data:video/mp4;base64,AAAA",
            "see https://vendor.example",
            "note: x",
            "",
        ] {
            assert!(!is_url(text), "{text:?}");
        }
    }

    #[test]
    fn a_text_keeps_what_is_no_url() {
        for (text, expected) in [
            (
                "see https://a.example/x?y=1 for more",
                "see [URL removed] for more",
            ),
            ("(http://a.example) and //b", "([URL removed]) and //b"),
            (
                "a:https://a.example https://b.example",
                "a:[URL removed] [URL removed]",
            ),
            ("no link", "no link"),
        ] {
            assert_eq!(without_urls(text), expected);
        }
    }

    #[test]
    fn urls_are_removed_wherever_they_stand() {
        let body = r#"{"id":"1","keep":"https://keep.example","web":"https://a.example",
            "list":["x","https://b.example"],"deep":{"a":[{"u":"//c.example","n":1}]},
            "https://d.example":1,"text":"see http://e.example"}"#;
        let document = JsonDocument::parse(body.into(), &JsonLimits::default()).unwrap();
        let kept = document.root().get("keep").unwrap().span();
        let mut edits = JsonEdits::default();
        let mut removal = UrlRemoval {
            settled: &[kept],
            edits: &mut edits,
            removed: Vec::new(),
        };
        removal.remove_in(document.root());
        assert_eq!(removal.removed.len(), 5, "{:?}", removal.removed);
        let clean = edits.apply(document.body()).to_bytes();
        let clean: serde_json::Value = serde_json::from_slice(&clean).unwrap();
        assert_eq!(
            clean,
            serde_json::json!({
                "id": "1", "keep": "https://keep.example", "list": ["x", null], "deep": {"a": [{"n": 1}]},
                "text": "see [URL removed]",
            })
        );
    }
}
