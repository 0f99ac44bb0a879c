//! Parses an image edit request, in JSON or as a form.

use super::png::ImageSize;
use crate::api_error::ApiError;
use crate::headers::form_boundary;
use crate::request_context::RequestContext;
use crate::{model_request, text};
use bytes::Bytes;
use headgate_protocol::ids::form_values;
use headgate_protocol::images::TEXT_FIELDS;
use http::request::Parts;
use serde_json::Value;
use std::ops::RangeInclusive;

const MAX_SOURCES: usize = 16;

/// The tokens that each source image counts for.
const SOURCE_TOKENS: u64 = 323;

/// A parsed edit request.
pub struct ImageEditRequest {
    /// The members of the JSON, or the text fields of the form.
    json: Value,
    sources: usize,
}

/// The token usage of an edit.
pub struct ImageTokenUsage {
    pub image_input: u64,
    pub text_input: u64,
    pub output: u64,
}

impl ImageEditRequest {
    /// Parses a body by its content type.
    ///
    /// # Errors
    /// `400` for a body that is neither a form nor JSON.
    pub fn read(head: &Parts, raw: &Bytes) -> Result<Self, ApiError> {
        if let Some(boundary) = form_boundary(&head.headers) {
            return Ok(Self::form(raw, boundary));
        }
        let json: Value = serde_json::from_slice(raw).map_err(|error| {
            let message = format!("We could not parse the JSON body of your request: {error}.");
            ApiError::invalid(message)
        })?;
        let sources = model_request::required_list(&json, "images")?;
        if !sources.iter().all(is_reference) {
            let message = "Each of 'images' must have exactly one of 'image_url' and 'file_id'.";
            return Err(invalid(message, "images"));
        }
        let sources = sources.len();
        Ok(Self { json, sources })
    }

    /// A request that makes images of its text alone.
    pub fn without_sources(json: &Value) -> Self {
        Self {
            json: json.clone(),
            sources: 0,
        }
    }

    fn form(raw: &Bytes, boundary: &str) -> Self {
        let text = |name| {
            let value = form_values(raw, boundary, name).next()?;
            let value = String::from_utf8_lossy(value).into_owned();
            Some((name.to_owned(), Value::String(value)))
        };
        Self {
            json: Value::Object(TEXT_FIELDS.into_iter().filter_map(text).collect()),
            sources: form_values(raw, boundary, "image").count(),
        }
    }

    /// Refuses what the real provider refuses.
    ///
    /// # Errors
    /// `400`, with the parameter.
    pub fn check(&self, call: &RequestContext) -> Result<(), ApiError> {
        if !(1..=MAX_SOURCES).contains(&self.sources) {
            return Err(invalid("1 to 16 images are edited at once.", "image"));
        }
        self.check_fields(call)
    }

    /// Refuses a request without exactly one image.
    ///
    /// # Errors
    /// `400`, with the parameter.
    pub fn check_source(&self) -> Result<(), ApiError> {
        match self.sources {
            1 => Ok(()),
            _ => Err(invalid("One image is varied at once.", "image")),
        }
    }

    /// Refuses what the real provider refuses, apart from the number of images.
    ///
    /// # Errors
    /// `400`, with the parameter.
    pub fn check_fields(&self, call: &RequestContext) -> Result<(), ApiError> {
        model_request::required_text(&self.json, "prompt")?;
        let format = self.text("response_format");
        if format.is_empty() {
            return Ok(());
        }
        if !call.directives.takes_response_format {
            let refusal = ApiError::invalid("Unknown parameter: 'response_format'.");
            return Err(refusal.param("response_format").code("unknown_parameter"));
        }
        if !matches!(format, "url" | "b64_json") {
            let message = "'response_format' must be 'url' or 'b64_json'.";
            return Err(invalid(message, "response_format"));
        }
        Ok(())
    }

    pub fn json(&self) -> &Value {
        &self.json
    }

    pub fn text(&self, name: &str) -> &str {
        model_request::text_at(&self.json, name)
    }

    /// The value of a text field that the response repeats; `ordinary` if the request leaves it to the provider.
    pub fn word_or(&self, name: &str, ordinary: &str) -> String {
        match self.text(name) {
            "" | "auto" => ordinary.to_owned(),
            word => word.to_owned(),
        }
    }

    /// A number in `range`, which is text in forms.
    ///
    /// # Errors
    /// `400` for anything else.
    pub fn number(
        &self,
        name: &'static str,
        ordinary: u64,
        range: RangeInclusive<u64>,
    ) -> Result<u64, ApiError> {
        let number = match self.json.get(name) {
            None | Some(Value::Null) => Some(ordinary),
            Some(Value::String(text)) => text.parse().ok(),
            Some(value) => value.as_u64(),
        };
        let number = number.filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let message = format!("'{name}' must be {} to {}.", range.start(), range.end());
            invalid(message, name)
        })
    }

    pub fn is_set(&self, name: &str) -> bool {
        model_request::is_set(&self.json, name) || self.text(name) == "true"
    }

    pub fn usage(&self, size: ImageSize, count: u64) -> ImageTokenUsage {
        ImageTokenUsage {
            image_input: SOURCE_TOKENS * self.sources as u64,
            text_input: text::tokens(self.text("prompt").len()),
            output: size.tokens() * count,
        }
    }
}

fn is_reference(reference: &Value) -> bool {
    let has = |name| reference.get(name).is_some_and(Value::is_string);
    has("image_url") != has("file_id")
}

fn invalid(message: impl Into<String>, param: &'static str) -> ApiError {
    ApiError::invalid(message)
        .param(param)
        .code("invalid_value")
}
