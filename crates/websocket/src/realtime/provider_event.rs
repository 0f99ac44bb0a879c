//! What the gateway reads of a provider's events: where responses begin and end, and what was refused.

use bytes::Bytes;
use headgate_protocol::json::skim;
use serde_json::json;

/// An event of a provider.
#[derive(Debug, PartialEq, Eq)]
pub enum ProviderEvent<'m> {
    /// `response.created`
    Created {
        id: &'m str,
    },
    /// `response.done`, which has the usage.
    Done {
        id: &'m str,
    },
    /// `error`, with the id of the client's event that it is about.
    Error {
        event_id: Option<&'m str>,
    },
    Other,
}

impl<'m> ProviderEvent<'m> {
    pub fn read(message: &'m [u8]) -> Self {
        let text = |path: &[&str]| {
            let value = skim::find(message, path)?;
            skim::plain_string(message, value)
        };
        let id = || text(&["response", "id"]).unwrap_or_default();
        match text(&["type"]) {
            Some("response.created") => Self::Created { id: id() },
            Some("response.done") => Self::Done { id: id() },
            Some("error") => Self::Error {
                event_id: text(&["error", "event_id"]),
            },
            _ => Self::Other,
        }
    }

    /// The client's event that stops a response.
    pub fn cancel(id: &str) -> Bytes {
        let cancel = json!({"type": "response.cancel", "response_id": id});
        cancel.to_string().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_and_refusals_are_recognised_wherever_the_type_stands() {
        for (message, event) in [
            (
                r#"{"type":"response.created","response":{"id":"resp_1"}}"#,
                ProviderEvent::Created { id: "resp_1" },
            ),
            (
                r#"{"response":{"usage":{},"id":"resp_1"},"type":"response.done"}"#,
                ProviderEvent::Done { id: "resp_1" },
            ),
            (
                r#"{"type":"error","event_id":"event_9","error":{"event_id":"mine"}}"#,
                ProviderEvent::Error {
                    event_id: Some("mine"),
                },
            ),
            (
                r#"{"type":"error","error":{"event_id":null}}"#,
                ProviderEvent::Error { event_id: None },
            ),
            (
                r#"{"type":"response.output_text.delta","delta":"\"type\":\"response.done\""}"#,
                ProviderEvent::Other,
            ),
            ("no JSON", ProviderEvent::Other),
        ] {
            assert_eq!(ProviderEvent::read(message.as_bytes()), event, "{message}");
        }
        assert_eq!(
            ProviderEvent::cancel("r\"1"),
            r#"{"response_id":"r\"1","type":"response.cancel"}"#
        );
    }
}
