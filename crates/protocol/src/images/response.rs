//! Responses to image edits: adds fields that the provider omitted, and finds images in another format than requested.

use super::RESPONSE_FORMAT;
use crate::json::edit::JsonEdits;
use crate::json::{DocumentNode, JsonDocument, ValueKind, quoted, skim};
use bytes::Bytes;
use std::borrow::Cow;
use std::ops::Range;

/// Response fields that repeat the request's.
const ECHOES: [&str; 4] = ["output_format", "background", "quality", "size"];
/// A longer value is not repeated: it is an image.
const ECHO_BYTES_MAX: usize = 64;
const COUNTS: [&str; 2] = ["input_tokens", "output_tokens"];
const DETAILS: [&str; 2] = ["input_tokens_details", "output_tokens_details"];
const KINDS: [&str; 2] = ["image_tokens", "text_tokens"];
const NO_DETAILS: &str = r#"{"image_tokens":0,"text_tokens":0}"#;

/// How the caller wants to receive images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedImageDelivery {
    Url,
    Base64,
}

/// An image that the response does not contain in the requested format.
pub struct ImageToConvert<'a> {
    item: DocumentNode<'a>,
    /// The image's URL; `None` if the response contains its base64 instead.
    pub url: Option<Cow<'a, str>>,
}

impl RequestedImageDelivery {
    /// The format that the request asks for; `None` if it does not say.
    pub fn requested_by(request: &JsonDocument) -> Option<Self> {
        let format = request.root().get(RESPONSE_FORMAT)?.as_str()?;
        match &*format {
            "url" => Some(Self::Url),
            "b64_json" => Some(Self::Base64),
            _ => None,
        }
    }

    /// The images of `response` that are present only in the other format.
    pub fn mismatched_images(self, response: &JsonDocument) -> Vec<ImageToConvert<'_>> {
        let text = |item: DocumentNode<'_>, name: &str| {
            let text = item
                .get(name)
                .filter(|text| text.kind() == ValueKind::String);
            text.is_some_and(|text| text.str_len() > Some(0))
        };
        let items = response
            .root()
            .get("data")
            .into_iter()
            .flat_map(DocumentNode::elements);
        items
            .filter_map(
                |item| match (self, text(item, "url"), text(item, "b64_json")) {
                    (Self::Base64, true, false) => Some(ImageToConvert {
                        item,
                        url: item.get("url").and_then(DocumentNode::as_str),
                    }),
                    (Self::Url, false, true) => Some(ImageToConvert { item, url: None }),
                    _ => None,
                },
            )
            .collect()
    }
}

impl ImageToConvert<'_> {
    /// Replaces the image's URL by its base64, which is given as a JSON string.
    pub fn inline(&self, edits: &mut JsonEdits, base64: Bytes) {
        if let Some(url) = self.item.get("url") {
            edits.remove_member(url);
        }
        edits.insert_member(self.item, "b64_json", base64);
    }

    /// Where the response has the text of the image's base64, without its quotes.
    pub fn base64_span(&self) -> Option<Range<usize>> {
        let span = self.item.get("b64_json")?.span();
        Some(span.start + 1..span.end - 1)
    }

    /// Replaces the image's base64 by its URL, which is given as a JSON string.
    pub fn refer(&self, edits: &mut JsonEdits, url: Bytes) {
        if let Some(base64) = self.item.get("b64_json") {
            edits.remove_member(base64);
        }
        edits.insert_member(self.item, "url", url);
    }
}

/// The number of images in a complete response; `None` if it has no list of images.
pub fn image_count(body: &[u8]) -> Option<u32> {
    let data = skim::find(body, &["data"])?;
    if !body[data.clone()].starts_with(b"[") {
        return None;
    }
    u32::try_from(skim::elements(body, data).count()).ok()
}

/// Whether an event of a stream is the last one of an image.
pub fn is_image_event(name: Option<&[u8]>, data: &[u8]) -> bool {
    let is_last = |name: &[u8]| name.starts_with(b"image_") && name.ends_with(b".completed");
    match name {
        Some(name) => is_last(name),
        None => skim::find_string(data, &["type"]).is_some_and(|name| is_last(name.as_bytes())),
    }
}

/// Adds what a response lacks: `created`, the fields that repeat the request's, and usage with its details, with zero
/// for what the provider did not count. `now` is in Unix seconds.
pub fn complete(edits: &mut JsonEdits, response: &JsonDocument, request: &JsonDocument, now: u64) {
    let root = response.root();
    if root.kind() != ValueKind::Object {
        return;
    }
    let lacks = |name: &str| root.get(name).is_none_or(DocumentNode::is_null);
    if lacks("created") {
        edits.insert_member(root, "created", now.to_string());
    }
    for name in ECHOES.into_iter().filter(|name| lacks(name)) {
        let requested = request.root().get(name).and_then(DocumentNode::as_str);
        if let Some(requested) = requested.filter(|requested| requested.len() <= ECHO_BYTES_MAX) {
            edits.insert_member(root, name, quoted(&requested));
        }
    }
    match root
        .get("usage")
        .filter(|usage| usage.kind() == ValueKind::Object)
    {
        Some(usage) => complete_usage(edits, usage),
        None => {
            let none = format!(
                r#"{{"input_tokens":0,"output_tokens":0,"total_tokens":0,"input_tokens_details":{NO_DETAILS},"output_tokens_details":{NO_DETAILS}}}"#
            );
            edits.insert_member(root, "usage", none);
        }
    }
}

fn complete_usage(edits: &mut JsonEdits, usage: DocumentNode<'_>) {
    let lacks =
        |object: DocumentNode<'_>, name: &str| object.get(name).is_none_or(DocumentNode::is_null);
    for name in COUNTS.into_iter().filter(|name| lacks(usage, name)) {
        edits.insert_member(usage, name, "0");
    }
    if lacks(usage, "total_tokens") {
        let count = |name: &&str| usage.get(name).and_then(DocumentNode::as_u64);
        let total: u64 = COUNTS.iter().filter_map(count).fold(0, u64::saturating_add);
        edits.insert_member(usage, "total_tokens", total.to_string());
    }
    for name in DETAILS {
        match usage
            .get(name)
            .filter(|details| details.kind() == ValueKind::Object)
        {
            None => edits.insert_member(usage, name, NO_DETAILS),
            Some(details) => {
                for kind in KINDS.into_iter().filter(|kind| lacks(details, kind)) {
                    edits.insert_member(details, kind, "0");
                }
            }
        }
    }
}
