//! The texts of a response, as pieces in the events of a stream or as whole ones in a body.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use bytes::Bytes;

use super::json::{DocumentNode, JsonDocument, JsonError, JsonLimits, ValueKind};

/// Identifies a text of a response: pieces in several events that belong to one text have the same part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextPart(u64);

/// A text of a response, or a piece of one.
pub struct ResponseText<'t> {
    pub part: TextPart,
    pub text: Cow<'t, str>,
    pub form: TextForm,
    /// Of the string, or of the object with the arguments of a tool; `None` for JSON within a string.
    pub place: Option<Range<usize>>,
}

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    Plain,
    /// The arguments of a tool: JSON text, whose escapes are not decoded. A piece may end within an escape.
    Json,
}

/// Members whose strings are no text, outside of the arguments of tools: names, ids, states, and content that is no text.
const NO_TEXT: [&str; 31] = [
    "b64_json",
    "call_id",
    "created",
    "created_at",
    "encrypted_content",
    "event_id",
    "finishReason",
    "finish_reason",
    "id",
    "item_id",
    "mimeType",
    "model",
    "modelVersion",
    "object",
    "obfuscation",
    "partial_image_b64",
    "previous_item_id",
    "previous_response_id",
    "responseId",
    "response_id",
    "role",
    "service_tier",
    "signature",
    "status",
    "stopReason",
    "stop_reason",
    "system_fingerprint",
    "thoughtSignature",
    "toolUseId",
    "tool_use_id",
    "type",
];
/// Members that distinguish the parts of a response.
const INDEXES: [&str; 4] = ["output_index", "content_index", "summary_index", "index"];
/// Members of a response object that repeat what its request had.
const REPEATED: [&str; 14] = [
    "billing",
    "conversation",
    "instructions",
    "metadata",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "text",
    "tool_choice",
    "tools",
    "truncation",
    "user",
];
/// Members with the arguments of a tool. A string is JSON text, except for `input` and `action`, where it is plain.
const ARGUMENTS: [&str; 5] = ["action", "args", "arguments", "input", "partial_json"];
/// What a piece of a text is called in the events of the messages and the responses protocol.
const DELTA: &str = "delta";

/// Where a protocol's responses have texts, beside the rules for all.
#[derive(Clone, Copy, Debug)]
pub struct TextPlaces {
    /// Whether a response is an object that repeats members of its request, and events have it, or a part of it.
    pub has_response_objects: bool,
    /// The member of an event with the first piece of a text whose further pieces are in `delta`.
    pub first_piece: Option<&'static str>,
}

impl TextPlaces {
    /// No texts but those that the rules for all find.
    pub const PLAIN: Self = Self {
        has_response_objects: false,
        first_piece: None,
    };
}

/// Calls `visit` with each text in the data of an event, or in a whole body, in the order in which they are written. Without
/// `places` the data is of no protocol.
///
/// Every string is a text, unless its member is known to have none, so that a member that the gateway does not know is
/// not overlooked.
///
/// # Errors
/// The data is not strict JSON, although the protocol's is.
pub fn visit_texts(
    places: Option<TextPlaces>,
    data: &Bytes,
    visit: &mut dyn FnMut(ResponseText<'_>),
) -> Result<(), JsonError> {
    if data.is_empty() || data.trim_ascii() == b"[DONE]" {
        return Ok(());
    }
    match JsonDocument::parse(data.clone(), &JsonLimits::default()) {
        Ok(document) => {
            visit_document(places, &document, visit);
            Ok(())
        }
        Err(error) if places.is_some() => Err(error),
        Err(_) => {
            visit(ResponseText {
                part: TextPart(0),
                text: String::from_utf8_lossy(data),
                form: TextForm::Plain,
                place: None,
            });
            Ok(())
        }
    }
}

/// Like [`visit_texts`], for a document that is parsed already.
pub fn visit_document(
    places: Option<TextPlaces>,
    document: &JsonDocument,
    visit: &mut dyn FnMut(ResponseText<'_>),
) {
    let places = places.unwrap_or(TextPlaces::PLAIN);
    let mut walk = TextWalk { places, visit };
    walk.root(document.root());
}

struct TextWalk<'v> {
    places: TextPlaces,
    visit: &'v mut dyn FnMut(ResponseText<'_>),
}

