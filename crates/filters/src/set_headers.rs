//! `set_headers`: sets request headers for the provider, or response headers for the caller.

use super::captures;
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, ConditionSupport, FilterChainRules, FilterDescriptor, InvalidSettings,
    read_settings, settings_schema,
};
use headgate_core::filter::expression::{
    ExchangeValues, FilterExpression, RequiredValueNames, evaluation_fault,
};
use headgate_core::filter::header_name::{header_name, header_value, invalid_value};
use headgate_core::filter::response_inputs::ResponseVaryInputs;
use headgate_core::filter::view::{AttemptView, RequestView, ResponseView, UpstreamHeaderEdits};
use headgate_core::filter::{Filter, FilterDeclaration, HookResult};
use headgate_expression::{EvaluationError, EvaluationPhase};
use headgate_protocol::fault::Fault;
use http::{HeaderName, HeaderValue};
use regex::Regex;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "set_headers",
    summary: "Sets headers: `name: value`, `name: {cel: expression}`, or `name: {source: path, match: regex, value: $1}` with captures of the path or of another header.",
    side: ChainSide::Either,
    placement: FilterChainRules {
        condition: ConditionSupport::Attempt,
        ..FilterChainRules::ANYWHERE
    },
    settings: Some(settings_schema::<SetHeadersConfig>),
    bare: false,
    build,
};

/// Settings of `set_headers`: header name to value.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
struct SetHeadersConfig(BTreeMap<String, HeaderValueConfig>);

/// A header's value: text, an expression, or built from capture groups.
#[derive(Deserialize)]
#[serde(untagged)]
enum HeaderValueConfig {
    Plain(String),
    Computed(ComputedHeaderConfig),
    Captured(CaptureValueConfig),
}

/// A value that an expression computes; not set if it is an empty text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ComputedHeaderConfig {
    /// Expression of a text, number or boolean, instead of the other three; the header is not set if the text is empty.
    /// In the request chain it may name the attempt (`channel`, `attempt`), in the response chain the status and the
    /// headers of the response.
    cel: String,
}

/// A value built from capture groups of a regular expression; not set if it does not match.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CaptureValueConfig {
    /// Input of the match: `path`, or the name of a request header (also in the response chain). Required without `cel`.
    source: String,
    /// Regular expression, unanchored; the header is not set if it does not match. Required without `cel`.
    r#match: String,
    /// The value, with `$1` or `$name` for capture groups of `match`. Write `$${1}x` for group `1` followed by `x`.
    /// Required without `cel`.
    value: String,
}

/// One object that may be text, so that a mistake in a mapping is named: `anyOf` could only say that neither fits.
impl JsonSchema for HeaderValueConfig {
    fn schema_name() -> Cow<'static, str> {
        "HeaderValueConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = CaptureValueConfig::json_schema(generator);
        let description = "The value, `{cel: …}` to compute it, or `{source: …, match: …, value: …}` to build it from capture groups of a regular expression.";
        schema.insert("description".into(), json!(description));
        schema.insert("type".into(), json!(["string", "object"]));
        let computed = ComputedHeaderConfig::json_schema(generator);
        schema.ensure_object()["properties"]["cel"] =
            computed.to_value()["properties"]["cel"].take();
        let captured = schema.remove("required");
        schema.insert("if".into(), json!({"required": ["cel"]}));
        schema.insert(
            "then".into(),
            json!({"properties": {"source": false, "match": false, "value": false}}),
        );
        schema.insert("else".into(), json!({"required": captured}));
        schema
    }
}

struct SetHeadersFilter {
    side: ChainSide,
    /// When the headers of a request are set.
    phase: EvaluationPhase,
    headers: Vec<(HeaderName, HeaderValueSource)>,
}

enum HeaderValueSource {
    Plain(HeaderValue),
    Computed(FilterExpression),
    Captured {
        subject: CaptureSubject,
        pattern: Regex,
        template: String,
    },
}

enum CaptureSubject {
    Path,
    Header(HeaderName),
}

impl Filter for SetHeadersFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            reads_body: self.expressions().any(FilterExpression::reads_request_body),
            value_names: match self.side != ChainSide::Response
                && self.phase < EvaluationPhase::Attempt
            {
                true => RequiredValueNames::from_expressions(self.expressions()),
                false => RequiredValueNames::default(),
            },
            ..FilterDeclaration::default()
        }
    }

    fn add_response_inputs(&self, inputs: &mut ResponseVaryInputs) {
        if self.side == ChainSide::Response || self.phase == EvaluationPhase::Attempt {
            let sources = self.headers.iter().map(|(_, source)| source);
            sources.for_each(|source| source.add_response_inputs(inputs));
        }
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.phase {
            EvaluationPhase::Head => HookResult::from(self.edit(request)),
            _ => HookResult::next(),
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.phase {
            EvaluationPhase::Body => HookResult::from(self.edit(request)),
            _ => HookResult::next(),
        }
    }

    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        if self.phase != EvaluationPhase::Attempt {
            return HookResult::done();
        }
        let edits = self.edits(ExchangeValues::for_attempt(request, attempt));
        HookResult::from(edits.and_then(|edits| edits.apply(&mut attempt.headers)))
    }

    fn on_response_head<'a>(&'a self, response: &'a mut ResponseView<'_>) -> HookResult<'a, ()> {
        if self.side != ChainSide::Response {
            return HookResult::done();
        }
        for (name, source) in &self.headers {
            match source.value(ExchangeValues::for_response(response)) {
                Ok(Some(value)) => drop(response.headers.insert(name, value)),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(header = %name, error = %error.message, "header could not be computed");
                }
            }
        }
        HookResult::done()
    }
}

