//! The most tokens that a request can use, from its body: a token is at least a byte of text.

use super::conversation::ConversationShape;
use super::data_uri::has_data_scheme;
use super::estimate::{TOKENS_MAX, is_media};
use super::json::{DocumentNode, JsonDocument, ValueKind};

/// Members that limit the tokens of a response in protocols without conversations.
const OUTPUT_LIMITS: [&str; 3] = ["max_completion_tokens", "max_output_tokens", "max_tokens"];
/// Members with the number of choices, each of which has all tokens of the limit.
const CHOICES: [&str; 2] = ["n", "best_of"];
/// Members of a request whose strings are text, whatever they look like: they become a part of the prompt.
const TEXT_MEMBERS: [&str; 5] = [
    "tools",
    "functions",
    "response_format",
    "system",
    "instructions",
];
/// Members whose strings are a file, or the place of one.
const FILE_MEMBERS: [&str; 8] = [
    "url",
    "data",
    "image_url",
    "file_url",
    "file_id",
    "file_data",
    "image",
    "mask",
];
/// Members that add what an earlier request has stored to the prompt.
const STORED_CONTEXT: [&str; 4] = [
    "previous_response_id",
    "conversation",
    "prompt",
    "container",
];
/// Types of parts that are calls of tools, whose arguments are text.
const CALL_TYPES: [&str; 4] = [
    "tool_use",
    "server_tool_use",
    "mcp_tool_use",
    "function_call",
];
/// The beginnings of images in base64: PNG, JPEG, GIF, WebP.
const IMAGE_STARTS: [&[u8]; 4] = [b"iVBORw0KGgo", b"/9j/", b"R0lGOD", b"UklGR"];
/// Tokens of prompts that providers add to requests with tools.
const TOOLS_PROMPT: u64 = 1_024;

/// The most tokens that a request can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenMaximum {
    pub input: u64,
    /// The limit that the request sets for each of its choices.
    pub output: Option<u64>,
    pub choices: u64,
    /// Whether the provider adds content that it has stored, whose length nobody knows here.
    pub has_stored_context: bool,
}

impl TokenMaximum {
    /// Input: the bytes of the body, with `image_tokens` in place of each inline image and in addition to each place of a
    /// file. Output: the largest limit that the body has; one of 0 is none.
    pub fn from_body(
        body: &JsonDocument,
        conversation: Option<&ConversationShape>,
        image_tokens: u64,
    ) -> Self {
        let root = body.root();
        let mut files = FileTotal::default();
        files.add_root(root);
        let text = body.body().len() as u64 - files.image_bytes;
        let has_tools = root
            .get("tools")
            .or_else(|| root.get("functions"))
            .is_some();
        let prompt = if has_tools { TOOLS_PROMPT } else { 0 };
        let images = files.images.saturating_mul(image_tokens);
        let limits = conversation.map_or(&OUTPUT_LIMITS[..], |shape| shape.output_limits);
        let number = |name: &&str| root.get(name)?.as_u64();
        let output = limits.iter().filter_map(number).max();
        let choices = CHOICES.iter().filter_map(number).max().unwrap_or(1).max(1);
        let is_set = |name: &&str| {
            let value = root.get(name);
            value.is_some_and(|value| match value.kind() {
                // A prompt that is no text is a stored one.
                ValueKind::String => *name != "prompt",
                ValueKind::Null => false,
                _ => true,
            })
        };
        Self {
            input: text
                .saturating_add(images)
                .saturating_add(prompt)
                .min(TOKENS_MAX),
            output: output.filter(|limit| *limit > 0),
            choices,
            has_stored_context: conversation.is_some() && STORED_CONTEXT.iter().any(is_set),
        }
    }

    /// The most input tokens of a model whose context has `window` tokens, if that is known.
    pub fn input_within(&self, window: Option<u64>) -> u64 {
        match window {
            Some(window) if self.has_stored_context => window,
            Some(window) => self.input.min(window),
            None => self.input,
        }
    }

    /// The most output tokens of all choices; `None` if neither the request nor the model has a limit.
    pub fn output_within(&self, model_max: Option<u64>) -> Option<u64> {
        let each = self.output.or(model_max)?;
        Some(each.saturating_mul(self.choices).min(TOKENS_MAX))
    }
}

/// The files in a body.
#[derive(Default)]
struct FileTotal {
    /// The bytes of inline images, which count by their number.
    image_bytes: u64,
    images: u64,
}

impl FileTotal {
    fn add_root(&mut self, root: DocumentNode<'_>) {
        for (name, value) in root.members() {
            if !TEXT_MEMBERS.contains(&&*name) {
                self.add(&name, value);
            }
        }
    }

    /// Adds what the member `name`, or an element of its array, has.
    fn add(&mut self, name: &str, node: DocumentNode<'_>) {
        match node.kind() {
            ValueKind::String => self.add_string(name, node),
            ValueKind::Array => node.elements().for_each(|element| self.add(name, element)),
            ValueKind::Object if !is_call(node) => {
                for (name, value) in node.members() {
                    self.add(&name, value);
                }
            }
            ValueKind::Object | ValueKind::Number | ValueKind::Bool | ValueKind::Null => {}
        }
    }

    fn add_string(&mut self, name: &str, string: DocumentNode<'_>) {
        if !FILE_MEMBERS.contains(&name) {
            return;
        }
        let is_inline = is_media(string);
        self.images += 1;
        if is_inline && is_image(&string.raw()[1..]) {
            self.image_bytes += string.raw().len() as u64;
        }
    }
}

