//! Expressions in the settings of filters, and what they read of an exchange.

use super::descriptor::InvalidSettings;
use super::view::{AttemptView, EventView, RequestView, ResponseView};
use crate::catalog::model::Candidate;
use bytes::Bytes;
use headgate_expression::{
    CompileError, DocumentKind, EvaluationError, EvaluationPhase, Expression, ExpressionReference,
    ExpressionValueSource, IpAddr, MapVariable, ValueOrigin, Variable,
};
use headgate_protocol::credential_names::{decoded, names_credential};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::header_policy::query_for_provider;
use headgate_protocol::json::{DocumentNode, JsonDocument};
use http::{HeaderMap, StatusCode};
use std::borrow::Cow;

/// An expression in a filter's settings.
#[derive(Clone)]
pub struct FilterExpression(Expression);

/// Names that filters set, in computed values that are evaluated before a channel is tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequiredValueNames {
    pub caller: bool,
    pub model: bool,
}

/// What expressions read of an exchange at one moment.
#[derive(Clone, Copy)]
pub struct ExchangeValues<'a> {
    request: &'a RequestView,
    candidate: Option<&'a Candidate>,
    response: Option<(StatusCode, &'a HeaderMap)>,
    response_body: Option<&'a JsonDocument>,
    event: Option<(&'a str, Option<&'a JsonDocument>)>,
}

impl FilterExpression {
    /// Compiles the text of a setting; it may use the names that are known in the phase `available`.
    ///
    /// # Errors
    /// What is wrong, with line and column within the text.
    pub fn compile(text: &str, available: EvaluationPhase) -> Result<Self, InvalidSettings> {
        let compiled = Expression::compile(text, available);
        compiled.map(Self).map_err(|error| invalid(text, error))
    }

    /// As [`Self::compile`], for a condition.
    ///
    /// # Errors
    /// As [`Self::compile`], or the value cannot be a boolean.
    pub fn compile_condition(
        text: &str,
        available: EvaluationPhase,
    ) -> Result<Self, InvalidSettings> {
        let compiled = Expression::compile_condition(text, available);
        compiled.map(Self).map_err(|error| invalid(text, error))
    }

    /// As [`Self::compile`], for a text.
    ///
    /// # Errors
    /// As [`Self::compile`], or the value cannot be a string, a number or a boolean.
    pub fn compile_text(text: &str, available: EvaluationPhase) -> Result<Self, InvalidSettings> {
        let compiled = Expression::compile_text(text, available);
        compiled.map(Self).map_err(|error| invalid(text, error))
    }

    /// The expression without its place in a filter.
    pub fn into_expression(self) -> Expression {
        self.0
    }

    /// The text as written.
    pub fn text(&self) -> &str {
        self.0.text()
    }

    /// The earliest phase that knows every name of the expression.
    pub fn phase(&self) -> EvaluationPhase {
        self.0.phase()
    }

    pub fn names(&self, variable: Variable) -> bool {
        self.0.names(variable)
    }

    /// Where the value of the expression comes from.
    pub fn origin(&self) -> ValueOrigin {
        self.0.origin()
    }

    /// The names that the expression reads.
    pub fn references(&self) -> Vec<ExpressionReference<'_>> {
        self.0.references()
    }

    /// Whether the expression reads this document by pointers.
    pub fn reads(&self, document: DocumentKind) -> bool {
        self.0.reads(document)
    }

    /// Whether the expression needs the whole body of the request.
    pub fn reads_request_body(&self) -> bool {
        self.reads(DocumentKind::Request) || self.names(Variable::RequestSize)
    }

    /// The value of a condition.
    ///
    /// # Errors
    /// The value is no boolean, or the expression cannot be evaluated; without values of the request.
    pub fn is_true(&self, values: ExchangeValues<'_>) -> Result<bool, EvaluationError> {
        self.0.is_true(&values)
    }

    /// The value as JSON text.
    ///
    /// # Errors
    /// As [`Self::is_true`].
    pub fn json(&self, values: ExchangeValues<'_>) -> Result<Bytes, EvaluationError> {
        self.0.json(&values)
    }

    /// The value as text.
    ///
    /// # Errors
    /// As [`Self::is_true`], and for lists, maps and null.
    pub fn text_value(&self, values: ExchangeValues<'_>) -> Result<String, EvaluationError> {
        self.0.text_value(&values)
    }

    /// The names that the expression reads and their values, shortened, for `headgate explain`.
    pub fn observed(&self, values: ExchangeValues<'_>) -> Vec<(String, String)> {
        self.0.observed(&values)
    }
}

