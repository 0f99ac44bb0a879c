//! `reply`: replies with a fixed or computed response: maintenance, deprecation, mocks, redirects.

mod content;
mod location;

use super::computed_value::{TextOrExpression, latest_phase, pointer_to};
use content::{ReplyContent, ReplyContentConfig, ReplyErrorConfig, ReplyEventConfig, placed};
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterProvision, InvalidSettings, read_settings,
    settings_schema,
};
use headgate_core::filter::expression::{
    ExchangeValues, FilterExpression, RequiredValueNames, evaluation_fault,
};
use headgate_core::filter::header_name::{header_name, header_value, invalid_value};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, FilterDeclaration, HookResult, LocalReply};
use headgate_core::scalar::text_or_expression::TextOrExpressionConfig;
use headgate_expression::{EvaluationError, EvaluationPhase};
use headgate_protocol::fault::Fault;
use http::{HeaderMap, HeaderName, StatusCode, header};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "reply",
    summary: "Replies itself: `status`, `headers`, and `body`, `json`, `events`, an `error` in the format of the protocol, or a redirect to `location`.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        provides: &[FilterProvision::Reply],
        ..FilterChainRules::CHECK
    },
    settings: Some(settings_schema::<ReplyConfig>),
    bare: false,
    build: |settings, _| Ok(Arc::new(ReplyFilter::build(read_settings(settings)?)?)),
};

/// Settings of `reply`. Texts and parts of JSON values may be `{cel: …}`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReplyConfig {
    /// Status, 200 to 599; from 400 with `error`. With 204, 205 and 304 the reply has no body. Default: 200, or 307
    /// with `location`.
    status: Option<u16>,
    /// Headers of the reply, by their names: texts of visible ASCII characters, spaces and tabs.
    #[serde(default)]
    headers: BTreeMap<String, TextOrExpressionConfig>,
    /// Media type of `body`. Default: `text/plain; charset=utf-8`.
    content_type: Option<String>,
    /// Text of the reply.
    body: Option<TextOrExpressionConfig>,
    /// JSON value of the reply.
    json: Option<Value>,
    /// Error in the format of the route's protocol.
    error: Option<ReplyErrorConfig>,
    /// Events of a streamed reply, in order.
    events: Option<Vec<ReplyEventConfig>>,
    /// URL that the client is redirected to: an `http` or `https` URL, or a relative reference such as a path.
    location: Option<TextOrExpressionConfig>,
}

struct ReplyFilter {
    status: StatusCode,
    headers: Vec<(HeaderName, TextOrExpression)>,
    location: Option<TextOrExpression>,
    content: ReplyContent,
    /// Whether an expression needs the body, or what filters learn from it.
    needs_body_phase: bool,
}

impl Filter for ReplyFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            reads_body: self.expressions().any(FilterExpression::reads_request_body),
            replies_always: true,
            value_names: RequiredValueNames::from_expressions(self.expressions()),
            ..FilterDeclaration::default()
        }
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.needs_body_phase {
            false => self.reply(request),
            true => HookResult::next(),
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        self.reply(request)
    }
}

impl ReplyFilter {
    fn build(config: ReplyConfig) -> Result<Self, InvalidSettings> {
        let is_redirect = config.location.is_some();
        let status = status(config.status, is_redirect, config.error.is_some())?;
        let headers = config
            .headers
            .into_iter()
            .map(|(name, value)| {
                let at = format!("/headers{}", pointer_to(&name));
                let name = header_name(&name).map_err(|invalid| invalid.at(&at))?;
                Ok((name, header(value, &at)?))
            })
            .collect::<Result<Vec<_>, InvalidSettings>>()?;
        let location = config.location.map(location_template).transpose()?;
        let contents = ReplyContentConfig {
            content_type: config.content_type,
            body: config.body,
            json: config.json,
            error: config.error,
            events: config.events,
        };
        let content = contents.build(status)?;
        let mut filter = Self {
            status,
            headers,
            location,
            content,
            needs_body_phase: false,
        };
        filter.needs_body_phase = latest_phase(filter.expressions()) != EvaluationPhase::Head;
        Ok(filter)
    }

    fn expressions(&self) -> impl Iterator<Item = &FilterExpression> {
        let headers = self.headers.iter();
        let texts = headers.map(|(_, value)| value).chain(&self.location);
        let texts = texts.filter_map(TextOrExpression::expression);
        texts.chain(self.content.expressions())
    }

