//! What a service may change, and the changes that its response makes.

use super::litellm::reply::GuardrailReply;
use super::proposed_changes::ProposedChanges;
use super::service_payload::ServicePayload;
use super::service_reply::ServiceReply;
use bytes::Bytes;
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits, ValueKind};
use http::{HeaderName, HeaderValue};

/// What a service may decide and change.
pub struct CalloutPermissions {
    pub deny: bool,
    pub headers: Vec<HeaderName>,
    /// Of values that it may set, with all that is below them.
    pub pointers: Vec<String>,
}

/// The changes of a response.
#[derive(Default)]
pub struct AcceptedChanges {
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The changed body.
    pub body: Option<JsonDocument>,
}

impl CalloutPermissions {
    /// Checks the changes of a response, and makes them in a copy of `document`, which is absent if the body is no JSON.
    ///
    /// # Errors
    /// A change is not allowed, or cannot be made.
    pub fn accept(
        &self,
        reply: ServiceReply,
        sent: &ServicePayload,
        document: Option<&JsonDocument>,
    ) -> Result<AcceptedChanges, String> {
        match reply {
            ServiceReply::Changes(proposed) => self.accept_proposed(proposed, document),
            ServiceReply::Guardrail(reply) => Ok(AcceptedChanges {
                body: self.with_texts(&reply, sent, document)?,
                ..AcceptedChanges::default()
            }),
        }
    }

    fn accept_proposed(
        &self,
        proposed: ProposedChanges,
        document: Option<&JsonDocument>,
    ) -> Result<AcceptedChanges, String> {
        let headers = proposed.headers.into_iter();
        Ok(AcceptedChanges {
            headers: headers
                .map(|(name, value)| self.header(&name, &value))
                .collect::<Result<_, String>>()?,
            body: match proposed.edits.is_empty() {
                true => None,
                false => Some(self.edited(&proposed.edits, document)?),
            },
        })
    }

    fn header(&self, name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
        let allowed = self.headers.iter().find(|allowed| *allowed == name);
        let allowed = allowed.ok_or("the response sets a header that `allow` does not name")?;
        let value = HeaderValue::from_str(value)
            .map_err(|_| "the response sets a header to what is no header value")?;
        Ok((allowed.clone(), value))
    }

    fn edited(
        &self,
        proposed: &[(String, Bytes)],
        document: Option<&JsonDocument>,
    ) -> Result<JsonDocument, String> {
        let document = document.ok_or("the response edits a body that is no JSON")?;
        let root = document.root();
        let mut edits = JsonEdits::default();
        for (pointer, json) in proposed {
            let is_allowed = |allowed: &String| is_within(pointer, allowed);
            if !self.pointers.iter().any(is_allowed) {
                return Err("the response edits a value that `allow` does not name".into());
            }
            if let Some(value) = root.pointer(pointer) {
                edits.replace(value.span(), json.clone());
                continue;
            }
            let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
            let parent = root.pointer(parent);
            let object = parent.filter(|parent| parent.kind() == ValueKind::Object);
            let object =
                object.ok_or("the response edits a value that the body has no place for")?;
            let key = key.replace("~1", "/").replace("~0", "~");
            edits.insert_member(object, &key, json.clone());
        }
        apply(&edits, document)
    }

    /// The body with the texts that a service changed; `None` if it changed none.
    fn with_texts(
        &self,
        reply: &GuardrailReply,
        sent: &ServicePayload,
        document: Option<&JsonDocument>,
    ) -> Result<Option<JsonDocument>, String> {
        let changed = reply.changed_texts(sent)?;
        if changed.is_empty() {
            return Ok(None);
        }
        let document = document.ok_or("the response changes a text of a body that is no JSON")?;
        let allowed = self.pointers.iter();
        let allowed = allowed.filter_map(|pointer| document.root().pointer(pointer));
        let allowed: Vec<_> = allowed.map(DocumentNode::span).collect();
        let mut edits = JsonEdits::default();
        for (position, text) in changed {
            let place = sent
                .texts
                .get(position)
                .and_then(|text| text.place.as_ref());
            let place = place.ok_or("the response changes a text that cannot be changed")?;
            let span = place.span.clone();
            let mut around = allowed.iter();
            if !around.any(|allowed| allowed.start <= span.start && span.end <= allowed.end) {
                return Err("the response changes a text that `allow` does not name".into());
            }
            edits.replace(span, place.json(&text, document.body())?);
        }
        apply(&edits, document).map(Some)
    }
}

fn apply(edits: &JsonEdits, document: &JsonDocument) -> Result<JsonDocument, String> {
    let body = edits.apply(document.body()).to_bytes();
    JsonDocument::parse(body, &JsonLimits::default())
        .map_err(|error| format!("the edited body is not strict JSON: {error}"))
}

fn is_within(pointer: &str, allowed: &str) -> bool {
    pointer
        .strip_prefix(allowed)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> CalloutPermissions {
        CalloutPermissions {
            deny: true,
            headers: vec![HeaderName::from_static("x-risk")],
            pointers: vec!["/metadata".into()],
        }
    }

    fn accepted(
        headers: &[(&str, &str)],
        edits: &[(&str, &'static str)],
    ) -> Result<String, String> {
        let body = Bytes::from_static(br#"{"model":"m","metadata":{"a":1}, "list":[1]}"#);
        let document = JsonDocument::parse(body, &JsonLimits::default()).unwrap();
        let text = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let proposed = ProposedChanges {
            headers: headers.iter().map(text).collect(),
            edits: edits
                .iter()
                .map(|(pointer, json)| ((*pointer).to_owned(), Bytes::from_static(json.as_bytes())))
                .collect(),
        };
        let changes = allowed().accept_proposed(proposed, Some(&document))?;
        let body = changes
            .body
            .as_ref()
            .map_or_else(Bytes::new, |body| body.body().clone());
        Ok(String::from_utf8(body.to_vec()).unwrap())
    }

    #[test]
    fn what_is_allowed_is_set_and_all_other_bytes_stay() {
        for (edits, body) in [
            (
                &[("/metadata/a", "2")][..],
                r#"{"model":"m","metadata":{"a":2}, "list":[1]}"#,
            ),
            (
                &[("/metadata/b~1c", "[]")],
                r#"{"model":"m","metadata":{"a":1,"b/c":[]}, "list":[1]}"#,
            ),
            (
                &[("/metadata", "null")],
                r#"{"model":"m","metadata":null, "list":[1]}"#,
            ),
            (&[], ""),
        ] {
            assert_eq!(accepted(&[("x-risk", "low")], edits), Ok(body.to_owned()));
        }
    }

    #[test]
    fn what_is_not_allowed_is_refused() {
        for (headers, edits) in [
            (&[("x-other", "1")][..], &[][..]),
            (&[("x-risk", "a\nb")], &[]),
            (&[], &[("/model", "\"other\"")]),
            (&[], &[("/metadatax", "1")]),
            (&[], &[("", "{}")]),
            (&[], &[("/metadata/x/y", "1")]),
        ] {
            assert!(accepted(headers, edits).is_err(), "{headers:?} {edits:?}");
        }
    }
}
