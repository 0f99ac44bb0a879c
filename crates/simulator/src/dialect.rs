//! The dialects of the simulated provider: the formats of its responses, errors and headers.

use http::HeaderMap;

/// The API whose formats a response has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiDialect {
    Chat,
    Messages,
    Responses,
    Images,
    FamilyA,
    FamilyB,
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
}
