//! Errors of providers, in the caller's protocol.

use super::MapTaskFilter;
use bytes::Bytes;
use headgate_core::task::family::{UpstreamError, VideoFamily, without_urls};
use headgate_protocol::Protocol;
use headgate_protocol::error_body::CustomError;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits};
use http::StatusCode;
use serde_json::json;
use std::borrow::Cow;

/// Members that servers in front of a provider write their message into, such as `{"detail": "…"}` of FastAPI.
const MESSAGE_MEMBERS: [&str; 5] = ["message", "detail", "msg", "error", "errors"];

impl MapTaskFilter {
    /// A provider's error in the caller's protocol; `None` if the body is one as it is.
    pub(super) fn error_body(
        &self,
        family: &VideoFamily,
        protocol: Option<Protocol>,
        (status, body): (StatusCode, &Bytes),
        request_id: &str,
    ) -> Option<Bytes> {
        let document = JsonDocument::parse(body.clone(), &JsonLimits::default()).ok();
        let error = document
            .as_ref()
            .and_then(|document| family.error(document));
        match error {
            Some(error) if self.is_generic() => Some(generic(status, error)),
            Some(_) if family.native_api().replaces_urls() => {
                document.map(|document| family.native_error(&document).body)
            }
            Some(_) => None,
            None => {
                let message = document
                    .as_ref()
                    .and_then(|document| message_in(document.root()));
                let message = match family.native_api().replaces_urls() {
                    true => message.map(|message| Cow::Owned(without_urls(&message))),
                    false => message,
                };
                let error = CustomError {
                    message: message
                        .as_deref()
                        .unwrap_or_else(|| default_message(status)),
                    class: None,
                    code: None,
                    param: None,
                };
                Some(Protocol::descriptor_for(protocol).errors.render_custom(
                    status.as_u16(),
                    &error,
                    request_id,
                ))
            }
        }
    }
}

/// An error of the family in the generic protocol.
fn generic(status: StatusCode, error: UpstreamError) -> Bytes {
    let class = match status {
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_client_error() => "invalid_request_error",
        _ => "server_error",
    };
    let UpstreamError { code, message } = error;
    let error = json!({"error": {
        "message": message, "type": class, "param": null, "code": code,
    }});
    error.to_string().into()
}

/// The message of an error that is not in the family's format.
fn message_in(node: DocumentNode<'_>) -> Option<Cow<'_, str>> {
    if let Some(text) = node.as_str() {
        return Some(text).filter(|text| !text.trim().is_empty());
    }
    let members = MESSAGE_MEMBERS.iter().filter_map(|name| node.get(name));
    let mut inner = members.chain(node.elements().take(1));
    inner.find_map(message_in)
}

fn default_message(status: StatusCode) -> &'static str {
    match status.is_client_error() {
        true => "the provider refused the request without a message that can be shown",
        false => {
            "the provider's error is not in its format; try again, and tell the operator of this gateway if it persists"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_an_error_of_another_format_is_found() {
        for (body, expected) in [
            (r#"{"detail": "too long"}"#, Some("too long")),
            (
                r#"{"detail": [{"loc": ["body", "duration"], "msg": "too long", "type": "x"}]}"#,
                Some("too long"),
            ),
            (r#"{"errors": ["too long"]}"#, Some("too long")),
            (r#"{"message": "too long", "code": 7}"#, Some("too long")),
            (r#"{"error": {"message": "too long"}}"#, Some("too long")),
            (r#""too long""#, Some("too long")),
            (r#"{"detail": " "}"#, None),
            (r#"{"code": 7}"#, None),
            ("[]", None),
        ] {
            let document = JsonDocument::parse(body.into(), &JsonLimits::default()).unwrap();
            assert_eq!(message_in(document.root()).as_deref(), expected, "{body}");
        }
    }
}
