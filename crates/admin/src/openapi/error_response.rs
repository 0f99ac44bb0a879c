//! Error responses: their formats, and which of them a route has.

use super::component::{ComponentSchemas, reference};
use headgate_protocol::Protocol;
use headgate_protocol::error_body::ErrorShape;
use headgate_protocol::fault::{Fault, FaultKind};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The format of error bodies that one protocol or several have: the first of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct ErrorFormat(&'static ErrorShape);

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
}

impl ErrorFormat {
    /// The format of a route.
    pub fn for_route(protocol: Option<Protocol>) -> Self {
        Self(&Protocol::descriptor_for(protocol).errors)
    }

    /// One format of each schema: those of the built-in protocols, and of these.
    pub fn all(declared: impl IntoIterator<Item = Protocol>) -> impl Iterator<Item = Self> {
        let formats = Protocol::BUILT_IN.iter().copied().chain(declared);
        let formats = formats.map(|protocol| Self::for_route(Some(protocol)));
        let mut seen = Vec::new();
        formats.filter(move |format| {
            let is_new = !seen.contains(&format.schema_name());
            seen.push(format.schema_name());
            is_new
        })
    }

    /// References to the errors that a route has, by status.
    pub fn references(self, conditions: RouteErrorConditions) -> Vec<(String, Value)> {
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

    /// The error responses of these formats.
    pub fn responses(formats: &[Self]) -> Map<String, Value> {
        let formats = formats.iter().copied();
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
        self.0.status(&Fault::new(kind, ""))
    }

    fn schema_name(self) -> &'static str {
        self.0.schema_name
    }

    fn response_name(self, status: u16) -> String {
        format!("{}{status}", self.schema_name())
    }
}

impl RouteErrorConditions {
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
            | FaultKind::NoCredential
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

/// The schemas of the error bodies of these formats.
pub(super) fn add_schemas(formats: &[ErrorFormat], schemas: &mut ComponentSchemas) {
    for format in formats {
        schemas.add(format.schema_name(), format.0.body_schema());
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
