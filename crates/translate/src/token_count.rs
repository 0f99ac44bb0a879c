//! Requests that ask how many input tokens a request has, for providers of the other protocols, and estimates of that.

#[cfg(test)]
mod tests;

use crate::ProtocolPair;
use crate::json_writer::JsonWriter;
use crate::response::{UnreadableResponse, parse_response};
use bytes::Bytes;
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits, ValueKind};

/// Tokens of an image, whatever its size: about those of one of 900 by 900 pixels.
const IMAGE_TOKENS: u64 = 1000;
/// Tokens of a document in a binary format, whatever its length: about those of two pages.
const DOCUMENT_TOKENS: u64 = 3000;
/// Bytes of JSON for a token: about right for English text and for schemas of tools.
const BYTES_PER_TOKEN: u64 = 4;

/// Values of `type` of images and of documents, in all protocols.
const IMAGES: [&[u8]; 3] = [b"image", b"image_url", b"input_image"];
const DOCUMENTS: [&[u8]; 3] = [b"document", b"file", b"input_file"];
/// Members of the source of a document that is text.
const TEXT_SOURCES: [&[u8]; 2] = [b"text", b"content"];

/// Members that a provider takes in such a request.
const MESSAGES_MEMBERS: [&str; 7] = [
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
];
const RESPONSES_MEMBERS: [&str; 8] = [
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning",
    "text",
];

/// The path below `/v1` at which providers of a protocol count tokens; `None` if they have none.
pub fn token_count_path(format: ProviderFormat) -> Option<&'static str> {
    match format {
        ProviderFormat::Messages => Some("/messages/count_tokens"),
        ProviderFormat::Responses => Some("/responses/input_tokens"),
        // The call of Gemini takes a request in another envelope.
        ProviderFormat::Chat | ProviderFormat::Gemini | ProviderFormat::Converse => None,
    }
}

/// A translated request without the members that providers do not take where they count tokens.
pub fn token_count_request(format: ProviderFormat, body: Vec<u8>) -> Vec<u8> {
    let members: &[&str] = match format {
        ProviderFormat::Messages => &MESSAGES_MEMBERS,
        ProviderFormat::Responses => &RESPONSES_MEMBERS,
        ProviderFormat::Chat | ProviderFormat::Gemini | ProviderFormat::Converse => return body,
    };
    let length = body.len();
    let Ok(document) = JsonDocument::parse(body.into(), &JsonLimits::default()) else {
        // The gateway wrote it.
        return Vec::new();
    };
    let mut json = JsonWriter::with_capacity(length);
    json.begin_object();
    for (name, value) in document.root().members() {
        if members.contains(&&*name) {
            json.key(&name).raw(value.raw());
        }
    }
    json.end_object();
    json.into_bytes()
}

/// The caller's response for that of a provider that counts tokens.
///
/// # Errors
/// The response has no count.
pub fn translate_token_count(
    pair: ProtocolPair,
    body: &Bytes,
) -> Result<Vec<u8>, UnreadableResponse> {
    let document = parse_response(pair, body)?;
    let count = document.root().get("input_tokens");
    let count = count.and_then(DocumentNode::as_u64);
    let count = count.ok_or_else(|| {
        UnreadableResponse::from_channel(pair, "`input_tokens` is missing".to_owned())
    })?;
    Ok(token_count_response(pair.caller, count))
}

/// The response for a caller that asks how many input tokens a request has.
pub fn token_count_response(format: ConversationFormat, tokens: u64) -> Vec<u8> {
    let mut json = JsonWriter::default();
    json.begin_object();
    if format == ConversationFormat::Responses {
        json.key("object").literal("response.input_tokens");
    }
    json.key("input_tokens").number(tokens).end_object();
    json.into_bytes()
}

/// About how many input tokens a request has: a quarter of the bytes of its JSON, with a fixed number for each image and
/// each document, whatever they contain.
pub fn estimate_input_tokens(body: &JsonDocument) -> u64 {
    let mut media = MediaTotal::default();
    media.add(body.root());
    let text = (body.body().len() as u64).saturating_sub(media.bytes);
    text.div_ceil(BYTES_PER_TOKEN) + media.tokens
}

/// Images and documents of a request.
#[derive(Default)]
struct MediaTotal {
    /// Bytes of their JSON.
    bytes: u64,
    tokens: u64,
}

impl MediaTotal {
    fn add(&mut self, node: DocumentNode<'_>) {
        match node.kind() {
            ValueKind::Object => match media_tokens(node) {
                Some(tokens) => {
                    self.bytes += node.span().len() as u64;
                    self.tokens += tokens;
                }
                None => node.values().for_each(|value| self.add(value)),
            },
            ValueKind::Array => node.elements().for_each(|element| self.add(element)),
            ValueKind::String | ValueKind::Number | ValueKind::Bool | ValueKind::Null => {}
        }
    }
}

/// The tokens of an image or a document; `None` for other objects, and for documents that are text.
fn media_tokens(object: DocumentNode<'_>) -> Option<u64> {
    let kind = object.get("type")?.raw_text()?.bytes;
    if IMAGES.contains(&kind) {
        let has_image = ["source", "image_url", "file_id"].iter();
        let mut members = has_image.filter_map(|member| object.get(member));
        return members.next().map(|_| IMAGE_TOKENS);
    }
    if !DOCUMENTS.contains(&kind) {
        return None;
    }
    let source = object.get("source").and_then(|source| source.get("type"));
    let source = source.and_then(DocumentNode::raw_text);
    let is_text = source.is_some_and(|source| TEXT_SOURCES.contains(&source.bytes));
    let has_file = ["source", "file", "file_data", "file_id", "file_url"].iter();
    let mut members = has_file.filter_map(|member| object.get(member));
    members.next().filter(|_| !is_text).map(|_| DOCUMENT_TOKENS)
}
