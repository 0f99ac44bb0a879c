//! The result of an image edit, as a whole response or as a stream of events.

use super::edit_request::ImageTokenUsage;
use crate::endpoint_result::EventStreamSource;
use crate::event::sse;
use crate::json::{JsonText, OrderedJsonObject, object};
use crate::request_record::ResponseEnd;
use crate::stream::EventSender;
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The result of an edit, to be sent.
pub struct ImageEditResult {
    /// Of the types of events.
    pub event_prefix: &'static str,
    /// Unix seconds.
    pub created: u64,
    pub form: ImagePayload,
    pub count: u64,
    pub partial_images: u64,
    pub size: String,
    pub quality: String,
    pub background: &'static str,
    pub output_format: String,
    pub usage: Option<ImageTokenUsage>,
}

/// The format of the images; streams always contain base64.
pub enum ImagePayload {
    Url(String),
    Base64(String),
}

impl ImagePayload {
    pub fn base64(image: &[u8]) -> Self {
        Self::Base64(STANDARD.encode(image))
    }

    fn text(&self) -> &str {
        match self {
            Self::Url(text) | Self::Base64(text) => text,
        }
    }
}

#[async_trait]
impl EventStreamSource for ImageEditResult {
    /// Sends the partial images, and then a completion event for each image.
    async fn send(&self, stream: &mut EventSender) -> Result<(), ResponseEnd> {
        for index in 0..self.partial_images {
            let event = |base64: &str| {
                let kind = format!("{}.partial_image", self.event_prefix);
                let mut json = self.event(&kind, base64);
                json.member("partial_image_index", &index);
                sse(Some(&kind), &json.end())
            };
            stream
                .content(self.form.text(), |delta| event(delta.text))
                .await?;
        }
        stream.end_of_content().await?;
        for _ in 0..self.count {
            let kind = format!("{}.completed", self.event_prefix);
            let mut json = self.event(&kind, self.form.text());
            self.add_usage(&mut json);
            stream.event(sse(Some(&kind), &json.end())).await?;
        }
        Ok(())
    }
}

impl ImageEditResult {
    /// The whole response.
    pub fn json(&self) -> JsonText {
        let image = match &self.form {
            ImagePayload::Url(url) => object! {"url": url},
            ImagePayload::Base64(base64) => object! {"b64_json": base64},
        };
        let data: Vec<_> = (0..self.count).map(|_| &image).collect();
        let mut json = OrderedJsonObject::new();
        json.member("created", &self.created);
        json.member("background", self.background);
        json.member("data", &data);
        json.member("output_format", &self.output_format);
        json.member("quality", &self.quality);
        json.member("size", &self.size);
        self.add_usage(&mut json);
        json.end()
    }

    fn event(&self, kind: &str, base64: &str) -> OrderedJsonObject {
        let mut json = OrderedJsonObject::new();
        json.member("type", kind);
        json.member("b64_json", base64);
        json.member("created_at", &self.created);
        json.member("size", &self.size);
        json.member("quality", &self.quality);
        json.member("background", self.background);
        json.member("output_format", &self.output_format);
        json
    }

    fn add_usage(&self, json: &mut OrderedJsonObject) {
        let Some(usage) = &self.usage else {
            return;
        };
        let input = usage.image_input + usage.text_input;
        let usage = object! {
            "total_tokens": input + usage.output,
            "input_tokens": input,
            "output_tokens": usage.output,
            "input_tokens_details": object! {
                "text_tokens": usage.text_input, "image_tokens": usage.image_input,
            },
        };
        json.member("usage", &usage);
    }
}
