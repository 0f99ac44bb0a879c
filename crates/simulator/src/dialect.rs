//! The dialects of the simulated provider: the formats of its responses, errors and headers.

use super::model_call::{ModelCall, ModelCallApi};
use http::{HeaderMap, StatusCode};

/// The API whose formats a response has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiDialect {
    Chat,
    Messages,
    Responses,
    Images,
    FamilyA,
    FamilyB,
    Gemini,
    Converse,
}

impl ApiDialect {
    /// The dialect of the response to a request for `path`.
    pub fn for_request(path: &str, headers: &HeaderMap) -> Self {
        if path.contains("/contents/generations/tasks") {
            return Self::FamilyA;
        }
        if path.contains("/api/v1/services/") || path.contains("/api/v1/tasks") {
            return Self::FamilyB;
        }
        match ModelCall::find(path).map(|call| call.api) {
            Some(ModelCallApi::Gemini) => return Self::Gemini,
            Some(ModelCallApi::Converse) => return Self::Converse,
            None if path.starts_with("/v1beta/") => return Self::Gemini,
            None if path.starts_with("/model/") => return Self::Converse,
            None => {}
        }
        let path = path.trim_start_matches("/v1/");
        if path.starts_with("messages")
            || (path.starts_with("models") || path.starts_with("files"))
                && headers.contains_key("anthropic-version")
        {
            Self::Messages
        } else if path.starts_with("responses")
            || path.starts_with("conversations")
            || path.starts_with("containers")
        {
            Self::Responses
        } else if path.starts_with("images") {
            Self::Images
        } else {
            Self::Chat
        }
    }
    /// The media type of streams.
    pub fn stream_type(self) -> &'static str {
        match self {
            Self::Converse => "application/vnd.amazon.eventstream",
            Self::Gemini => "text/event-stream",
            Self::Chat
            | Self::Messages
            | Self::Responses
            | Self::Images
            | Self::FamilyA
            | Self::FamilyB => "text/event-stream; charset=utf-8",
        }
    }

    /// The status of a provider that has too much to do.
    pub fn overload_status(self) -> StatusCode {
        match self {
            Self::Messages => StatusCode::from_u16(529).expect("529 is a status"),
            Self::Chat
            | Self::Responses
            | Self::Images
            | Self::FamilyA
            | Self::FamilyB
            | Self::Gemini
            | Self::Converse => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}
