//! The texts of a response, as pieces in the events of a stream or as whole ones in a body.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;

use super::Protocol;
use super::json::{DocumentNode, JsonDocument, JsonError, JsonLimits, ValueKind};

/// Identifies a text of a response: pieces in several events that belong to one text have the same part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextPart(u64);

/// Members without text: names, ids, states, and content that is no text.
const NO_TEXT: [&str; 24] = [
    "b64_json",
    "call_id",
    "created",
    "created_at",
    "encrypted_content",
    "event_id",
    "finish_reason",
    "id",
    "item_id",
    "model",
    "object",
    "obfuscation",
    "partial_image_b64",
    "previous_item_id",
    "previous_response_id",
    "response_id",
    "role",
    "service_tier",
    "signature",
    "status",
    "stop_reason",
    "system_fingerprint",
    "tool_use_id",
    "type",
];
/// Members that distinguish the parts of a response.
const INDEXES: [&str; 4] = ["output_index", "content_index", "summary_index", "index"];
/// What a piece of a text is called in the events of the messages and the responses protocol.
const DELTA: &str = "delta";

/// Calls `visit` with each text in the data of an event, or in a whole body, in the order in which they are written.
///
/// Every string is a text, unless its member is known to have none, so that a member that the gateway does not know is
/// not overlooked.
///
/// # Errors
/// The data is not strict JSON, although the protocol's is.
pub fn visit_texts(
    protocol: Option<Protocol>,
    data: &Bytes,
    visit: &mut dyn FnMut(TextPart, Cow<'_, str>),
) -> Result<(), JsonError> {
    if data.is_empty() || data.trim_ascii() == b"[DONE]" {
        return Ok(());
    }
    match JsonDocument::parse(data.clone(), &JsonLimits::default()) {
        Ok(document) => {
            visit_document(protocol, &document, visit);
            Ok(())
        }
        Err(error) if protocol.is_some() => Err(error),
        Err(_) => {
            visit(TextPart(0), String::from_utf8_lossy(data));
            Ok(())
        }
    }
}

/// Like [`visit_texts`], for a document that is parsed already.
pub fn visit_document(
    protocol: Option<Protocol>,
    document: &JsonDocument,
    visit: &mut dyn FnMut(TextPart, Cow<'_, str>),
) {
    let mut walk = TextWalk { protocol, visit };
    walk.root(document.root());
}

struct TextWalk<'v> {
    protocol: Option<Protocol>,
    visit: &'v mut dyn FnMut(TextPart, Cow<'_, str>),
}

impl TextWalk<'_> {
    fn root(&mut self, root: DocumentNode<'_>) {
        if self.protocol != Some(Protocol::Responses) {
            return self.value(root, 0, true);
        }
        // A response object repeats the request's instructions, tools and metadata.
        let response = root.get("response").or_else(|| {
            let is_response = root.get("object").and_then(DocumentNode::as_str);
            is_response
                .filter(|object| object.as_ref() == "response")
                .map(|_| root)
        });
        match response.filter(|response| response.kind() == ValueKind::Object) {
            Some(response) => {
                for name in ["output", "error"] {
                    if let Some(value) = response.get(name) {
                        self.value(value, below(0, name), false);
                    }
                }
            }
            None => self.value(root, 0, true),
        }
    }

    fn value(&mut self, node: DocumentNode<'_>, path: u64, is_root: bool) {
        match node.kind() {
            ValueKind::String => self.text(path, node),
            ValueKind::Array => {
                for (position, element) in node.elements().enumerate() {
                    let index = element.get("index").and_then(DocumentNode::as_u64);
                    let place = index.unwrap_or(position as u64);
                    self.value(element, below(path, place), false);
                }
            }
            ValueKind::Object => self.object(node, path, is_root),
            ValueKind::Null | ValueKind::Bool | ValueKind::Number => {}
        }
    }

    fn object(&mut self, node: DocumentNode<'_>, path: u64, is_root: bool) {
        let indexes = INDEXES
            .iter()
            .filter_map(|name| Some((name, node.get(name)?)));
        let path = indexes.fold(path, |path, (name, index)| match index.as_u64() {
            Some(index) => below(below(path, name), index),
            None => path,
        });
        for (key, value) in node.members() {
            if NO_TEXT.contains(&&*key) {
                continue;
            }
            let key = match is_root {
                true => self.name_at_root(&key),
                false => &*key,
            };
            // The arguments of a tool: JSON that streams have as text.
            if key == "input" && value.kind() == ValueKind::Object {
                if !value.is_empty() {
                    let json = String::from_utf8_lossy(value.raw());
                    (self.visit)(TextPart(below(path, key)), json);
                }
                continue;
            }
            if is_root && key == "part" && self.protocol == Some(Protocol::Responses) {
                self.first_piece(node, value, path);
                continue;
            }
            self.value(value, below(path, key), false);
        }
    }

    /// The name of a member of an event, where the first piece of a text has another name than those that follow.
    fn name_at_root<'k>(&self, key: &'k str) -> &'k str {
        match (self.protocol, key) {
            (Some(Protocol::Messages), "content_block") => DELTA,
            _ => key,
        }
    }

    /// The text of a part that an event of the responses protocol adds is the start of its deltas; that of a part that is
    /// done repeats them.
    fn first_piece(&mut self, event: DocumentNode<'_>, part: DocumentNode<'_>, path: u64) {
        let class = event.get("type").and_then(DocumentNode::as_str);
        if !class.is_some_and(|class| class.ends_with(".added")) {
            return self.value(part, below(path, "part"), false);
        }
        for (key, value) in part.members() {
            match value.kind() {
                ValueKind::String if !NO_TEXT.contains(&&*key) => {
                    self.text(below(path, DELTA), value);
                }
                ValueKind::String => {}
                _ => self.value(value, below(below(path, "part"), &*key), false),
            }
        }
    }

    fn text(&mut self, path: u64, node: DocumentNode<'_>) {
        if let Some(text) = node.as_str().filter(|text| !text.is_empty()) {
            (self.visit)(TextPart(path), text);
        }
    }
}

