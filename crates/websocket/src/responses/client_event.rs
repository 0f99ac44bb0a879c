//! What a client of the responses protocol sends over a WebSocket.

use super::error_event::ErrorEvent;
use super::response_create::ResponseCreate;
use super::stream_id::StreamId;
use bytes::Bytes;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits, ValueKind};

/// Maximum number of characters of an unknown event's name in an error.
const NAME_SHOWN_MAX: usize = 64;

/// An event of a client.
#[derive(Debug)]
pub enum ClientEvent {
    Create(ResponseCreate),
    /// The client has processed a response; nothing is to be done.
    Processed,
}

/// An event that cannot be carried out, as the message that the client gets.
#[derive(Debug)]
pub struct InvalidEvent(pub Bytes);

impl ClientEvent {
    /// Reads a text message.
    ///
    /// # Errors
    /// It is no event that the gateway carries out.
    pub fn parse(text: Bytes) -> Result<Self, InvalidEvent> {
        let document = JsonDocument::parse(text, &JsonLimits::default())
            .map_err(|error| invalid(None, FaultKind::BadJson, error.to_string(), None))?;
        let root = document.root();
        let stream = match root.get("stream_id").filter(|id| !id.is_null()) {
            None => None,
            Some(id) => Some(stream_id(id)?),
        };
        let kind = root
            .get("type")
            .and_then(|kind| kind.text_start(NAME_SHOWN_MAX));
        match kind.as_deref() {
            Some("response.create") => {}
            Some("response.processed") => return Ok(Self::Processed),
            Some("response.steer") => return Err(steer_refusal(&document, stream.as_ref())),
            Some(other) => {
                let message = format!("`{other}` is no event of this path; send `response.create`");
                return Err(invalid(stream, FaultKind::Invalid, message, Some("type")));
            }
            None => {
                let message = "the event has no `type`; send `response.create`".to_owned();
                return Err(invalid(stream, FaultKind::Missing, message, Some("type")));
            }
        }
        Ok(Self::Create(ResponseCreate::new(document, stream)))
    }
}

fn stream_id(id: DocumentNode<'_>) -> Result<StreamId, InvalidEvent> {
    let text = id.as_str();
    text.and_then(|text| StreamId::parse(&text)).ok_or_else(|| {
        let message =
            "`stream_id` must have 1 to 256 ASCII letters, digits, underscores, hyphens or periods";
        let error = ErrorEvent::for_code("invalid_stream_id", message, Some("stream_id"));
        InvalidEvent(error.encode(None))
    })
}

/// Steering needs the provider's own WebSocket. The refusal returns the input, so that the client can send it again.
fn steer_refusal(document: &JsonDocument, stream: Option<&StreamId>) -> InvalidEvent {
    let root = document.root();
    let raw = |name: &str, kind: ValueKind| {
        let member = root.get(name).filter(|value| value.kind() == kind);
        member.map(|value| String::from_utf8_lossy(value.raw()).into_owned())
    };
    let previous = raw("previous_response_id", ValueKind::String);
    let input = raw("input", ValueKind::Array).or_else(|| raw("input", ValueKind::String));
    let named = stream.map(|stream| format!(r#","stream_id":"{stream}""#));
    let error = format!(
        r#"{{"type":"response.steer.failed","sequence_number":0,"error":{{"type":"invalid_request_error","code":"steering_not_supported","message":"this gateway does not steer responses that run; send the input with the next `response.create`"}},"steer":{{"previous_response_id":{},"input":{}}}{}}}"#,
        previous.as_deref().unwrap_or(r#""""#),
        input.as_deref().unwrap_or(r#""""#),
        named.unwrap_or_default(),
    );
    InvalidEvent(error.into())
}

fn invalid(
    stream: Option<StreamId>,
    kind: FaultKind,
    message: String,
    param: Option<&str>,
) -> InvalidEvent {
    let fault = Fault::new(kind, message);
    let fault = match param {
        Some(param) => fault.param(param),
        None => fault,
    };
    InvalidEvent(ErrorEvent::from_fault(&fault).encode(stream.as_ref()))
}
