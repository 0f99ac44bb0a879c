//! What the gateway reads of a provider's events: where responses begin and end, and what was refused.

use bytes::Bytes;
use headgate_protocol::json::skim;
use serde_json::json;
use std::borrow::Cow;

/// An event of a provider.
#[derive(Debug, PartialEq, Eq)]
pub enum ProviderEvent<'m> {
    /// `response.created`
    Created {
        id: Cow<'m, str>,
    },
    /// A piece of the content of a response.
    Delta {
        id: Cow<'m, str>,
    },
    /// `response.done`, which has the usage.
    Done {
        id: Cow<'m, str>,
    },
    /// `error`, with the id of the client's event that it is about.
    Error {
        event_id: Option<Cow<'m, str>>,
    },
    Other,
}

impl<'m> ProviderEvent<'m> {
    pub fn read(message: &'m [u8]) -> Self {
        let text = |path: &[&str]| string(message, path);
        let id = |path: &[&str]| text(path).unwrap_or_default();
        match text(&["type"]).as_deref() {
            Some("response.created") => Self::Created {
                id: id(&["response", "id"]),
            },
            Some("response.done") => Self::Done {
                id: id(&["response", "id"]),
            },
            Some("error") => Self::Error {
                event_id: text(&["error", "event_id"]),
            },
            Some(kind) if kind.starts_with("response.") && kind.ends_with(".delta") => {
                Self::Delta {
                    id: id(&["response_id"]),
                }
            }
            _ => Self::Other,
        }
    }

    /// The client's event that stops a response.
    pub fn cancel(id: &str) -> Bytes {
        let cancel = json!({"type": "response.cancel", "response_id": id});
        cancel.to_string().into()
    }
}

/// The text of a member, also one that is written with escapes.
fn string<'m>(message: &'m [u8], path: &[&str]) -> Option<Cow<'m, str>> {
    let value = skim::find(message, path)?;
    if let Some(plain) = skim::plain_string(message, value.clone()) {
        return Some(plain.into());
    }
    let decoded: String = serde_json::from_slice(&message[value]).ok()?;
    Some(decoded.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_and_refusals_are_recognised_wherever_the_type_stands() {
        for (message, event) in [
            (
                r#"{"type":"response.created","response":{"id":"resp_1"}}"#,
                ProviderEvent::Created {
                    id: "resp_1".into(),
                },
            ),
            (
                r#"{"response":{"usage":{},"id":"resp_1"},"type":"response.done"}"#,
                ProviderEvent::Done {
                    id: "resp_1".into(),
                },
            ),
            (
                r#"{"type":"error","event_id":"event_9","error":{"event_id":"mine"}}"#,
                ProviderEvent::Error {
                    event_id: Some("mine".into()),
                },
            ),
            (
                r#"{"type":"error","error":{"event_id":null}}"#,
                ProviderEvent::Error { event_id: None },
            ),
            (
                r#"{"type":"response.\u0064one","response":{"id":"resp_1"}}"#,
                ProviderEvent::Done {
                    id: "resp_1".into(),
                },
            ),
            (
                r#"{"type":"response.output_text.delta","delta":"\"type\":\"response.done\"","response_id":"resp_1"}"#,
                ProviderEvent::Delta {
                    id: "resp_1".into(),
                },
            ),
            (
                r#"{"type":"conversation.item.added"}"#,
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
