//! Error responses: their formats, and which of them a route has.

use super::component::{ComponentSchemas, reference};
use headgate_protocol::Protocol;
use headgate_protocol::error_body::ErrorShape;
use headgate_protocol::fault::{Fault, FaultKind};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The schema of errors of routes without a protocol.
const DETECTED_NAME: &str = "DetectedError";

/// The format of error bodies that one protocol or several have, or that of routes without a protocol.
#[derive(Clone, Debug)]
pub(super) struct ErrorFormat {
    /// The name of the schema.
    name: &'static str,
    /// The shape; on routes without a protocol one of these, by the headers of the request.
    shapes: Vec<&'static ErrorShape>,
}

/// What of a route determines which errors it has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RouteErrorConditions {
    pub authenticates: bool,
    pub has_json_body: bool,
    pub takes_body: bool,
    pub names_model: bool,
    pub has_ids: bool,
    pub makes_once: bool,
    pub cancels: bool,
    pub calls_services: bool,
    pub asks_provider: bool,
    pub is_refused: bool,
    pub checks_content_type: bool,
}

impl ErrorFormat {
    /// The format of a route.
    pub fn for_route(protocol: Option<Protocol>) -> Self {
        let shape = &Protocol::descriptor_for(protocol).errors;
        match protocol {
            Some(_) => Self {
                name: shape.schema_name,
                shapes: vec![shape],
            },
            None => {
                let detectable = Protocol::detectable().map(|known| &known.descriptor().errors);
                Self {
                    name: DETECTED_NAME,
                    shapes: [shape].into_iter().chain(detectable).collect(),
                }
            }
        }
    }

    /// One format of each schema: those of the built-in protocols, of these, and of routes without a protocol.
    pub fn all(declared: impl IntoIterator<Item = Protocol>) -> impl Iterator<Item = Self> {
        let formats = Protocol::BUILT_IN.iter().copied().chain(declared);
        let formats = formats.map(|protocol| Self::for_route(Some(protocol)));
        let formats = formats.chain([Self::for_route(None)]);
        let mut seen = Vec::new();
        formats.filter(move |format| {
            let is_new = !seen.contains(&format.name);
            seen.push(format.name);
            is_new
        })
    }

    /// References to the errors that a route has, by status.
    pub fn references(&self, conditions: RouteErrorConditions) -> Vec<(String, Value)> {
        let kinds = FaultKind::ALL.into_iter();
        let mut statuses: Vec<u16> = kinds
            .filter(|kind| conditions.allow(*kind))
            .flat_map(|kind| self.statuses(kind))
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

    /// The error responses of these formats.
    pub fn responses(formats: &[Self]) -> Map<String, Value> {
        let formats = formats.iter();
        formats.flat_map(Self::responses_of_format).collect()
    }

    fn responses_of_format(&self) -> Vec<(String, Value)> {
        let mut codes: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
        for kind in FaultKind::ALL.into_iter().filter(|kind| is_sent(*kind)) {
            for status in self.statuses(kind) {
                let of_status = codes.entry(status).or_default();
                if !of_status.contains(&kind.code()) {
                    of_status.push(kind.code());
                }
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
                "content": {"application/json": {"schema": reference(self.name)}}
            });
            (self.response_name(status), response)
        };
        codes.into_iter().map(response).collect()
    }

    /// The status of a kind of fault, in each of the shapes.
    fn statuses(&self, kind: FaultKind) -> impl Iterator<Item = u16> {
        let fault = Fault::new(kind, "");
        self.shapes.iter().map(move |shape| shape.status(&fault))
    }

    fn schema(&self) -> Value {
        if let [only] = self.shapes[..] {
            return only.body_schema();
        }
        let mut names: Vec<&str> = Vec::new();
        for shape in &self.shapes {
            if !names.contains(&shape.schema_name) {
                names.push(shape.schema_name);
            }
        }
        let schemas: Vec<Value> = names.into_iter().map(reference).collect();
        json!({
            "description": "In the format of the protocol whose headers the request has.",
            "anyOf": schemas
        })
    }

    fn response_name(&self, status: u16) -> String {
        format!("{}{status}", self.name)
    }
}

impl RouteErrorConditions {
    fn allow(self, kind: FaultKind) -> bool {
        match kind {
            FaultKind::Unauthenticated | FaultKind::Forbidden => self.authenticates,
            FaultKind::TooManyRequests | FaultKind::TooManyTokens | FaultKind::OverBudget => {
                self.authenticates
            }
            FaultKind::BadJson | FaultKind::Invalid | FaultKind::Missing => self.has_json_body,
            FaultKind::UnsupportedMedia => self.has_json_body || self.checks_content_type,
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
            | FaultKind::NoCredential
            | FaultKind::Upstream
            | FaultKind::UnreadableResponse
            | FaultKind::UpstreamTimeout => self.asks_provider,
            // Errors of requests that no route takes.
            FaultKind::NoRoute => self.is_refused,
            FaultKind::MethodNotAllowed | FaultKind::UpgradeRequired => false,
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

/// The schemas of the error bodies of these formats.
pub(super) fn add_schemas(formats: &[ErrorFormat], schemas: &mut ComponentSchemas) {
    for format in formats {
        schemas.add(format.name, format.schema());
    }
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