/// Whether a part is the call of a tool.
fn is_call(part: DocumentNode<'_>) -> bool {
    let kind = part.get("type").and_then(DocumentNode::as_str);
    kind.is_some_and(|kind| CALL_TYPES.contains(&&*kind))
}

/// Whether the text of a JSON string is a data URL of an image, or an image in base64.
fn is_image(text: &[u8]) -> bool {
    match has_data_scheme(text) {
        true => text
            .get(5..10)
            .is_some_and(|kind| kind.eq_ignore_ascii_case(b"image")),
        false => IMAGE_STARTS.iter().any(|start| text.starts_with(start)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;
    use crate::json::JsonLimits;

    const IMAGE: u64 = 5_000;

    fn bound(protocol: Protocol, body: &str) -> TokenMaximum {
        let body = JsonDocument::parse(body.to_owned().into(), &JsonLimits::default()).unwrap();
        let conversation = protocol.descriptor().conversation.as_ref();
        TokenMaximum::from_body(&body, conversation, IMAGE)
    }

    #[test]
    fn the_output_is_bounded_by_the_limits_of_the_protocol() {
        use Protocol::{Chat, Messages, Responses};
        for (protocol, body, output) in [
            (Chat, "{}", None),
            (Chat, r#"{"max_tokens":7}"#, Some(7)),
            (
                Chat,
                r#"{"max_tokens":7,"max_completion_tokens":9,"n":3}"#,
                Some(27),
            ),
            (Chat, r#"{"max_tokens":7,"n":0}"#, Some(7)),
            // What the provider ignores is no limit.
            (Chat, r#"{"max_output_tokens":7}"#, None),
            (Responses, r#"{"max_tokens":1}"#, None),
            (Responses, r#"{"max_output_tokens":8}"#, Some(8)),
            (
                Messages,
                r#"{"max_tokens":6,"max_output_tokens":1}"#,
                Some(6),
            ),
            // What some providers take for no limit, or refuse.
            (Chat, r#"{"max_tokens":0}"#, None),
            (Chat, r#"{"max_tokens":-1}"#, None),
            (Chat, r#"{"max_tokens":null}"#, None),
            (Chat, r#"{"max_tokens":"7"}"#, None),
            (
                Chat,
                r#"{"max_tokens":18446744073709551615,"n":2}"#,
                Some(TOKENS_MAX),
            ),
        ] {
            let found = bound(protocol, body);
            assert_eq!(found.output_within(None), output, "{body}");
            let with_model = found.output_within(Some(100));
            let choices = found.choices;
            assert_eq!(with_model, output.or(Some(100 * choices)), "{body}");
        }
    }

    #[test]
    fn a_token_is_at_least_a_byte_unless_it_is_of_an_image() {
        let png = format!("iVBORw0KGgo{}", "A".repeat(50_000));
        let other = "QUJD".repeat(5_000);
        let uri = format!("data:image/jpeg;base64,{other}");
        let part = |part: &str| format!(r#"{{"messages":[{{"content":[{part}]}}]}}"#);
        for (what, body, images, is_image) in [
            ("text", part(r#"{"text":"words"}"#), 0, false),
            (
                "a data URL",
                part(&format!(r#"{{"image_url":{{"url":"{uri}"}}}}"#)),
                1,
                true,
            ),
            (
                "an image",
                part(&format!(r#"{{"source":{{"data":"{png}"}}}}"#)),
                1,
                true,
            ),
            (
                "a document",
                part(&format!(r#"{{"source":{{"data":"{other}"}}}}"#)),
                1,
                false,
            ),
            (
                "a place",
                part(r#"{"image_url":{"url":"https://x.example/a.png"}}"#),
                1,
                false,
            ),
            (
                "text that looks like an image",
                part(&format!(r#"{{"text":"{uri}"}}"#)),
                0,
                false,
            ),
            (
                "an argument that looks like an image",
                part(&format!(
                    r#"{{"type":"tool_use","input":{{"data":"{png}"}}}}"#
                )),
                0,
                false,
            ),
        ] {
            let TokenMaximum { input, .. } = bound(Protocol::Chat, &body);
            let text = body.len() as u64;
            match is_image {
                true => assert!((IMAGE..IMAGE + 200).contains(&input), "{what}: {input}"),
                false => assert_eq!(input, text + images * IMAGE, "{what}"),
            }
        }
        let tools = format!(r#"{{"tools":[{{"data":"{png}"}}]}}"#);
        let expected = tools.len() as u64 + TOOLS_PROMPT;
        assert_eq!(bound(Protocol::Chat, &tools).input, expected);
    }

    #[test]
    fn stored_context_has_the_length_of_the_models_window() {
        for (body, is_stored) in [
            (r#"{"input":"x"}"#, false),
            (r#"{"input":"x","previous_response_id":null}"#, false),
            (r#"{"input":"x","previous_response_id":"resp_1"}"#, true),
            (r#"{"input":"x","conversation":{"id":"conv_1"}}"#, true),
            (r#"{"input":"x","prompt":{"id":"pmpt_1"}}"#, true),
            (r#"{"input":"x","prompt":"text"}"#, false),
        ] {
            let found = bound(Protocol::Responses, body);
            assert_eq!(found.has_stored_context, is_stored, "{body}");
            let expected = if is_stored { 9_000 } else { body.len() as u64 };
            assert_eq!(found.input_within(Some(9_000)), expected, "{body}");
            assert_eq!(found.input_within(None), body.len() as u64, "{body}");
        }
        assert_eq!(
            bound(Protocol::Chat, r#"{"messages":[]}"#).input_within(Some(3)),
            3
        );
    }
}
