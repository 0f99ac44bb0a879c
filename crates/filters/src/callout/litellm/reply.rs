//! The response of a service in LiteLLM's format.

use crate::callout::service_payload::ServicePayload;
use bytes::Bytes;
use headgate_core::callout::{ServiceDenial, Verdict};
use headgate_protocol::fault::ServiceDenialStatus;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits, ValueKind};
use serde_json::Value;

/// The message of a denial that has none.
const BLOCKED: &str = "Content violates policy";
/// Largest message of a denial, in bytes; the rest of a longer one is left out.
const MESSAGE_BYTES_MAX: usize = 1024;
/// Lists that a service may return as they are, but not change.
const UNCHANGED: [&str; 3] = ["images", "tools", "structured_messages"];

/// What a service returns of a request or response that continues.
#[derive(Debug)]
pub struct GuardrailReply(JsonDocument);

impl GuardrailReply {
    /// Reads the body of a response. Members that the format does not have are ignored.
    ///
    /// # Errors
    /// What is wrong with it; contains nothing of its values.
    pub fn verdict(body: Bytes) -> Result<Verdict<Self>, String> {
        let document = JsonDocument::parse(body, &JsonLimits::default())
            .map_err(|error| format!("the response is not strict JSON: {error}"))?;
        let root = document.root();
        if root.kind() != ValueKind::Object {
            let received = root.type_name();
            return Err(format!(
                "the response must be an object, received {received}"
            ));
        }
        let action = present(root, "action");
        let action = action.map(|action| action.as_str().unwrap_or_default());
        match action.as_deref() {
            // `ALLOW` is not LiteLLM's, but what some services write, as there all but `BLOCKED` continues.
            None | Some("NONE" | "ALLOW" | "GUARDRAIL_INTERVENED") => {}
            Some("BLOCKED") => {
                return Ok(Verdict::Deny(ServiceDenial {
                    status: ServiceDenialStatus::BadRequest,
                    message: Some(blocked_reason(root)),
                }));
            }
            Some(_) => {
                return Err("`action` must be `NONE`, `BLOCKED` or `GUARDRAIL_INTERVENED`".into());
            }
        }
        for name in ["texts"].into_iter().chain(UNCHANGED) {
            if present(root, name).is_some_and(|list| list.kind() != ValueKind::Array) {
                return Err(format!("`{name}` must be an array"));
            }
        }
        let texts = present(root, "texts");
        let mut texts = texts.into_iter().flat_map(DocumentNode::elements);
        if texts.any(|text| text.kind() != ValueKind::String) {
            return Err("`texts` must be an array of strings".into());
        }
        Ok(Verdict::Continue(Self(document)))
    }

    /// The texts that the service changed, each with its position in the list that was sent.
    ///
    /// # Errors
    /// Its texts are not as many as those that were sent, or it changed something else.
    pub fn changed_texts(&self, sent: &ServicePayload) -> Result<Vec<(usize, String)>, String> {
        let lists = ["texts"].into_iter().chain(UNCHANGED);
        if lists.clone().all(|name| self.list(name).is_none()) {
            return Ok(Vec::new());
        }
        // What the service saw: without the key of the caller.
        let payload = JsonDocument::parse(sent.json.clone(), &JsonLimits::default())
            .map_err(|error| format!("the payload is not strict JSON: {error}"))?;
        for name in UNCHANGED {
            let returned = self.list(name);
            let before = payload.root().get(name);
            if returned.is_some_and(|list| before.is_none_or(|before| !is_equal(list, before))) {
                return Err(format!(
                    "the response changes `{name}`, which is not possible"
                ));
            }
        }
        let Some(returned) = self.list("texts") else {
            return Ok(Vec::new());
        };
        let before = payload.root().get("texts");
        let before_count = before.map_or(0, DocumentNode::len);
        if returned.len() != before_count {
            let count = returned.len();
            return Err(format!(
                "the response has {count} `texts`, {before_count} were sent"
            ));
        }
        let before = before.into_iter().flat_map(DocumentNode::elements);
        let pairs = returned.elements().zip(before).enumerate();
        let changed = pairs.filter_map(|(position, (new, old))| {
            let new = new
                .as_str()
                .filter(|new| old.as_str().as_ref() != Some(new))?;
            Some((position, new.into_owned()))
        });
        Ok(changed.collect())
    }

    /// A list of the response that is not empty.
    fn list(&self, name: &str) -> Option<DocumentNode<'_>> {
        present(self.0.root(), name).filter(|list| !list.is_empty())
    }
}

fn present<'d>(root: DocumentNode<'d>, name: &str) -> Option<DocumentNode<'d>> {
    root.get(name).filter(|value| !value.is_null())
}

/// Services write reasons of any length, over several lines.
fn blocked_reason(root: DocumentNode<'_>) -> String {
    let reason = present(root, "blocked_reason").and_then(DocumentNode::as_str);
    let reason = reason.filter(|reason| !reason.trim().is_empty());
    let Some(reason) = reason else {
        return BLOCKED.to_owned();
    };
    let end = reason.floor_char_boundary(MESSAGE_BYTES_MAX);
    reason[..end].replace(char::is_control, " ")
}

fn is_equal(left: DocumentNode<'_>, right: DocumentNode<'_>) -> bool {
    let value = |node: DocumentNode<'_>| serde_json::from_slice::<Value>(node.raw()).ok();
    left.raw() == right.raw() || value(left).is_some_and(|left| value(right) == Some(left))
}