fn below(path: u64, step: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    (path, step).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of several events, each part joined, in the order in which the parts begin.
    fn joined(protocol: Protocol, events: &[&str]) -> Vec<String> {
        let mut parts: Vec<(TextPart, String)> = Vec::new();
        for event in events {
            let data = Bytes::copy_from_slice(event.as_bytes());
            visit_texts(Some(protocol), &data, &mut |part, text| match parts
                .iter_mut()
                .find(|(known, _)| *known == part)
            {
                Some((_, known)) => known.push_str(&text),
                None => parts.push((part, text.into_owned())),
            })
            .unwrap();
        }
        parts.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn pieces_of_a_text_are_joined_across_events() {
        for (protocol, events, texts) in [
            (
                Protocol::Chat,
                &[
                    r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"ab"}}]}"#,
                    r#"{"choices":[{"index":1,"delta":{"content":"xy"}}]}"#,
                    r#"{"choices":[{"index":0,"delta":{"content":"\u0063"}},{"index":1,"delta":{"content":"z"}}]}"#,
                    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"t","function":{"name":"f","arguments":"{\"a"}}]}}]}"#,
                    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"\":1}"}}]}}]}"#,
                    r#"{"choices":[{"index":0,"delta":{"reasoning_content":"why"}}]}"#,
                    "[DONE]",
                ][..],
                &["abc", "xyz", "f", "{\"a\":1}", "why"][..],
            ),
            (
                Protocol::Messages,
                &[
                    r#"{"type":"message_start","message":{"id":"m","role":"assistant","model":"x","content":[]}}"#,
                    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"hm"}}"#,
                    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m"}}"#,
                    r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"a"}}"#,
                    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"b"}}"#,
                    r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#,
                    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
                ],
                &["hmm", "ab", "f", "{}"],
            ),
            (
                Protocol::Responses,
                &[
                    r#"{"type":"response.created","response":{"instructions":"secret","output":[]}}"#,
                    r#"{"type":"response.content_part.added","item_id":"i","output_index":0,"content_index":0,"part":{"type":"output_text","text":"a","annotations":[]}}"#,
                    r#"{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"b"}"#,
                    r#"{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":1,"delta":"x"}"#,
                    r#"{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"c"}"#,
                    r#"{"type":"response.output_text.done","item_id":"i","output_index":0,"content_index":0,"text":"abc"}"#,
                    r#"{"type":"response.completed","response":{"instructions":"secret","output":[{"type":"message","id":"i","content":[{"type":"output_text","text":"abc"}]}]}}"#,
                ],
                &["abc", "x", "abc", "abc"],
            ),
        ] {
            assert_eq!(joined(protocol, events), texts, "{protocol:?}");
        }
    }

    #[test]
    fn a_whole_body_has_the_texts_of_its_stream() {
        for (protocol, body, texts) in [
            (
                Protocol::Chat,
                r#"{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"abc"},"finish_reason":"stop"}],"usage":{"total_tokens":1}}"#,
                &["abc"][..],
            ),
            (
                Protocol::Messages,
                r#"{"id":"m","type":"message","content":[{"type":"text","text":"abc"},{"type":"tool_use","id":"t","name":"f","input":{"a":1}}]}"#,
                &["abc", "f", "{\"a\":1}"],
            ),
            (
                Protocol::Responses,
                r#"{"id":"r","object":"response","instructions":"no","output":[{"type":"message","content":[{"type":"output_text","text":"abc"}]}]}"#,
                &["abc"],
            ),
        ] {
            assert_eq!(joined(protocol, &[body]), texts, "{protocol:?}");
        }
    }

    #[test]
    fn data_that_is_not_strict_json_is_an_error_in_a_protocol_and_a_text_elsewhere() {
        let data = Bytes::from_static(br#"{"a":"\ud800"}"#);
        assert!(visit_texts(Some(Protocol::Chat), &data, &mut |_, _| {}).is_err());
        let mut seen = String::new();
        let visited = visit_texts(None, &data, &mut |_, text| seen.push_str(&text));
        assert!(visited.is_ok() && seen.contains("ud800"));
    }
}
