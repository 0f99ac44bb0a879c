//! The most tokens that a request can use, from its body: a token is at least a byte of text.

use super::conversation::ConversationShape;
use super::data_uri::has_data_scheme;
use super::estimate::{TOKENS_MAX, is_media};
use super::json::{DocumentNode, JsonDocument, ValueKind};

/// Members that limit the tokens of a response in protocols without conversations.
const OUTPUT_LIMITS: [&str; 3] = ["max_completion_tokens", "max_output_tokens", "max_tokens"];
/// Members with the number of choices, each of which has all tokens of the limit, with the objects around them.
const CHOICES: [&str; 6] = [
    "n",
    "best_of",
    "generationConfig.candidateCount",
    "generation_config.candidate_count",
    "generationConfig.candidate_count",
    "generation_config.candidateCount",
];
/// Members of a request whose strings are text, whatever they look like: they become a part of the prompt.
const TEXT_MEMBERS: [&str; 7] = [
    "tools",
    "toolConfig",
    "systemInstruction",
    "functions",
    "response_format",
    "system",
    "instructions",
];
/// Members whose strings are a file, or the place of one.
const FILE_MEMBERS: [&str; 11] = [
    "url",
    "uri",
    "fileUri",
    "data",
    "bytes",
    "image_url",
    "file_url",
    "file_id",
    "file_data",
    "image",
    "mask",
];
/// Members that add what an earlier request has stored to the prompt.
const STORED_CONTEXT: [&str; 5] = [
    "cachedContent",
    "previous_response_id",
    "conversation",
    "prompt",
    "container",
];
/// Members that have a provider search, and add what it finds to the prompt: OpenAI and Anthropic, then OpenRouter, xAI, Azure and Qwen.
const SERVER_SEARCHES: [&str; 6] = [
    "web_search_options",
    "mcp_servers",
    "plugins",
    "search_parameters",
    "data_sources",
    "enable_search",
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
/// Members that allow thoughts, which some providers do not count against the limit of output.
pub(super) const REASONING_BUDGETS: [&str; 5] = [
    "/generationConfig/thinkingConfig/thinkingBudget",
    "/additionalModelRequestFields/thinking/budget_tokens",
    "/thinking_budget",
    "/thinking/budget_tokens",
    "/reasoning/max_tokens",
];
/// Members that name a file whose length the body does not show.
const STORED_FILES: [&str; 4] = ["file_id", "file_url", "fileUri", "uri"];
/// Types of parts whose content is longer for the model than for its reader: pages that are images, too.
const DOCUMENT_TYPES: [&str; 4] = ["document", "file", "input_file", "video_url"];
/// The type of an item that the provider has stored.
const STORED_ITEM: [&str; 1] = ["item_reference"];
/// Types of tools that the caller runs: their results are in the next request.
const CLIENT_TOOLS: [&str; 2] = ["function", "custom"];
/// Members of tools that Google runs.
const GOOGLE_TOOLS: [&str; 5] = [
    "googleSearch",
    "google_search",
    "googleSearchRetrieval",
    "urlContext",
    "url_context",
];
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
        // A limit that some providers may ignore is none, and a number of choices that some may read is one.
        let number = |path: &&str| member_at(root, path)?.as_u64();
        let output = limits.iter().filter_map(number).max();
        let thoughts = REASONING_BUDGETS
            .iter()
            .filter_map(|path| root.pointer(path).and_then(count));
        let thoughts = thoughts.max().unwrap_or(0);
        let choices = CHOICES
            .iter()
            .filter_map(|path| member_at(root, path).and_then(count))
            .max()
            .unwrap_or(1)
            .max(1);
        let prompts = match conversation {
            None => root.get("prompt").map_or(1, prompts),
            Some(_) => 1,
        };
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
            output: output
                .filter(|limit| *limit > 0)
                .map(|limit| limit.max(thoughts)),
            choices: choices.saturating_mul(prompts),
            has_stored_context: conversation.is_some()
                && (STORED_CONTEXT.iter().any(is_set)
                    || files.has_stored_file
                    || root.get("tools").is_some_and(has_server_tool)
                    || SERVER_SEARCHES.iter().any(|name| is_on(root, name))),
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
    /// Whether the prompt gets more of a file than the body shows.
    has_stored_file: bool,
}

