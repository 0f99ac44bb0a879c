//! Errors in band: `{"type": "error", "status": …, "error": {…}}`, as clients of the responses protocol read them.

use super::stream_id::StreamId;
use bytes::Bytes;
use headgate_protocol::Protocol;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::skim;
use http::{HeaderMap, HeaderName, StatusCode, header};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The member with the id of the response that a request continues.
const PREVIOUS: &str = "previous_response_id";

/// The fields of a response that say nothing about its error.
const FRAMING: [HeaderName; 4] = [
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::DATE,
];

/// An error event for one request of a WebSocket.
#[derive(Debug)]
pub struct ErrorEvent {
    status: u16,
    /// JSON text.
    error: String,
    headers: Map<String, Value>,
}

impl ErrorEvent {
    /// That of a fault, in the words of its HTTP response.
    pub fn from_fault(fault: &Fault) -> Self {
        let errors = &Protocol::OVER_WEBSOCKETS.descriptor().errors;
        let status = StatusCode::from_u16(errors.status(fault)).unwrap_or(StatusCode::BAD_REQUEST);
        Self::from_response(status, &HeaderMap::new(), &errors.render(fault, ""))
    }

    /// An error that only WebSockets have.
    pub fn for_code(code: &str, message: &str, param: Option<&str>) -> Self {
        let error = json!({"type": "invalid_request_error", "code": code, "message": message, "param": param});
        Self {
            status: 400,
            error: error.to_string(),
            headers: Map::new(),
        }
    }

    /// That of a response with an error status. A body that is not of the protocol becomes the message.
    pub fn from_response(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let error = skim::find(body, &["error"]).map(|error| &body[error]);
        let error = error.and_then(|error| std::str::from_utf8(error).ok());
        let is_object =
            |error: &&str| error.starts_with('{') && serde_json::from_str::<Value>(error).is_ok();
        let error = error.filter(is_object).map(str::to_owned);
        let error = error.unwrap_or_else(|| {
            let message = String::from_utf8_lossy(body);
            let class = match status.is_server_error() {
                true => "server_error",
                false => "invalid_request_error",
            };
            json!({"type": class, "code": null, "message": message, "param": null}).to_string()
        });
        let named = headers
            .iter()
            .filter(|(name, _)| !FRAMING.contains(name))
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        Self {
            status: status.as_u16(),
            error,
            headers: named
                .map(|(name, value)| (name.to_owned(), value.into()))
                .collect(),
        }
    }

    /// That of a response to a request that continues another one: a client that gets this code sends the whole conversation.
    pub fn from_continued_response(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let text = |name: &str| skim::find_string(body, &["error", name]);
        let is_unknown =
            text("code") == Some(FaultKind::UnknownId.code()) && text("param") == Some(PREVIOUS);
        match text("message").filter(|_| is_unknown) {
            Some(message) => Self::not_found(message),
            None => Self::from_response(status, headers, body),
        }
    }

    /// The response that a request continues is not known, or not any more.
    pub fn not_found(message: &str) -> Self {
        Self::for_code("previous_response_not_found", message, Some(PREVIOUS))
    }

    /// That of an `error` event in a stream, whose members stand beside its type; `None` if it is not an object.
    pub fn from_stream_event(data: &[u8]) -> Option<Self> {
        let Ok(Value::Object(mut event)) = serde_json::from_slice(data) else {
            return None;
        };
        let error = match event.remove("error") {
            Some(Value::Object(error)) => Value::Object(error),
            _ => json!({
                "type": "server_error",
                "code": event.remove("code"),
                "message": event.remove("message").unwrap_or_else(|| "the response broke off".into()),
                "param": event.remove("param"),
            }),
        };
        Some(Self {
            status: 502,
            error: error.to_string(),
            headers: Map::new(),
        })
    }

    /// The text of the message that carries it.
    pub fn encode(&self, stream: Option<&StreamId>) -> Bytes {
        let Self {
            status,
            error,
            headers,
        } = self;
        let mut text = format!(r#"{{"type":"error","status":{status},"error":{error}"#);
        // Writing to memory does not fail.
        if !headers.is_empty() {
            let _ = write!(text, r#","headers":{}"#, Value::from(headers.clone()));
        }
        if let Some(stream) = stream {
            let _ = write!(text, r#","stream_id":"{stream}""#);
        }
        text.push('}');
        text.into()
    }
}
