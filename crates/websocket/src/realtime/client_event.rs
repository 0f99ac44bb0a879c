//! What a client of a session sends: events for the provider, with the channel's name of the model.

use super::error_event::RealtimeError;
use super::session_model::SessionModel;
use bytes::Bytes;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{JsonDocument, JsonLimits};

/// Maximum number of characters of an event's type and id that are read.
const NAME_CHARACTERS_MAX: usize = 512;

/// The objects of events in which a client may name the model of the session.
const OBJECTS_WITH_MODEL: [&str; 2] = ["session", "response"];

/// An event of a client.
#[derive(Debug, PartialEq, Eq)]
pub enum RealtimeClientEvent {
    /// `response.create`
    Create {
        text: Bytes,
        event_id: Option<String>,
    },
    Other(Bytes),
}

impl RealtimeClientEvent {
    /// Reads a text message strictly, so that the provider reads no other event than the gateway.
    ///
    /// # Errors
    /// The message for the client, if this is no event, or one for another model.
    pub fn parse(text: Bytes, model: &SessionModel) -> Result<Self, Bytes> {
        let document = JsonDocument::parse(text, &JsonLimits::default())
            .map_err(|error| refusal(FaultKind::BadJson, error.to_string(), None, None))?;
        let root = document.root();
        let member = |name: &str| root.get(name)?.text_start(NAME_CHARACTERS_MAX);
        let event_id = member("event_id").map(|id| id.into_owned());
        let Some(kind) = member("type") else {
            let message = "the event has no `type`".to_owned();
            return Err(refusal(FaultKind::Missing, message, Some("type"), event_id));
        };
        let mut edits = JsonEdits::default();
        for object in OBJECTS_WITH_MODEL {
            let named = root.get(object).and_then(|object| object.get("model"));
            let Some(named) = named.filter(|named| !named.is_null()) else {
                continue;
            };
            if named.as_str().as_deref() != Some(&*model.name) {
                let message = format!(
                    "the model of this session is `{}`; leave `{object}.model` out, or connect again with another `model` in the query",
                    model.name
                );
                let param = format!("{object}.model");
                return Err(refusal(FaultKind::Invalid, message, Some(&param), event_id));
            }
            edits.replace(named.span(), model.channel_name.clone());
        }
        let session = root.get("session").and_then(|session| session.get("type"));
        let session = session.and_then(|kind| kind.text_start(NAME_CHARACTERS_MAX));
        if kind == "transcription_session.update" || session.as_deref() == Some("transcription") {
            let message = "sessions that only transcribe are not served here".to_owned();
            return Err(refusal(FaultKind::Invalid, message, Some("type"), event_id));
        }
        let text = edits.apply(document.body()).to_bytes();
        Ok(match &*kind {
            "response.create" => Self::Create { text, event_id },
            _ => Self::Other(text),
        })
    }
}

fn refusal(
    kind: FaultKind,
    message: String,
    param: Option<&str>,
    event_id: Option<String>,
) -> Bytes {
    let fault = Fault::new(kind, message);
    let fault = match param {
        Some(param) => fault.param(param),
        None => fault,
    };
    RealtimeError::from_fault(&fault).encode(event_id.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn model() -> SessionModel {
        SessionModel {
            name: "voice".to_owned(),
            channel_name: Bytes::from_static(br#""gpt-realtime""#),
        }
    }

    #[test]
    fn the_model_of_the_session_gets_the_channels_name() {
        for (event, sent) in [
            (
                r#"{"type":"session.update","session":{"model":"voice","type":"realtime"}}"#,
                r#"{"type":"session.update","session":{"model":"gpt-realtime","type":"realtime"}}"#,
            ),
            (
                r#"{ "type": "session.update", "session": {"audio": {"input": {"transcription": {"model": "whisper-1"}}}} }"#,
                r#"{ "type": "session.update", "session": {"audio": {"input": {"transcription": {"model": "whisper-1"}}}} }"#,
            ),
            (
                r#"{"type":"session.update","session":{"model":null}}"#,
                r#"{"type":"session.update","session":{"model":null}}"#,
            ),
            (
                r#"{"type":"input_audio_buffer.append","audio":"AAAA","model":"other"}"#,
                r#"{"type":"input_audio_buffer.append","audio":"AAAA","model":"other"}"#,
            ),
        ] {
            let parsed = RealtimeClientEvent::parse(event.into(), &model()).unwrap();
            assert_eq!(parsed, RealtimeClientEvent::Other(sent.into()));
        }
        let create = r#"{"type":"response.create","event_id":"e1","response":{"model":"voice"}}"#;
        let sent =
            r#"{"type":"response.create","event_id":"e1","response":{"model":"gpt-realtime"}}"#;
        assert_eq!(
            RealtimeClientEvent::parse(create.into(), &model()),
            Ok(RealtimeClientEvent::Create {
                text: sent.into(),
                event_id: Some("e1".to_owned())
            })
        );
    }

    #[test]
    fn what_is_no_event_of_the_session_is_refused_in_band() {
        for (event, code, param) in [
            ("[", "invalid_json", Value::Null),
            ("{}", "missing_required_parameter", json!("type")),
            (
                r#"{"type":"response.cancel","type":"session.update"}"#,
                "invalid_json",
                Value::Null,
            ),
            (
                r#"{"type":"session.update","session":{"model":"gpt-realtime"}}"#,
                "invalid_value",
                json!("session.model"),
            ),
            (
                r#"{"type":"session.update","session":{"type":"transcription"}}"#,
                "invalid_value",
                json!("type"),
            ),
            (
                r#"{"type":"response.create","response":{"model":7}}"#,
                "invalid_value",
                json!("response.model"),
            ),
        ] {
            let refusal = RealtimeClientEvent::parse(event.into(), &model()).unwrap_err();
            let refusal: Value = serde_json::from_slice(&refusal).unwrap();
            assert_eq!(refusal["type"], "error", "{event}");
            assert_eq!(
                (&refusal["error"]["code"], &refusal["error"]["param"]),
                (&json!(code), &param),
                "{refusal}"
            );
        }
    }
}
