//! Errors that replace a provider's response.

use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::redact::redact;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use std::time::Duration;

/// The message about a refusal that does not say why.
const REFUSED: &str = "the provider refused the request and gave no reason that can be shown; check the request, and tell the operator of this gateway if it is right";
/// Maximum number of characters of a provider's text in a message.
const QUOTED_MAX: usize = 300;

/// The provider refused the gateway's credential or account; the caller's key is valid.
pub(crate) fn refused_account_fault(status: StatusCode) -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider refused the gateway's credential or account; tell the operator of this gateway",
    )
    .detail(format!("provider status {status}"))
}

/// The error that replaces a provider's error response.
pub(super) fn failed_response_fault(status: StatusCode) -> Fault {
    let message = match status.is_client_error() {
        true => REFUSED,
        false => "the provider returned an error; try again",
    };
    Fault::new(FaultKind::Upstream, message).detail(format!("provider status {status}"))
}

/// The error for an error response that is not of the protocol. A refusal in plain text is quoted: it may be all that explains
/// to the caller what to change.
pub(crate) fn foreign_error_fault(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Fault {
    let mut fault = foreign_body_fault(body);
    if status.is_client_error() {
        let quoted = is_plain_text(headers).then(|| quotation(body)).flatten();
        fault.message = match quoted {
            Some(text) => format!("the provider refused the request: {text}"),
            None => REFUSED.into(),
        };
    }
    fault
}

fn is_plain_text(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/plain"))
}

/// The beginning of a provider's text on one line, without credentials; `None` for no text, and for a page.
fn quotation(body: &[u8]) -> Option<String> {
    // A key may begin within what is quoted and end after it.
    let redacted = redact(body, &[]);
    let text = String::from_utf8_lossy(&redacted[..redacted.len().min(4 * QUOTED_MAX)]);
    let is_blank =
        |c: char| c.is_whitespace() || c.is_control() || c == char::REPLACEMENT_CHARACTER;
    let words: Vec<&str> = text
        .split(is_blank)
        .filter(|word| !word.is_empty())
        .collect();
    let line = words.join(" ");
    let is_page = line.starts_with('<');
    let quoted: String = line.chars().take(QUOTED_MAX).collect();
    (!is_page && !quoted.is_empty()).then_some(quoted)
}

/// The error for a response that is not of the protocol. Its first bytes go into the log.
pub(crate) fn foreign_body_fault(body: &[u8]) -> Fault {
    const SHOWN_BYTES: usize = 200;
    let beginning = &body[..body.len().min(SHOWN_BYTES)];
    Fault::new(
        FaultKind::Upstream,
        "the provider's response does not follow the protocol; try again, and tell the operator of this gateway if the error persists",
    )
    .detail(format!("response begins with: {}", String::from_utf8_lossy(&redact(beginning, &[]))))
}

/// The error for a redirect or another unexpected status. The usual cause is a wrong `base_url`.
pub(crate) fn unexpected_status_fault(status: StatusCode) -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider's response does not follow the protocol; tell the operator of this gateway",
    )
    .detail(format!(
        "provider status {status}; check the channel's `base_url`"
    ))
}

/// The error for a response that was not ready in time, although it had begun.
pub(super) fn too_slow(max_wait: Duration) -> Fault {
    Fault::new(
        FaultKind::UpstreamTimeout,
        "the provider stopped sending its response; try again",
    )
    .detail(format!("the response was not ready after {max_wait:?}"))
}

/// The error for a response that cannot be shown to a filter that must see it.
pub(super) fn unchecked_response_fault(reason: &str) -> Fault {
    Fault::new(
        FaultKind::CheckUnavailable,
        "the provider's response cannot be checked; tell the operator of this gateway",
    )
    .detail(format!("the response cannot be checked: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_in_plain_text_is_quoted_on_one_line_and_a_page_is_not() {
        let long = "x ".repeat(400);
        for (status, kind, body, expected) in [
            (
                400,
                "text/plain",
                "voice `x` is unknown\r\n",
                Some("voice `x` is unknown"),
            ),
            (
                429,
                "Text/Plain; charset=utf-8",
                "slow\u{1b}[0m\0down",
                Some("slow [0m down"),
            ),
            (
                400,
                "text/plain",
                "key sk-0123456789abcdefghij is bad",
                Some("key [redacted] is bad"),
            ),
            (400, "text/plain", long.as_str(), Some(&long[..300])),
            (400, "text/plain", " <html><p>no", None),
            (400, "text/html", "no", None),
            (400, "text/plain", " \r\n", None),
            (400, "", "no", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, kind.parse().unwrap());
            let status = StatusCode::from_u16(status).unwrap();
            let fault = foreign_error_fault(status, &headers, body.as_bytes());
            let message = &fault.message;
            let expected = expected.map(|text| format!("the provider refused the request: {text}"));
            assert_eq!(message, expected.as_deref().unwrap_or(REFUSED), "{body}");
            assert!(!message.contains("try again"));
        }
        let headers = HeaderMap::new();
        let failed = foreign_error_fault(StatusCode::BAD_GATEWAY, &headers, b"no");
        assert!(failed.message.contains("try again"));
    }
}
