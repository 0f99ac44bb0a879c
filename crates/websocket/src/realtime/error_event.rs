//! The gateway's own errors in a session: `{"type": "error", "event_id": …, "error": {…}}`, as OpenAI's reference of server
//! events defines it.

use bytes::Bytes;
use headgate_protocol::Protocol;
use headgate_protocol::fault::Fault;
use headgate_protocol::hex::HexDisplay;
use serde_json::{Value, json};

/// An error of a session.
#[derive(Debug)]
pub struct RealtimeError(serde_json::Map<String, Value>);

impl RealtimeError {
    /// That of a fault, in the words of its HTTP response.
    pub fn from_fault(fault: &Fault) -> Self {
        let errors = &Protocol::descriptor_for(None).errors;
        Self::from_body(&errors.render(fault, ""))
    }

    /// That of an error response with this body.
    pub fn from_body(body: &[u8]) -> Self {
        let parsed = serde_json::from_slice(body).unwrap_or(Value::Null);
        match parsed {
            Value::Object(mut members) => match members.remove("error") {
                Some(Value::Object(error)) => Self(error),
                _ => Self(members),
            },
            _ => {
                let message = String::from_utf8_lossy(body).into_owned();
                let error = [("type", "server_error".to_owned()), ("message", message)];
                let members = error.map(|(name, value)| (name.to_owned(), value.into()));
                Self(members.into_iter().collect())
            }
        }
    }

    /// The text of the message that carries it; `event_id` is that of the client's event that caused it.
    pub fn encode(mut self, event_id: Option<&str>) -> Bytes {
        self.0.insert("event_id".to_owned(), event_id.into());
        let mut random = [0; 10];
        // An id that is not unique is better than no error.
        let _ = getrandom::fill(&mut random);
        let id = format!("event_{}", HexDisplay(&random));
        let event = json!({"type": "error", "event_id": id, "error": self.0});
        event.to_string().into()
    }
}