impl FileTotal {
    fn add_root(&mut self, root: DocumentNode<'_>) {
        for (name, value) in root.members() {
            if !TEXT_MEMBERS.contains(&&*name) {
                self.add(&name, value, true);
            }
        }
    }

    /// Adds what the member `name`, or an element of its array, has.
    fn add(&mut self, name: &str, node: DocumentNode<'_>, may_be_image: bool) {
        match node.kind() {
            ValueKind::String => self.add_string(name, node, may_be_image),
            ValueKind::Array => node
                .elements()
                .for_each(|element| self.add(name, element, may_be_image)),
            ValueKind::Object if !is_call(node) => {
                self.has_stored_file |=
                    has_type(node, &DOCUMENT_TYPES) || is_stored_item(name, node);
                let may_be_image = may_be_image && !is_text_source(node);
                for (name, value) in node.members() {
                    self.add(&name, value, may_be_image);
                }
            }
            ValueKind::Object | ValueKind::Number | ValueKind::Bool | ValueKind::Null => {}
        }
    }

    fn add_string(&mut self, name: &str, string: DocumentNode<'_>, may_be_image: bool) {
        if !FILE_MEMBERS.contains(&name) {
            return;
        }
        let is_inline = is_media(string);
        self.images += 1;
        self.has_stored_file |= STORED_FILES.contains(&name);
        if may_be_image && is_inline && is_image(&string.raw()[1..]) {
            self.image_bytes += string.raw().len() as u64;
        }
    }
}

/// The member at a path of names with dots between them.
fn member_at<'d>(root: DocumentNode<'d>, path: &str) -> Option<DocumentNode<'d>> {
    path.split('.')
        .try_fold(root, |object, name| object.get(name))
}

/// Whether a request has a member that is neither null nor false.
fn is_on(root: DocumentNode<'_>, name: &str) -> bool {
    let value = root.get(name);
    value.is_some_and(|value| !matches!(value.raw(), b"null" | b"false"))
}

/// Whether a part is the call of a tool.
fn is_call(part: DocumentNode<'_>) -> bool {
    has_type(part, &CALL_TYPES)
}

/// Whether an item of `input` is in place of one that the provider has stored: a reference, or nothing but an id.
fn is_stored_item(name: &str, item: DocumentNode<'_>) -> bool {
    let is_id = || {
        ["type", "role", "content"]
            .iter()
            .all(|member| item.get(member).is_none())
    };
    has_type(item, &STORED_ITEM) || name == "input" && item.get("id").is_some() && is_id()
}

fn has_type(part: DocumentNode<'_>, types: &[&str]) -> bool {
    let kind = part.get("type").and_then(DocumentNode::as_str);
    kind.is_some_and(|kind| types.contains(&&*kind))
}

/// Whether strings of a part are text, although they may begin as an image does.
fn is_text_source(part: DocumentNode<'_>) -> bool {
    let media = part.get("media_type").and_then(DocumentNode::as_str);
    has_type(part, &["text"]) || media.is_some_and(|media| !media.starts_with("image/"))
}

/// Whether the provider runs a tool of the list, and adds its results to the prompt.
fn has_server_tool(tools: DocumentNode<'_>) -> bool {
    let is_server_tool = |tool: DocumentNode<'_>| {
        tool.get("type").is_some() && !has_type(tool, &CLIENT_TOOLS)
            || GOOGLE_TOOLS.iter().any(|name| tool.get(name).is_some())
    };
    tools.kind() == ValueKind::Array && tools.elements().any(is_server_tool)
}

/// The number of prompts of a completion: a list of texts, or of lists of tokens, is one for each.
fn prompts(prompt: DocumentNode<'_>) -> u64 {
    if prompt.kind() != ValueKind::Array {
        return 1;
    }
    let is_prompt =
        |element: &DocumentNode<'_>| matches!(element.kind(), ValueKind::String | ValueKind::Array);
    (prompt.elements().filter(is_prompt).count() as u64).max(1)
}

/// A number as lenient providers read it: `128.0` and `"128"` are 128. A number below zero is none.
pub(super) fn count(node: DocumentNode<'_>) -> Option<u64> {
    if let Some(number) = node.as_u64() {
        return Some(number);
    }
    let text = std::str::from_utf8(node.raw()).ok()?;
    let number: f64 = text.trim_matches(['"', ' ']).parse().ok()?;
    (number >= 0.0).then(|| number.ceil() as u64)
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
mod tests;
