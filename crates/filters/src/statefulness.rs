//! Which requests a provider stores, continues or bills one by one, so that they are neither answered from recorded
//! responses nor copied to another channel.

use super::model_member::MODEL;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::view::RequestView;
use headgate_protocol::json::{DocumentNode, JsonDocument, ValueKind};
use headgate_protocol::{DuplicateRequestCost, Protocol, ProviderResponseStorage, ids};
use http::Method;
use memchr::memmem;

/// Members of a body that refer to what a provider stored, or have it store something.
const STORING_MEMBERS: [&str; 4] = [
    "background",
    "conversation",
    "previous_response_id",
    "container",
];
/// Keys at any depth of a body that refer to files, containers and stores of a provider.
const REFERENCES: [&str; 4] = ["file_id", "file_ids", "container_id", "vector_store_ids"];

/// Why a request must be processed once and by its own channel; `None` for a request whose response depends on nothing
/// but the request.
pub fn stateful_part(request: &RequestView) -> Option<&'static str> {
    let Some(protocol) = request.protocol else {
        return Some("no protocol");
    };
    if protocol.creates_paid_work() {
        return Some("paid create");
    }
    if request.method != Method::POST {
        return Some("method");
    }
    let mut params = request.params.iter();
    if params.any(|(name, _)| **name != *MODEL) || request.model().is_none() {
        return Some("id in the path");
    }
    match &*request.body {
        RequestBody::Json(document) => stateful_member(protocol, document),
        RequestBody::Absent
        | RequestBody::Form { .. }
        | RequestBody::Opaque(_)
        | RequestBody::Streamed(_) => Some("no JSON body"),
    }
}

fn is_stored_by_default(protocol: Protocol) -> bool {
    protocol.descriptor().cost == DuplicateRequestCost::Tokens(ProviderResponseStorage::ByDefault)
}

fn stateful_member(protocol: Protocol, document: &JsonDocument) -> Option<&'static str> {
    let root = document.root();
    if root.kind() != ValueKind::Object {
        return Some("no JSON object");
    }
    let is_stored = match root.get("store") {
        None => is_stored_by_default(protocol),
        Some(store) if store.is_null() => is_stored_by_default(protocol),
        Some(store) => store.as_bool() != Some(false),
    };
    if is_stored {
        return Some("store");
    }
    for name in STORING_MEMBERS {
        if root.get(name).is_some_and(is_set) {
            return Some(name);
        }
    }
    let tools = root.get("tools");
    let mut tools = tools.into_iter().flat_map(DocumentNode::elements);
    if tools.any(|tool| tool.get("container").is_some_and(is_set)) {
        return Some("container");
    }
    let has_reference = may_have_references(document.body()) && has_reference(root);
    (has_reference || !ids::named_in_body(document).is_empty()).then_some("id of the provider")
}

/// Whether a member asks for something: `null` and `false` do not.
fn is_set(value: DocumentNode<'_>) -> bool {
    !value.is_null() && value.as_bool() != Some(false)
}

/// Most bodies have no such key, and need no walk; a key may be written with escapes.
fn may_have_references(body: &[u8]) -> bool {
    [
        &b"file_id"[..],
        b"container_id",
        b"vector_store_ids",
        b"\\u",
    ]
    .iter()
    .any(|part| memmem::find(body, part).is_some())
}

/// Whether a key at any depth is one of [`REFERENCES`]. The scanner bounds the depth.
fn has_reference(node: DocumentNode<'_>) -> bool {
    match node.kind() {
        ValueKind::Object => node.members().any(|(key, value)| {
            REFERENCES.contains(&&*key) && !value.is_null() || has_reference(value)
        }),
        ValueKind::Array => node.elements().any(has_reference),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::json::JsonLimits;

    #[test]
    fn requests_that_are_stored_or_continued_are_found() {
        use Protocol::{Chat, Messages, Responses};
        for (protocol, body, expected) in [
            (Chat, r#"{"model":"m","messages":[]}"#, None),
            (Chat, r#"{"store":false}"#, None),
            (Chat, r#"{"store":null}"#, None),
            (Chat, r#"{"store":true}"#, Some("store")),
            (Chat, r#"{"store":"yes"}"#, Some("store")),
            (Responses, r#"{"input":"x"}"#, Some("store")),
            (Responses, r#"{"store":null}"#, Some("store")),
            (Responses, r#"{"store":false}"#, None),
            (
                Responses,
                r#"{"store":false,"background":true}"#,
                Some("background"),
            ),
            (Responses, r#"{"store":false,"background":false}"#, None),
            (
                Responses,
                r#"{"store":false,"conversation":"conv_1"}"#,
                Some("conversation"),
            ),
            (
                Responses,
                r#"{"store":false,"previous_response_id":"resp_1"}"#,
                Some("previous_response_id"),
            ),
            (
                Responses,
                r#"{"store":false,"previous_response_id":null}"#,
                None,
            ),
            (Messages, r#"{"container":{}}"#, Some("container")),
            (Messages, r#"{"container":"c"}"#, Some("container")),
            (
                Responses,
                r#"{"store":false,"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]}"#,
                Some("container"),
            ),
            (
                Messages,
                r#"{"messages":[{"content":[{"source":{"type":"file","file_id":"f"}}]}]}"#,
                Some("id of the provider"),
            ),
            (
                Chat,
                r#"{"messages":[{"content":[{"file":{"\u0066ile_id":"f"}}]}]}"#,
                Some("id of the provider"),
            ),
            (
                Responses,
                r#"{"store":false,"tools":[{"vector_store_ids":["v"]}]}"#,
                Some("id of the provider"),
            ),
            (
                Chat,
                r#"{"messages":[{"content":"what is a file_id?"}]}"#,
                None,
            ),
            (Chat, "[]", Some("no JSON object")),
        ] {
            let document =
                JsonDocument::parse(body.to_owned().into(), &JsonLimits::default()).unwrap();
            assert_eq!(stateful_member(protocol, &document), expected, "{body}");
        }
    }
}
