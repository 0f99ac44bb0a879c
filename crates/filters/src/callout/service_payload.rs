//! A payload for a service, with the places of its texts in the body.

use super::json_object::JsonObjectWriter;
use bytes::Bytes;
use headgate_core::filter::view::RequestView;
use headgate_protocol::caller_key::CallerKeyToStrip;
use headgate_protocol::json::{JsonDocument, JsonLimits, quoted};
use std::ops::Range;

/// What is sent to a service.
pub struct ServicePayload {
    pub json: Bytes,
    /// The texts of a format whose services return all texts; none in the gateway's own.
    pub texts: Vec<PlacedText>,
}

/// A text for a service.
#[derive(Debug, PartialEq, Eq)]
pub struct PlacedText {
    pub text: String,
    /// `None` for a text that cannot be changed.
    pub place: Option<TextPlace>,
}

/// Where a text is in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPlace {
    /// Of the string, or of the object with the arguments of a tool.
    pub span: Range<usize>,
    /// Whether the text is JSON, which it must stay.
    pub is_arguments: bool,
}

impl ServicePayload {
    /// What `json` has, without the key of the caller.
    pub fn new(request: &RequestView, json: JsonObjectWriter, texts: Vec<PlacedText>) -> Self {
        let json = json.finish();
        // Without a known caller, a header could make any text look like a key, and hide it.
        let json = match request.caller.is_none() {
            true => json,
            // Callers may repeat their key anywhere, with escapes, too.
            false => CallerKeyToStrip::from_headers(&request.headers).masked_json(json),
        };
        Self {
            json: json.into(),
            texts,
        }
    }
}

impl PlacedText {
    /// A text that cannot be changed.
    pub fn fixed(text: String) -> Self {
        Self { text, place: None }
    }
}

impl TextPlace {
    /// The JSON for a new text at this place of a body.
    ///
    /// # Errors
    /// The arguments of a tool would be no JSON, or no object.
    pub fn json(&self, text: &str, body: &Bytes) -> Result<Bytes, String> {
        if !self.is_arguments {
            return Ok(quoted(text));
        }
        let new = Bytes::copy_from_slice(text.trim_ascii().as_bytes());
        let is_json = JsonDocument::parse(new.clone(), &JsonLimits::default()).is_ok();
        let is_string = body[self.span.start] == b'"';
        match is_json && (is_string || new.first() == body.get(self.span.start)) {
            true if is_string => Ok(quoted(text)),
            true => Ok(new),
            false => Err("the response sets the arguments of a tool to what is no JSON".into()),
        }
    }
}