impl RequiredValueNames {
    /// The names of these expressions.
    pub fn from_expressions<'e>(expressions: impl Iterator<Item = &'e FilterExpression>) -> Self {
        expressions.fold(Self::default(), |names, expression| Self {
            caller: names.caller || expression.names(Variable::Caller),
            model: names.model || expression.names(Variable::Model),
        })
    }
}

/// The error for a request of which an expression cannot be evaluated; `place` names the expression in the log.
pub fn evaluation_fault(place: &str, error: &EvaluationError) -> Fault {
    Fault::new(
        FaultKind::Internal,
        "internal error: an expression in the configuration of this route could not be evaluated",
    )
    .detail(format!("{place}: {}", error.message))
}

impl<'a> ExchangeValues<'a> {
    /// Before an attempt.
    pub fn for_request(request: &'a RequestView) -> Self {
        Self {
            request,
            candidate: None,
            response: None,
            response_body: None,
            event: None,
        }
    }

    /// In an attempt, before the request is sent.
    pub fn for_attempt(request: &'a RequestView, attempt: &'a AttemptView) -> Self {
        Self {
            candidate: Some(&attempt.candidate),
            ..Self::for_request(request)
        }
    }

    /// With the head of a response.
    pub fn for_response(response: &'a ResponseView<'_>) -> Self {
        Self {
            candidate: response.candidate,
            response: Some((response.status, response.headers)),
            ..Self::for_request(response.request)
        }
    }

    /// With one event of a stream; `data` is its data as JSON.
    pub fn for_event(event: &'a EventView<'_>, data: Option<&'a JsonDocument>) -> Self {
        Self {
            candidate: event.candidate,
            event: Some((event_type(event), data)),
            ..Self::for_request(event.request)
        }
    }

    pub fn request(&self) -> &'a RequestView {
        self.request
    }

    /// With the body of the response.
    pub fn with_response_body(self, body: &'a JsonDocument) -> Self {
        Self {
            response_body: Some(body),
            ..self
        }
    }
}