impl TextWalk<'_> {
    fn root(&mut self, root: DocumentNode<'_>) {
        let is_response = || {
            let object = root.get("object").and_then(DocumentNode::as_str);
            object.is_some_and(|object| object == "response") && root.get("type").is_none()
        };
        match self.places.has_response_objects && is_response() {
            true => self.response_object(root),
            false => self.value(root, 0, true),
        }
    }

    /// All members but those that repeat the request: instructions, tools and settings.
    fn response_object(&mut self, response: DocumentNode<'_>) {
        for (key, value) in response.members() {
            let is_repeated = REPEATED.contains(&&*key)
                // Settings of the text, which is itself in `output`.
                && (key != "text" || value.kind() != ValueKind::String);
            if !is_repeated {
                self.member(&key, value, below(0, &*key));
            }
        }
    }

    fn value(&mut self, node: DocumentNode<'_>, path: u64, is_root: bool) {
        match node.kind() {
            ValueKind::String => self.text(path, node, TextForm::Plain),
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
        let is_responses = self.places.has_response_objects;
        for (key, value) in node.members() {
            let place = match is_root {
                true => below(path, self.name_at_root(&key)),
                false => below(path, &*key),
            };
            match (&*key, value.kind()) {
                ("response", ValueKind::Object) if is_root && is_responses => {
                    self.response_object(value);
                }
                ("part", ValueKind::Object) if is_root && is_responses => {
                    self.first_piece(node, value, path);
                }
                (DELTA, ValueKind::String) if is_root && has_arguments_delta(node) => {
                    self.text(place, value, TextForm::Json);
                }
                _ => self.member(&key, value, place),
            }
        }
    }

    fn member(&mut self, key: &str, value: DocumentNode<'_>, place: u64) {
        let kind = value.kind();
        match kind {
            ValueKind::String if NO_TEXT.contains(&key) => {}
            ValueKind::String if matches!(key, "arguments" | "partial_json") => {
                self.text(place, value, TextForm::Json);
            }
            ValueKind::Object | ValueKind::Array if ARGUMENTS.contains(&key) => {
                if !value.is_empty() {
                    self.json(place, &String::from_utf8_lossy(value.raw()), value.span());
                }
            }
            _ => self.value(value, place, false),
        }
    }

    /// The name of a member of an event, where the first piece of a text has another name than those that follow.
    fn name_at_root<'k>(&self, key: &'k str) -> &'k str {
        match self.places.first_piece {
            Some(first) if first == key => DELTA,
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
            let place = match value.kind() {
                ValueKind::String => below(path, DELTA),
                _ => below(below(path, "part"), &*key),
            };
            self.member(&key, value, place);
        }
    }

    fn text(&mut self, path: u64, node: DocumentNode<'_>, form: TextForm) {
        let Some(text) = node.as_str().filter(|text| !text.is_empty()) else {
            return;
        };
        match form {
            TextForm::Plain => (self.visit)(ResponseText {
                part: TextPart(path),
                text,
                form,
                place: Some(node.span()),
            }),
            TextForm::Json => self.json(path, &text, node.span()),
        }
    }

    /// JSON text, and the JSON in its strings.
    fn json(&mut self, path: u64, text: &str, place: Range<usize>) {
        (self.visit)(ResponseText {
            part: TextPart(path),
            text: text.into(),
            form: TextForm::Json,
            place: Some(place),
        });
        // JSON in a string has quotes, which are escaped there.
        if !text.contains('\\') {
            return;
        }
        let limits = JsonLimits::default();
        let text = Bytes::copy_from_slice(text.as_bytes());
        if let Ok(document) = JsonDocument::parse(text, &limits) {
            self.nested_json(document.root(), below(path, "nested"));
        }
    }

    fn nested_json(&mut self, node: DocumentNode<'_>, path: u64) {
        match node.kind() {
            ValueKind::String => {
                let text = node.as_str().unwrap_or_default();
                let is_json = text.contains('\\') && text.trim_start().starts_with(['{', '[']);
                if is_json {
                    (self.visit)(ResponseText {
                        part: TextPart(path),
                        text,
                        form: TextForm::Json,
                        place: None,
                    });
                }
            }
            ValueKind::Array => {
                for (index, element) in node.elements().enumerate() {
                    self.nested_json(element, below(path, index));
                }
            }
            ValueKind::Object => {
                for (key, value) in node.members() {
                    self.nested_json(value, below(path, &*key));
                }
            }
            ValueKind::Null | ValueKind::Bool | ValueKind::Number => {}
        }
    }
}

/// Whether an event has a piece of the arguments of a tool.
fn has_arguments_delta(event: DocumentNode<'_>) -> bool {
    let class = event.get("type").and_then(DocumentNode::as_str);
    class.is_some_and(|class| class.ends_with("_arguments.delta"))
}

fn below(path: u64, step: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    (path, step).hash(&mut hasher);
    hasher.finish()
}
