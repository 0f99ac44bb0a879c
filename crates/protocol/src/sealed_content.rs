//! Sealed content: what a provider encrypted or signed for a caller who keeps it and sends it back, such as reasoning. Only
//! the account that made it can read it.
//!
//! Sources: `reasoning.encrypted_content` and `compaction.encrypted_content` of the responses protocol, `signature` of
//! `thinking` and `data` of `redacted_thinking` of the messages protocol.

use super::json::{DocumentNode, JsonDocument, skim};
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// At most this many texts of a request are looked up.
pub const LOOKUPS_MAX: usize = 4;

/// Events of the messages protocol are searched above this size: a signature is longer.
const SIGNATURE_EVENT_BYTES_MIN: usize = 128;

/// Where the requests of a protocol have sealed content.
#[derive(Clone, Copy, Debug)]
pub struct SealedContentPlaces {
    /// The list of items.
    pub list: &'static str,
    /// The list of blocks in each item; `None` if the items themselves have the sealed texts.
    pub blocks: Option<&'static str>,
    /// The member with the text, by the `type` of its object; an empty type stands for any.
    pub members: &'static [(&'static str, &'static str)],
    /// Whether streams send the text in an event of its own, see [`signature_in_event`].
    pub has_signature_events: bool,
}

impl SealedContentPlaces {
    fn text_in<'d>(&self, object: DocumentNode<'d>) -> Option<DocumentNode<'d>> {
        let class = object.get("type").and_then(DocumentNode::as_str);
        let class = class.unwrap_or_default();
        let mut members = self.members.iter();
        let (_, member) = members.find(|(of, _)| of.is_empty() || *of == class)?;
        object.get(member)
    }
}

/// The sealed texts of a request, the latest first, at most [`LOOKUPS_MAX`].
pub fn in_request<'d>(places: &SealedContentPlaces, body: &'d JsonDocument) -> Vec<Cow<'d, str>> {
    let items = body.root().get(places.list).into_iter();
    let mut found: Vec<DocumentNode<'d>> = Vec::new();
    for item in items.flat_map(DocumentNode::elements) {
        match places.blocks {
            None => found.extend(places.text_in(item)),
            Some(blocks) => {
                let blocks = item.get(blocks).into_iter();
                let blocks = blocks.flat_map(DocumentNode::elements);
                found.extend(blocks.filter_map(|block| places.text_in(block)));
            }
        }
    }
    let latest = found.into_iter().rev().filter_map(DocumentNode::as_str);
    latest
        .filter(|text| !text.is_empty())
        .take(LOOKUPS_MAX)
        .collect()
}

/// The signature in an event of the messages protocol, as a span of `data`.
pub fn signature_in_event(name: Option<&[u8]>, data: &[u8]) -> Option<Range<usize>> {
    static SIGNATURE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("signature_delta"));
    let is_delta = name.is_none_or(|name| name == b"content_block_delta");
    if !is_delta || data.len() < SIGNATURE_EVENT_BYTES_MIN || SIGNATURE.find(data).is_none() {
        return None;
    }
    skim::find(data, &["delta", "signature"])
}