impl ExpressionValueSource for ExchangeValues<'_> {
    fn text(&self, variable: Variable) -> Option<Cow<'_, str>> {
        let request = self.request;
        let text = match variable {
            Variable::RequestId => &*request.id,
            Variable::Method => request.method.as_str(),
            Variable::Path => &request.path,
            Variable::QueryString => return visible_query(request),
            Variable::Route => &request.route,
            Variable::Protocol => request.protocol?.name(),
            Variable::Caller => &request.caller.as_ref()?.name,
            Variable::Model => &request.model()?.name,
            Variable::Channel => &self.candidate?.channel.name,
            Variable::ChannelModel => &self.candidate?.model.as_ref()?.name,
            Variable::EventType => self.event?.0,
            _ => return None,
        };
        Some(text.into())
    }

    fn number(&self, variable: Variable) -> Option<i64> {
        let info = &self.request.info;
        let usage = || info.usage.counted();
        let number = match variable {
            Variable::RequestSize => self.request.body.len() as u64,
            Variable::Attempt => u64::from(info.attempt),
            Variable::Status => u64::from(self.response?.0.as_u16()),
            Variable::ResponseSize => self.response_body?.body().len() as u64,
            Variable::UsageInputTokens => usage()?.input_tokens?,
            Variable::UsageOutputTokens => usage()?.output_tokens?,
            Variable::UsageTotalTokens => usage()?.total(),
            _ => return None,
        };
        i64::try_from(number).ok()
    }

    fn entry(&self, map: MapVariable, key: &str) -> Option<Cow<'_, str>> {
        let value = match map {
            MapVariable::RequestHeaders if names_credential(key.as_bytes()) => None,
            MapVariable::RequestHeaders => self.request.header(key),
            MapVariable::RequestParams => self.request.param(key),
            MapVariable::RequestQuery => {
                return query_value(&visible_query(self.request)?, key).map(Cow::Owned);
            }
            MapVariable::ResponseHeaders => self.response?.1.get(key)?.to_str().ok(),
        };
        value.map(Cow::Borrowed)
    }

    fn address(&self) -> Option<IpAddr> {
        self.request.client.map(|client| client.address)
    }

    fn document(&self, kind: DocumentKind) -> Option<DocumentNode<'_>> {
        let document = match kind {
            DocumentKind::Request => self.request.body.document(),
            DocumentKind::Response => self.response_body,
            DocumentKind::Event => self.event?.1,
        };
        document.map(JsonDocument::root)
    }

    fn request_id(&self) -> &str {
        &self.request.id
    }
}

fn event_type<'a>(event: &EventView<'a>) -> &'a str {
    let name = event.event.name().unwrap_or_default();
    std::str::from_utf8(name).unwrap_or_default()
}

/// The query without members that carry credentials.
fn visible_query(request: &RequestView) -> Option<Cow<'_, str>> {
    let query = request.query.as_deref()?;
    Some(query_for_provider(query, &request.headers))
}

/// The first value of a query member, percent-decoded.
fn query_value(query: &str, key: &str) -> Option<String> {
    let text = |encoded: &str| {
        let bytes: Vec<u8> = decoded(encoded.as_bytes()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let mut members = query
        .split('&')
        .map(|member| member.split_once('=').unwrap_or((member, "")));
    let (_, value) = members.find(|(name, _)| text(name) == key)?;
    Some(text(value))
}

fn invalid(text: &str, error: CompileError) -> InvalidSettings {
    let invalid = InvalidSettings::new(error.describe(text));
    match error.hint {
        Some(hint) => invalid.hint(hint),
        None => invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue, Method};

    #[test]
    fn a_query_is_read_without_its_credentials() {
        let key = HeaderValue::from_static("Bearer sk-of-the-caller");
        let headers = HeaderMap::from_iter([(HeaderName::from_static("authorization"), key)]);
        for (query, text, value) in [
            ("a=1&b=2", "a=1&b=2", "1"),
            ("api_key=sk-x&a=1", "a=1", "1"),
            ("a=1&ApiKey=sk-x&b=", "a=1&b=", "1"),
            ("a=1&%61pi-key=sk-x", "a=1", "1"),
            ("a=1;token=sk-x", "a=1", "1"),
            ("a=sk-of-the-caller&b=2", "b=2", ""),
            ("sig=x", "", ""),
        ] {
            let (method, path) = (Method::GET, "/".to_owned());
            let headers = headers.clone();
            let query_text = Some(query.to_owned());
            let request =
                RequestView::new("id".into(), method, path, query_text, headers, vec![], None);
            for (expression, expected) in [
                ("request.query_string", text),
                ("request.query[\"a\"]", value),
                ("request.query[\"api_key\"]", ""),
                ("request.query[\"token\"]", ""),
            ] {
                let compiled = FilterExpression::compile(expression, EvaluationPhase::Head);
                let compiled = compiled.unwrap_or_else(|invalid| panic!("{}", invalid.reason));
                let read = compiled.text_value(ExchangeValues::for_request(&request));
                assert_eq!(
                    read.ok().as_deref(),
                    Some(expected),
                    "{expression} of {query}"
                );
            }
        }
    }
}
