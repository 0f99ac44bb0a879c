//! The most that a provider can do for a request with a JSON body, as its text shows it: tokens and images.

use super::model::Model;
use super::price_maximum::WorkMaximum;
use headgate_protocol::json::{DocumentNode, JsonDocument};
use headgate_protocol::token_maximum::TokenMaximum;
use headgate_protocol::{GenerationMedium, Protocol};
use std::num::NonZeroU64;

/// Tokens that an image of a request counts at most, whatever the length of its encoding.
pub const IMAGE_TOKENS: u64 = 5_000;
/// Images of a series whose number the request leaves to the provider.
const SERIES_IMAGES: u64 = 15;

impl WorkMaximum {
    /// The tokens and the images of a request for `model` with this body.
    pub fn from_body(body: &JsonDocument, protocol: Protocol, model: &Model) -> Self {
        let descriptor = protocol.descriptor();
        let tokens = TokenMaximum::from_body(body, descriptor.conversation.as_ref(), IMAGE_TOKENS);
        let window = model.properties.context_window.map(NonZeroU64::get);
        let model_max = model.properties.translation.max_output_tokens;
        Self {
            input_tokens: match window {
                // A session may have filled it, of which the request says nothing.
                Some(window) if protocol.has_sessions() => window,
                _ => tokens.input_within(window),
            },
            output_tokens: match descriptor.has_output_tokens() {
                true => tokens.output_within(model_max.map(NonZeroU64::get)),
                false => Some(0),
            },
            images: match descriptor.medium {
                GenerationMedium::Image => requested_images(body).max(tokens.choices),
                _ => 0,
            },
            ..Self::default()
        }
    }
}

/// The images of a series, if the request asks for one.
fn requested_images(body: &JsonDocument) -> u64 {
    let root = body.root();
    let series = root.get("sequential_image_generation");
    let mode = series.and_then(DocumentNode::as_str);
    if mode.is_none_or(|mode| mode == "disabled") {
        return 1;
    }
    let most = root.pointer("/sequential_image_generation_options/max_images");
    most.and_then(DocumentNode::as_u64).unwrap_or(SERIES_IMAGES)
}
