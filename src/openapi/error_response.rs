//! Error responses: their formats, and which of them a route has.

use super::component::{ComponentSchemas, reference};
use crate::protocol::Protocol;
use crate::protocol::error_body;
use crate::protocol::fault::{Fault, FaultKind};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The formats of error bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorFormat {
    Chat,
    Messages,
    FamilyB,
}

/// What of a route determines which errors it has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ErrorConditions {
    pub authenticates: bool,
    pub has_json_body: bool,
    pub takes_body: bool,
    pub names_model: bool,
    pub has_ids: bool,
    pub makes_once: bool,
    pub cancels: bool,
    pub calls_services: bool,
    pub asks_provider: bool,
}

impl ErrorFormat {
    const ALL: [Self; 3] = [Self::Chat, Self::Messages, Self::FamilyB];

    pub fn of(protocol: Option<Protocol>) -> Self {
        match protocol {
            Some(Protocol::Messages) => Self::Messages,
            Some(Protocol::FamilyB) => Self::FamilyB,
            Some(
                Protocol::Chat
                | Protocol::Responses
                | Protocol::ImageEdit
                | Protocol::Video
                | Protocol::FamilyA,
            )
            | None => Self::Chat,
        }
    }

    /// References to the errors that a route has, by status.
    pub fn references(self, conditions: ErrorConditions) -> Vec<(String, Value)> {
        let kinds = FaultKind::ALL.into_iter();
        let mut statuses: Vec<u16> = kinds
            .filter(|kind| conditions.allow(*kind))
            .map(|kind| self.status(kind))
            .collect();
        statuses.sort_unstable();
        statuses.dedup();
        let reference = |status| {
            let name = self.response_name(status);
            let response = json!({"$ref": format!("#/components/responses/{name}")});
            (status.to_string(), response)
        };
        statuses.into_iter().map(reference).collect()
    }

    /// The error responses of all formats.
    pub fn responses() -> Map<String, Value> {
        let formats = Self::ALL.into_iter();
        formats.flat_map(Self::responses_of_format).collect()
    }

    fn responses_of_format(self) -> Vec<(String, Value)> {
        let mut codes: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
        for kind in FaultKind::ALL.into_iter().filter(|kind| is_sent(*kind)) {
            let of_status = codes.entry(self.status(kind)).or_default();
            if !of_status.contains(&kind.code()) {
                of_status.push(kind.code());
            }
        }
        let response = |(status, codes): (u16, Vec<&str>)| {
            let codes = codes.join("`, `");
            let mut headers = Map::new();
            for name in ["x-request-id", "retry-after", "x-should-retry"] {
                headers.insert(
                    name.to_owned(),
                    json!({"$ref": format!("#/components/headers/{name}")}),
                );
            }
            let response = json!({
                "description": format!("Codes of the gateway: `{codes}`. See docs/errors.md."),
                "headers": headers,
                "content": {"application/json": {"schema": reference(self.schema_name())}}
            });
            (self.response_name(status), response)
        };
        codes.into_iter().map(response).collect()
    }

    fn status(self, kind: FaultKind) -> u16 {
        let protocol = match self {
            Self::Chat => Protocol::Chat,
            Self::Messages => Protocol::Messages,
            Self::FamilyB => Protocol::FamilyB,
        };
        error_body::status(Some(protocol), &Fault::new(kind, ""))
    }

    fn schema_name(self) -> &'static str {
        match self {
            Self::Chat => "Error",
            Self::Messages => "MessagesError",
            Self::FamilyB => "FamilyBError",
        }
    }

    fn response_name(self, status: u16) -> String {
        format!("{}{status}", self.schema_name())
    }
}

impl ErrorConditions {
    fn allow(self, kind: FaultKind) -> bool {
        match kind {
            FaultKind::Unauthenticated | FaultKind::Forbidden => self.authenticates,
            FaultKind::TooManyRequests | FaultKind::TooManyTokens | FaultKind::OverBudget => {
                self.authenticates
            }
            FaultKind::BadJson
            | FaultKind::Invalid
            | FaultKind::Missing
            | FaultKind::UnsupportedMedia => self.has_json_body,
            FaultKind::TooLarge | FaultKind::RequestTimeout => self.takes_body,
            FaultKind::UnknownModel => self.names_model,
            FaultKind::UnknownId | FaultKind::Gone => self.has_ids,
            FaultKind::KeyReused
            | FaultKind::KeyInUse
            | FaultKind::AnswerNotKept
            | FaultKind::OutcomeUnknown => self.makes_once,
            FaultKind::NotCancellable => self.cancels,
            FaultKind::Denied(_) | FaultKind::CheckUnavailable => self.calls_services,
            FaultKind::NoChannel
            | FaultKind::Connect
            | FaultKind::Upstream
            | FaultKind::UnreadableResponse
            | FaultKind::UpstreamTimeout => self.asks_provider,
            // Errors of requests that no route takes.
            FaultKind::NoRoute | FaultKind::MethodNotAllowed | FaultKind::UpgradeRequired => false,
            FaultKind::ClientGone | FaultKind::WriteTimeout => false,
            FaultKind::BadHead
            | FaultKind::HeadTooLarge
            | FaultKind::BadHeader
            | FaultKind::Overloaded
            | FaultKind::Ending
            | FaultKind::Internal => true,
        }
    }
}

pub(super) fn add_schemas(schemas: &mut ComponentSchemas) {
    schemas.add(
        ErrorFormat::Chat.schema_name(),
        json!({
            "type": "object",
            "required": ["error"],
            "properties": {"error": {
                "type": "object",
                "required": ["message", "type"],
                "properties": {
                    "message": {"type": "string", "description": "What was expected, what was received, and what to do."},
                    "type": {"type": "string"},
                    "param": {"type": ["string", "null"], "description": "The field or header at fault."},
                    "code": {"type": ["string", "null"], "description": "See docs/errors.md; providers have others."}
                }
            }}
        }),
    );
    schemas.add(
        ErrorFormat::Messages.schema_name(),
        json!({
            "type": "object",
            "required": ["type", "error"],
            "properties": {
                "type": {"const": "error"},
                "error": {
                    "type": "object",
                    "required": ["type", "message"],
                    "properties": {"type": {"type": "string"}, "message": {"type": "string"}}
                },
                "request_id": {"type": ["string", "null"]}
            }
        }),
    );
    schemas.add(
        ErrorFormat::FamilyB.schema_name(),
        json!({
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "request_id": {"type": "string"}
            }
        }),
    );
}

/// The headers that responses refer to.
pub(super) fn headers() -> Value {
    json!({
        "x-request-id": {"description": "Identifies the request in the logs of the gateway.", "schema": {"type": "string"}},
        "retry-after": {"description": "Seconds to wait before the request is repeated.", "schema": {"type": "integer"}},
        "x-should-retry": {"description": "`false` if the request must not be repeated.", "schema": {"type": "string", "enum": ["false"]}}
    })
}

/// Whether callers get a response for it; other kinds are only logged.
fn is_sent(kind: FaultKind) -> bool {
    !matches!(kind, FaultKind::ClientGone | FaultKind::WriteTimeout)
}