impl SetHeadersFilter {
    fn expressions(&self) -> impl Iterator<Item = &FilterExpression> {
        self.headers
            .iter()
            .filter_map(|(_, source)| source.expression())
    }

    fn edit(&self, request: &mut RequestView) -> Result<(), Fault> {
        let edits = self.edits(ExchangeValues::for_request(request))?;
        request.header_edits.extend(edits);
        Ok(())
    }

    fn edits(&self, values: ExchangeValues<'_>) -> Result<UpstreamHeaderEdits, Fault> {
        let mut edits = UpstreamHeaderEdits::default();
        for (name, source) in &self.headers {
            let value = source.value(values);
            let value = value
                .map_err(|error| evaluation_fault(&format!("value of header `{name}`"), &error))?;
            match value {
                Some(value) => edits.set(name, value),
                // What the caller sent under this name is not the operator's value.
                None => edits.remove(name),
            }
        }
        Ok(edits)
    }
}

impl HeaderValueSource {
    fn expression(&self) -> Option<&FilterExpression> {
        match self {
            Self::Computed(expression) => Some(expression),
            Self::Plain(_) | Self::Captured { .. } => None,
        }
    }

    fn add_response_inputs(&self, inputs: &mut ResponseVaryInputs) {
        match self {
            Self::Plain(_) => {}
            Self::Computed(expression) => inputs.add_references(expression.references()),
            Self::Captured { subject, .. } => match subject {
                CaptureSubject::Path => inputs.add_path(),
                CaptureSubject::Header(name) => inputs.add_header(name),
            },
        }
    }

    /// The value; `None` if the header is not set.
    fn value(&self, values: ExchangeValues<'_>) -> Result<Option<HeaderValue>, EvaluationError> {
        let text = match self {
            Self::Plain(value) => return Ok(Some(value.clone())),
            Self::Computed(expression) => Some(expression.text_value(values)?),
            Self::Captured {
                subject,
                pattern,
                template,
            } => captured(subject, pattern, template, values.request()),
        };
        let text = text.filter(|text| !text.is_empty() || self.expression().is_none());
        let value = text.map(|text| {
            header_value(&text).ok_or_else(|| EvaluationError {
                message: "the value has characters that a header must not have".into(),
            })
        });
        value.transpose()
    }
}

/// The template filled with the captures; `None` if the pattern does not match.
fn captured(
    subject: &CaptureSubject,
    pattern: &Regex,
    template: &str,
    request: &RequestView,
) -> Option<String> {
    let text = match subject {
        CaptureSubject::Path => &request.path,
        CaptureSubject::Header(name) => request.headers.get(name)?.to_str().ok()?,
    };
    let captures = pattern.captures(text)?;
    let mut value = String::new();
    captures.expand(template, &mut value);
    Some(value)
}

fn build(
    settings: &serde_json::Value,
    context: &BuildContext<'_>,
) -> Result<Arc<dyn Filter>, InvalidSettings> {
    let SetHeadersConfig(headers) = read_settings(settings)?;
    let headers = headers
        .into_iter()
        .map(|(name, value)| {
            let at = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
            let name = header_name(&name).map_err(|invalid| invalid.at(&at))?;
            let placed = |invalid: InvalidSettings| {
                let within = format!("{at}{}", invalid.pointer);
                invalid.at(within)
            };
            Ok((name, source(value, context.side).map_err(placed)?))
        })
        .collect::<Result<Vec<(HeaderName, HeaderValueSource)>, InvalidSettings>>()?;
    let sources = headers.iter().filter_map(|(_, source)| source.expression());
    let phases = sources.map(FilterExpression::phase);
    Ok(Arc::new(SetHeadersFilter {
        side: context.side,
        phase: phases
            .chain([context.condition_phase])
            .max()
            .unwrap_or(EvaluationPhase::Head),
        headers,
    }))
}

fn source(
    config: HeaderValueConfig,
    side: ChainSide,
) -> Result<HeaderValueSource, InvalidSettings> {
    match config {
        HeaderValueConfig::Computed(ComputedHeaderConfig { cel }) => {
            let available = match side {
                ChainSide::Response => EvaluationPhase::ResponseHead,
                _ => EvaluationPhase::Attempt,
            };
            let expression = FilterExpression::compile_text(&cel, available);
            expression
                .map(HeaderValueSource::Computed)
                .map_err(|invalid| invalid.at("/cel"))
        }
        HeaderValueConfig::Plain(value) => header_value(&value)
            .map(HeaderValueSource::Plain)
            .ok_or_else(invalid_value),
        HeaderValueConfig::Captured(CaptureValueConfig {
            source,
            r#match,
            value,
        }) => {
            let pattern = captures::pattern(&r#match).map_err(|invalid| invalid.at("/match"))?;
            captures::check(&pattern, &value, "value").map_err(|invalid| invalid.at("/value"))?;
            header_value(&value).ok_or_else(|| invalid_value().at("/value"))?;
            Ok(HeaderValueSource::Captured {
                subject: match source.as_str() {
                    "path" => CaptureSubject::Path,
                    header => CaptureSubject::Header(
                        HeaderName::from_bytes(header.as_bytes()).map_err(|_| {
                            InvalidSettings::new(format!(
                                "expected `path` or a header name, found `{header}`"
                            ))
                            .at("/source")
                        })?,
                    ),
                },
                pattern,
                template: value,
            })
        }
    }
}

#[cfg(test)]
mod tests;
