//! Answers to image edits: what the protocol promises and a provider left out, and images in another shape
//! than was asked for.

use super::RESPONSE_FORMAT;
use crate::json::edit::JsonEdits;
use crate::json::{DocumentNode, JsonDocument, ValueKind, quoted};
use bytes::Bytes;
use std::borrow::Cow;

/// Members of an answer that repeat the request's.
const ECHOES: [&str; 4] = ["output_format", "background", "quality", "size"];
/// A longer value is an image, of which nobody wants an echo.
const ECHO_BYTES_MAX: usize = 64;
const COUNTS: [&str; 2] = ["input_tokens", "output_tokens"];
const DETAILS: [&str; 2] = ["input_tokens_details", "output_tokens_details"];
const KINDS: [&str; 2] = ["image_tokens", "text_tokens"];
const NO_DETAILS: &str = r#"{"image_tokens":0,"text_tokens":0}"#;

/// How a caller wants images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageDelivery {
    Url,
    Base64,
}

/// An image of an answer that is not as the caller wants it.
pub struct MismatchedImage<'a> {
    item: DocumentNode<'a>,
    /// Where the image is; none where the answer has its bytes instead.
    pub url: Option<Cow<'a, str>>,
}

impl ImageDelivery {
    /// What a request asks for; none where it leaves that to the provider.
    pub fn requested_by(request: &JsonDocument) -> Option<Self> {
        let format = request.root().get(RESPONSE_FORMAT)?.as_str()?;
        match &*format {
            "url" => Some(Self::Url),
            "b64_json" => Some(Self::Base64),
            _ => None,
        }
    }

    /// The images of `answer` that are only there in the other shape.
    pub fn mismatched_images(self, answer: &JsonDocument) -> Vec<MismatchedImage<'_>> {
        let text = |item: DocumentNode<'_>, name: &str| {
            let text = item
                .get(name)
                .filter(|text| text.kind() == ValueKind::String);
            text.is_some_and(|text| text.str_len() > Some(0))
        };
        let items = answer
            .root()
            .get("data")
            .into_iter()
            .flat_map(DocumentNode::elements);
        items
            .filter_map(
                |item| match (self, text(item, "url"), text(item, "b64_json")) {
                    (Self::Base64, true, false) => Some(MismatchedImage {
                        item,
                        url: item.get("url").and_then(DocumentNode::as_str),
                    }),
                    (Self::Url, false, true) => Some(MismatchedImage { item, url: None }),
                    _ => None,
                },
            )
            .collect()
    }
}

impl MismatchedImage<'_> {
    /// Puts the image's base64, a JSON string, in the place of its URL.
    pub fn inline(&self, edits: &mut JsonEdits, base64: Bytes) {
        if let Some(url) = self.item.get("url") {
            edits.remove_member(url);
        }
        edits.insert_member(self.item, "b64_json", base64);
    }
}

/// Adds what an answer lacks: the time, echoes of the request, and usage with its details, in which what
/// the provider did not count is zero. `now` is in Unix seconds.
pub fn complete(edits: &mut JsonEdits, answer: &JsonDocument, request: &JsonDocument, now: u64) {
    let root = answer.root();
    if root.kind() != ValueKind::Object {
        return;
    }
    let lacks = |name: &str| root.get(name).is_none_or(DocumentNode::is_null);
    if lacks("created") {
        edits.insert_member(root, "created", now.to_string());
    }
    for name in ECHOES.into_iter().filter(|name| lacks(name)) {
        let asked = request.root().get(name).and_then(DocumentNode::as_str);
        if let Some(asked) = asked.filter(|asked| asked.len() <= ECHO_BYTES_MAX) {
            edits.insert_member(root, name, quoted(&asked));
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
