//! The response of a service in the gateway's own format: JSON of a closed form. Whatever else it is counts as a failure
//! of the service.

use bytes::Bytes;
use headgate_core::callout::{ServiceDenial, Verdict};
use headgate_protocol::fault::ServiceDenialStatus;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits, ObjectMembers, ValueKind};

/// Largest message of a denial, in bytes.
const MESSAGE_BYTES_MAX: usize = 1024;

/// What a service changes of a request or response that continues.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ProposedChanges {
    /// Names and values of headers.
    pub headers: Vec<(String, String)>,
    /// JSON pointers, each with the JSON text that is set there.
    pub edits: Vec<(String, Bytes)>,
}

impl ProposedChanges {
    /// Reads the body of a response.
    ///
    /// # Errors
    /// What is wrong with it; contains nothing of its values.
    pub fn verdict(body: Bytes) -> Result<Verdict<Self>, String> {
        let document = JsonDocument::parse(body, &JsonLimits::default())
            .map_err(|error| format!("the response is not strict JSON: {error}"))?;
        let mut members = VerdictJsonMembers::default();
        for (name, value) in object(document.root(), "the response")? {
            match name.as_ref() {
                "action" => members.action = Some(string(value, "action")?),
                "status" => members.status = Some(status(value)?),
                "message" => members.message = Some(message(value)?),
                "headers" => members.headers = Some(headers(value)?),
                "edits" => members.edits = Some(edits(value)?),
                _ => return Err("the response has an unknown member".into()),
            }
        }
        members.verdict()
    }
}

#[derive(Default)]
struct VerdictJsonMembers {
    action: Option<String>,
    status: Option<ServiceDenialStatus>,
    message: Option<String>,
    headers: Option<Vec<(String, String)>>,
    edits: Option<Vec<(String, Bytes)>>,
}

impl VerdictJsonMembers {
    fn verdict(self) -> Result<Verdict<ProposedChanges>, String> {
        match self.action.as_deref() {
            Some("continue") if self.status.is_some() || self.message.is_some() => {
                Err("`status` and `message` require the action `deny`".into())
            }
            Some("continue") => Ok(Verdict::Continue(ProposedChanges {
                headers: self.headers.unwrap_or_default(),
                edits: self.edits.unwrap_or_default(),
            })),
            Some("deny") if self.headers.is_some() || self.edits.is_some() => {
                Err("`headers` and `edits` require the action `continue`".into())
            }
            Some("deny") => Ok(Verdict::Deny(ServiceDenial {
                status: self.status.unwrap_or(ServiceDenialStatus::Forbidden),
                message: self.message,
            })),
            Some(_) => Err("`action` must be `continue` or `deny`".into()),
            None => Err("the response has no `action`".into()),
        }
    }
}

fn object<'a>(node: DocumentNode<'a>, what: &str) -> Result<ObjectMembers<'a>, String> {
    match node.kind() {
        ValueKind::Object => Ok(node.members()),
        _ => Err(format!(
            "{what} must be an object, received {}",
            node.type_name()
        )),
    }
}

fn string(node: DocumentNode<'_>, what: &str) -> Result<String, String> {
    match node.as_str() {
        Some(text) => Ok(text.into_owned()),
        None => Err(format!(
            "`{what}` must be a string, received {}",
            node.type_name()
        )),
    }
}

fn status(node: DocumentNode<'_>) -> Result<ServiceDenialStatus, String> {
    let status = node.as_u64().and_then(ServiceDenialStatus::from_code);
    status.ok_or_else(|| "`status` must be 400, 401, 403, 404, 429 or 451".into())
}

fn message(node: DocumentNode<'_>) -> Result<String, String> {
    let message = string(node, "message")?;
    let is_fit = message.len() <= MESSAGE_BYTES_MAX && !message.chars().any(char::is_control);
    match is_fit && !message.is_empty() {
        true => Ok(message),
        false => Err(format!(
            "`message` must have 1 to {MESSAGE_BYTES_MAX} bytes and no control characters"
        )),
    }
}

fn headers(node: DocumentNode<'_>) -> Result<Vec<(String, String)>, String> {
    object(node, "`headers`")?
        .map(|(name, value)| Ok((name.to_ascii_lowercase(), string(value, "headers")?)))
        .collect()
}

fn edits(node: DocumentNode<'_>) -> Result<Vec<(String, Bytes)>, String> {
    let mut set = Vec::new();
    for (name, value) in object(node, "`edits`")? {
        if name != "set" {
            return Err("`edits` has an unknown member; it may have `set`".into());
        }
        for (pointer, value) in object(value, "`edits.set`")? {
            let json = Bytes::copy_from_slice(value.raw());
            set.push((pointer.into_owned(), json));
        }
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Verdict<ProposedChanges>, String> {
        ProposedChanges::verdict(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn a_response_continues_with_changes_or_denies() {
        let plain = Verdict::Continue(ProposedChanges::default());
        assert_eq!(parse(r#"{"action":"continue"}"#), Ok(plain));
        let changes = r#"{"action":"continue","headers":{"X-Risk":"low"},"edits":{"set":{"/a/0": {"b":1e2}}}}"#;
        let expected = ProposedChanges {
            headers: vec![("x-risk".into(), "low".into())],
            edits: vec![("/a/0".into(), Bytes::from_static(br#"{"b":1e2}"#))],
        };
        assert_eq!(parse(changes), Ok(Verdict::Continue(expected)));
        for (text, status, message) in [
            (r#"{"action":"deny"}"#, ServiceDenialStatus::Forbidden, None),
            (
                r#"{"action":"deny","status":451,"message":"no"}"#,
                ServiceDenialStatus::UnavailableForLegalReasons,
                Some("no".into()),
            ),
        ] {
            let denial = ServiceDenial { status, message };
            assert_eq!(parse(text), Ok(Verdict::Deny(denial)), "{text}");
        }
    }

    #[test]
    fn whatever_else_is_refused_with_a_reason() {
        for (text, reason) in [
            ("", "not strict JSON"),
            ("[]", "must be an object"),
            ("{}", "no `action`"),
            (r#"{"action":"allow"}"#, "`continue` or `deny`"),
            (r#"{"action":7}"#, "must be a string"),
            (r#"{"action":"deny","status":200}"#, "400, 401"),
            (r#"{"action":"deny","status":"403"}"#, "400, 401"),
            (r#"{"action":"deny","message":"a\nb"}"#, "control"),
            (r#"{"action":"deny","message":""}"#, "1 to"),
            (r#"{"action":"deny","headers":{}}"#, "require the action"),
            (
                r#"{"action":"continue","message":"a"}"#,
                "require the action",
            ),
            (
                r#"{"action":"continue","headers":{"a":1}}"#,
                "must be a string",
            ),
            (
                r#"{"action":"continue","edits":{"remove":[]}}"#,
                "unknown member",
            ),
            (r#"{"action":"continue","reason":"x"}"#, "unknown member"),
            (
                r#"{"action":"continue","action":"deny"}"#,
                "not strict JSON",
            ),
        ] {
            let refusal = parse(text).expect_err(text);
            assert!(refusal.contains(reason), "{text}: {refusal}");
        }
    }
}