    fn reply(&self, request: &RequestView) -> HookResult<'_> {
        match self.made_reply(request) {
            Ok(reply) => HookResult::reply(reply),
            Err(error) => HookResult::fail(reply_fault(&error)),
        }
    }

    fn made_reply(&self, request: &RequestView) -> Result<LocalReply, EvaluationError> {
        let values = ExchangeValues::for_request(request);
        let mut headers = HeaderMap::with_capacity(self.headers.len() + 2);
        let body = self.content.body(self.status, values, &mut headers)?;
        for (name, template) in &self.headers {
            let value = header_value(&template.text(values)?);
            let value = value.ok_or_else(|| EvaluationError {
                message: format!(
                    "the value of header `{name}` has characters that a header must not have"
                ),
            })?;
            headers.insert(name, value);
        }
        if let Some(template) = &self.location {
            let value = location::header_value(&template.text(values)?);
            let value = value.map_err(|reason| EvaluationError {
                message: format!("`location` {reason}"),
            })?;
            headers.insert(header::LOCATION, value);
        }
        Ok(LocalReply {
            status: self.status,
            headers,
            body,
        })
    }
}

fn status(
    config: Option<u16>,
    is_redirect: bool,
    is_error: bool,
) -> Result<StatusCode, InvalidSettings> {
    let status = match (config, is_redirect) {
        (Some(status), _) => status,
        (None, true) => 307,
        (None, false) => 200,
    };
    let invalid = |reason: &str| Err(InvalidSettings::new(reason).at("/status"));
    match StatusCode::from_u16(status) {
        Ok(_) if is_error && status < 400 => invalid("`error` requires a status from 400 to 599"),
        Ok(code) if (200..600).contains(&status) => Ok(code),
        _ => invalid("must be a status from 200 to 599"),
    }
}

fn header(config: TextOrExpressionConfig, at: &str) -> Result<TextOrExpression, InvalidSettings> {
    let template = TextOrExpression::compile(config, EvaluationPhase::Body).map_err(placed(at))?;
    match &template {
        TextOrExpression::Text(text) if header_value(text).is_none() => Err(invalid_value().at(at)),
        _ => Ok(template),
    }
}

fn location_template(config: TextOrExpressionConfig) -> Result<TextOrExpression, InvalidSettings> {
    let template =
        TextOrExpression::compile(config, EvaluationPhase::Body).map_err(placed("/location"))?;
    if let TextOrExpression::Text(text) = &template {
        location::header_value(text)
            .map_err(|reason| InvalidSettings::new(reason).at("/location"))?;
    }
    Ok(template)
}

fn reply_fault(error: &EvaluationError) -> Fault {
    evaluation_fault(&format!("`{}`", DESCRIPTOR.name), error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_that_make_no_reply_are_refused() {
        for (config, at) in [
            (json!({"status": 100}), "/status"),
            (json!({"status": 600}), "/status"),
            (json!({"error": {"message": "no"}}), "/status"),
            (json!({"body": "a", "json": 1}), "/json"),
            (json!({"status": 204, "body": "a"}), "/body"),
            (json!({"status": 205, "json": 1}), "/json"),
            (json!({"status": 304, "events": [{"data": 1}]}), "/events"),
            (json!({"location": ""}), "/location"),
            (json!({"location": "javascript:alert(1)"}), "/location"),
            (
                json!({"headers": {"content-length": "1"}}),
                "/headers/content-length",
            ),
            (json!({"headers": {"x-a": "\n"}}), "/headers/x-a"),
            (json!({"headers": {"x-a": "grün"}}), "/headers/x-a"),
            (json!({"location": {"cel": "("}}), "/location/cel"),
            (json!({"json": {"a": {"cel": "channel"}}}), "/json/a/cel"),
            (
                json!({"content_type": "text/html", "json": 1}),
                "/content_type",
            ),
            (
                json!({"events": [{"data": 1}, {"data": {"cel": "("}}]}),
                "/events/1/data/cel",
            ),
        ] {
            let built = ReplyFilter::build(serde_json::from_value(config.clone()).unwrap());
            let at_fault = built.err().map(|invalid| invalid.pointer);
            assert_eq!(at_fault.as_deref(), Some(at), "{config}");
        }
    }
}
