//! Wire formats without I/O: JSON scan and edits, SSE framing, forms, usage, error bodies, JSON Schema.

pub mod caller_key;
pub mod conversation;
pub mod credential_names;
pub mod data_uri;
pub mod date;
pub mod error_body;
pub mod error_class;
pub mod estimate;
pub mod fault;
pub mod form;
pub mod header_policy;
pub mod header_values;
pub mod hex;
pub mod ids;
pub mod images;
pub mod json;
pub mod mask;
pub mod model_list;
pub mod nearest;
pub mod percent_encoding;
pub mod rate_limit_headers;
pub mod redact;
pub mod request_path;
pub mod response_text;
pub mod response_verdict;
pub mod retry_after;
pub mod schema;
pub mod sealed_content;
pub mod secret_shape;
pub mod sse;
pub mod stream;
pub mod upstream_request_id;
pub mod usage;

use schemars::JsonSchema;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use serde::{Deserialize, Serialize};

/// A protocol of the gateway's API.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// `POST /v1/chat/completions`
    Chat,
    /// `POST /v1/messages`
    Messages,
    /// `POST /v1/responses`
    Responses,
    /// `POST /v1/images/edits`
    ImageEdit,
    /// `POST /v1/video/generations`, for channels of any family
    Video,
    /// Video tasks with a list of content elements
    FamilyA,
    /// Video tasks with `input` and `parameters`
    FamilyB,
}

impl Protocol {
    /// The protocol with this name.
    pub fn named(word: &str) -> Option<Self> {
        let word: StrDeserializer<'_, Error> = word.into_deserializer();
        Self::deserialize(word).ok()
    }

    /// The name in configuration, metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Messages => "messages",
            Self::Responses => "responses",
            Self::ImageEdit => "image_edit",
            Self::Video => "video",
            Self::FamilyA => "family_a",
            Self::FamilyB => "family_b",
        }
    }

    /// Whether requests create what is paid for one by one: videos and images.
    pub fn creates_paid_work(self) -> bool {
        match self {
            Self::ImageEdit | Self::Video | Self::FamilyA | Self::FamilyB => true,
            Self::Chat | Self::Messages | Self::Responses => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Protocol;

    #[test]
    fn a_protocol_has_one_word_in_configuration_and_logs() {
        for word in [
            "chat",
            "messages",
            "responses",
            "image_edit",
            "video",
            "family_a",
            "family_b",
        ] {
            assert_eq!(Protocol::named(word).map(Protocol::name), Some(word));
        }
        assert_eq!(Protocol::named("family_c"), None);
    }
}