/// Whether a provider refuses a request since it cannot read sealed content of another account. The text of a message counts
/// only at its start, which has no text of the request.
pub fn is_refused(status: u16, error: &[u8]) -> bool {
    let is_text = |range| skim::plain_string(error, range);
    let member = |path: &[&str]| skim::find(error, path).and_then(is_text);
    if status != 400 {
        return false;
    }
    if member(&["error", "code"]) == Some("invalid_encrypted_content") {
        return true;
    }
    let message = member(&["error", "message"]).unwrap_or_default();
    // Such as "messages.1.content.0: Invalid `signature` in `thinking` block".
    let place = message.split_once(": ").filter(|(place, _)| {
        let steps = |step: &str| step.bytes().all(|byte| byte.is_ascii_digit());
        place.starts_with("messages.")
            && place
                .split('.')
                .all(|step| matches!(step, "messages" | "content") || steps(step))
    });
    place.is_some_and(|(_, reason)| reason.starts_with("Invalid `signature` in `thinking` block"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;
    use crate::json::JsonLimits;
    use serde_json::{Value, json};

    fn sought(protocol: Protocol, body: &Value) -> Vec<String> {
        let text = body.to_string();
        let document = JsonDocument::parse(text.into(), &JsonLimits::default()).unwrap();
        let places = protocol.descriptor().sealed_content.iter();
        let found = places.flat_map(|places| in_request(places, &document));
        found.map(Cow::into_owned).collect()
    }

    #[test]
    fn the_latest_sealed_text_of_a_request_comes_first() {
        let reasoning =
            |text: Value| json!({"type": "reasoning", "summary": [], "encrypted_content": text});
        let block = |block: Value| json!({"role": "assistant", "content": [{"type": "text", "text": "a"}, block]});
        for (protocol, body, expected) in [
            (
                Protocol::Responses,
                json!({"input": [reasoning(json!("a")), {"role": "user", "content": "b"}, reasoning(json!("c"))]}),
                &["c", "a"][..],
            ),
            (
                Protocol::Responses,
                json!({"input": [{"type": "compaction", "encrypted_content": "a"}]}),
                &["a"],
            ),
            (
                Protocol::Responses,
                json!({"input": [reasoning(json!(null)), reasoning(json!(""))]}),
                &[],
            ),
            (
                Protocol::Responses,
                json!({"input": "encrypted_content"}),
                &[],
            ),
            (
                Protocol::Messages,
                json!({"messages": [
                    block(json!({"type": "thinking", "thinking": "t", "signature": "s"})),
                    block(json!({"type": "redacted_thinking", "data": "d"})),
                    block(json!({"type": "image", "signature": "no", "data": "no"})),
                    {"role": "user", "content": "text"},
                ]}),
                &["d", "s"],
            ),
            (
                Protocol::Chat,
                json!({"messages": [{"encrypted_content": "a"}]}),
                &[],
            ),
        ] {
            assert_eq!(sought(protocol, &body), expected, "{body}");
        }
        let many = vec![reasoning(json!("a")); 2 * LOOKUPS_MAX];
        assert_eq!(
            sought(Protocol::Responses, &json!({"input": many})).len(),
            LOOKUPS_MAX
        );
    }

    #[test]
    fn a_signature_is_found_in_its_event() {
        let signature = "EqQBCgIYAhIM1gbcDa9GJwZA2b3h".repeat(4);
        let event = json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "signature_delta", "signature": signature}});
        let data = event.to_string();
        let range = signature_in_event(Some(b"content_block_delta"), data.as_bytes()).unwrap();
        assert_eq!(
            skim::plain_string(data.as_bytes(), range),
            Some(&*signature)
        );
        let text = json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": "signature_delta ".repeat(20)}});
        let data = text.to_string();
        assert_eq!(signature_in_event(None, data.as_bytes()), None);
        assert_eq!(
            signature_in_event(Some(b"ping"), event.to_string().as_bytes()),
            None
        );
    }

    #[test]
    fn a_refusal_of_sealed_content_is_recognised_by_its_code_or_the_start_of_its_message() {
        let openai = json!({"error": {"message": "The encrypted content gAAA could not be verified.",
            "type": "invalid_request_error", "param": null, "code": "invalid_encrypted_content"}});
        let anthropic = |message: &str| json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
        for (status, error, is_such) in [
            (400, openai.clone(), true),
            (500, openai, false),
            (
                400,
                anthropic("messages.1.content.0: Invalid `signature` in `thinking` block"),
                true,
            ),
            (
                400,
                anthropic(
                    "messages.1.content.0: Input should be 'Invalid `signature` in `thinking` block'",
                ),
                false,
            ),
            (
                400,
                anthropic("model: x: Invalid `signature` in `thinking` block"),
                false,
            ),
            (400, json!({"error": "invalid_encrypted_content"}), false),
        ] {
            assert_eq!(
                is_refused(status, error.to_string().as_bytes()),
                is_such,
                "{error}"
            );
        }
        assert!(!is_refused(400, b"invalid_encrypted_content"));
    }
}
