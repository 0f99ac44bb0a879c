//! Error bodies of providers.

use crate::Protocol;
use crate::json::skim;

/// Whether a provider's body is an error as clients of this protocol parse it.
pub fn is_rendered(protocol: Option<Protocol>, body: &[u8]) -> bool {
    let is_text =
        |path: &[&str]| skim::find(body, path).is_some_and(|value| body[value].starts_with(b"\""));
    match protocol {
        Some(Protocol::Messages) => {
            is_text(&["type"]) && is_text(&["error", "type"]) && is_text(&["error", "message"])
        }
        Some(Protocol::FamilyB) => is_text(&["code"]) && is_text(&["message"]),
        Some(
            Protocol::Chat
            | Protocol::Responses
            | Protocol::ImageEdit
            | Protocol::Video
            | Protocol::FamilyA,
        )
        | None => is_text(&["error", "message"]),
    }
}
