//! The affinity key of a request: what its session has in common, as the model's affinity defines it.

use super::view::RequestView;
use crate::catalog::affinity::{AffinityKey, AffinitySource, ModelAffinity};
use headgate_protocol::conversation::each_prefix_value;
use headgate_protocol::json::pointer::JsonPointer;
use headgate_protocol::json::{DocumentNode, ValueKind};

/// Bytes that are read of a header or of a value in the body.
const VALUE_BYTES_MAX: usize = 4 << 10;

/// The key of a request for `model`; `None` if the request does not have what the key is made of.
pub fn affinity_key(
    affinity: &ModelAffinity,
    model: &str,
    request: &RequestView,
) -> Option<AffinityKey> {
    let caller = request.caller.as_deref().map(|caller| &*caller.name);
    let mut hasher = affinity
        .secret
        .hasher(model, caller.filter(|_| !affinity.is_shared));
    match &affinity.source {
        AffinitySource::Caller => drop(caller?),
        AffinitySource::Header(name) => {
            let value = request.headers.get(name)?.as_bytes();
            hasher.add(start(value)?);
        }
        AffinitySource::Pointer(pointer) => hasher.add(value_at(request, pointer)?),
        AffinitySource::Prefix => {
            let body = request.body.document()?;
            let shape = request.protocol?.descriptor().conversation.as_ref()?;
            each_prefix_value(shape, body, &mut |value| hasher.add(value)).then_some(())?;
        }
    }
    Some(hasher.finish())
}

/// The text or number at `pointer` as written.
fn value_at<'r>(request: &'r RequestView, pointer: &JsonPointer) -> Option<&'r [u8]> {
    let mut steps = pointer.steps().iter();
    let root = request.body.document()?.root();
    let value = steps.try_fold(root, |node: DocumentNode<'r>, step| match node.kind() {
        ValueKind::Array => node.elements().nth(step.parse().ok()?),
        _ => node.get(step),
    })?;
    match value.kind() {
        ValueKind::Number => start(value.raw()),
        // Without its quotes.
        ValueKind::String => start(value.raw().get(1..value.raw().len().saturating_sub(1))?),
        ValueKind::Null | ValueKind::Bool | ValueKind::Array | ValueKind::Object => None,
    }
}

/// The start of a value; `None` if it is empty.
fn start(value: &[u8]) -> Option<&[u8]> {
    let start = &value[..value.len().min(VALUE_BYTES_MAX)];
    (!start.is_empty()).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::affinity::AffinitySecret;
    use crate::catalog::caller::Caller;
    use crate::filter::body::RequestBody;
    use headgate_protocol::Protocol;
    use headgate_protocol::json::{JsonDocument, JsonLimits};
    use http::{HeaderMap, HeaderName, HeaderValue, Method};
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn affinity(source: AffinitySource) -> ModelAffinity {
        ModelAffinity {
            source,
            is_shared: false,
            balance_factor: 150,
            secret: AffinitySecret::new(b"s"),
        }
    }

    fn request(caller: Option<&str>, session: Option<&str>, body: &Value) -> RequestView {
        let mut headers = HeaderMap::new();
        if let Some(session) = session {
            headers.insert("x-session", HeaderValue::from_str(session).unwrap());
        }
        let path = "/v1/chat/completions".to_owned();
        let protocol = Some(Protocol::Chat);
        let id = "req_1".into();
        let mut request =
            RequestView::new(id, Method::POST, path, None, headers, Vec::new(), protocol);
        request.caller = caller.map(|name| Arc::new(Caller::new(name, &[])));
        let body = JsonDocument::parse(body.to_string().into(), &JsonLimits::default()).unwrap();
        request.body = RequestBody::Json(body).into();
        request
    }

    fn key(source: AffinitySource, request: &RequestView) -> Option<AffinityKey> {
        affinity_key(&affinity(source), "m", request)
    }

    fn pointer(text: &str) -> AffinitySource {
        AffinitySource::Pointer(JsonPointer::parse(text).unwrap())
    }

    fn header() -> AffinitySource {
        AffinitySource::Header(HeaderName::from_static("x-session"))
    }

    #[test]
    fn a_request_without_what_its_key_is_made_of_has_no_key() {
        let bare = request(None, None, &json!({"user": "", "n": [], "seed": null}));
        for source in [
            header(),
            AffinitySource::Caller,
            AffinitySource::Prefix,
            pointer("/user"),
            pointer("/n"),
            pointer("/n/0"),
            pointer("/seed"),
            pointer("/metadata/session"),
        ] {
            let named = format!("{source:?}");
            assert_eq!(key(source, &bare), None, "{named}");
        }
        assert_eq!(
            key(header(), &request(Some("ann"), Some(""), &json!({}))),
            None
        );
    }

    #[test]
    fn a_key_depends_on_the_session_and_on_the_caller() {
        let body = |session: &str| json!({"metadata": {"ids": [session]}, "messages": [{"role": "user", "content": session}]});
        let sources: [fn() -> AffinitySource; 3] = [
            header,
            || pointer("/metadata/ids/0"),
            || AffinitySource::Prefix,
        ];
        for source in sources {
            let of = |caller, session| {
                key(
                    source(),
                    &request(Some(caller), Some(session), &body(session)),
                )
                .unwrap()
            };
            assert_eq!(of("ann", "one"), of("ann", "one"));
            assert_ne!(of("ann", "one"), of("ann", "two"));
            assert_ne!(of("ann", "one"), of("bob", "one"));
            let shared = |caller| {
                let request = request(Some(caller), Some("one"), &body("one"));
                let affinity = ModelAffinity {
                    is_shared: true,
                    ..affinity(source())
                };
                affinity_key(&affinity, "m", &request)
            };
            assert_eq!(shared("ann"), shared("bob"));
        }
        let of = |caller| {
            key(
                AffinitySource::Caller,
                &request(Some(caller), None, &json!({})),
            )
        };
        assert_eq!(of("ann"), of("ann"));
        assert_ne!(of("ann"), of("bob"));
    }
}
