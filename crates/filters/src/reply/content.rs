//! What a reply has after its head: a text, a JSON value, an error, or events.

use crate::computed_value::{ComputedJson, TextOrExpression};
use bytes::{Bytes, BytesMut};
use headgate_core::filter::descriptor::InvalidSettings;
use headgate_core::filter::expression::{ExchangeValues, FilterExpression};
use headgate_core::scalar::text_or_expression::TextOrExpressionConfig;
use headgate_expression::{EvaluationError, EvaluationPhase};
use headgate_protocol::Protocol;
use headgate_protocol::error_body::CustomError;
use headgate_protocol::sse::encode_event;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The keys of which a reply has one at most.
pub(super) struct ReplyContentConfig {
    pub content_type: Option<String>,
    pub body: Option<TextOrExpressionConfig>,
    pub json: Option<Value>,
    pub error: Option<ReplyErrorConfig>,
    pub events: Option<Vec<ReplyEventConfig>>,
}

/// An error of a reply.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplyErrorConfig {
    /// What is wrong and what to do.
    message: TextOrExpressionConfig,
    /// Type of the error; family B has none. Default: by the status.
    r#type: Option<String>,
    /// Code of the error; the messages protocol has none. Default: by the status.
    code: Option<String>,
}

/// An event of a streamed reply.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplyEventConfig {
    /// Type of the event. Default: none.
    event: Option<String>,
    /// Data of the event: a text is sent as it is, such as `[DONE]`, other values as JSON.
    data: Value,
}

/// What a reply has after its head.
pub(super) enum ReplyContent {
    Empty,
    Text(HeaderValue, TextOrExpression),
    Json(ComputedJson),
    Error {
        message: TextOrExpression,
        class: Option<String>,
        code: Option<String>,
    },
    Events(Vec<ReplyEvent>),
}

pub(super) struct ReplyEvent {
    name: Option<String>,
    data: ReplyEventData,
}

pub(super) enum ReplyEventData {
    Text(String),
    Json(ComputedJson),
}

/// Statuses whose responses have no body.
const BODILESS: [StatusCode; 3] = [
    StatusCode::NO_CONTENT,
    StatusCode::RESET_CONTENT,
    StatusCode::NOT_MODIFIED,
];

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

impl ReplyContentConfig {
    pub fn build(self, status: StatusCode) -> Result<ReplyContent, InvalidSettings> {
        if self.content_type.is_some() && self.body.is_none() {
            return Err(InvalidSettings::new("`content_type` requires `body`").at("/content_type"));
        }
        let media_type = media_type(self.content_type.as_deref())?;
        let mut contents = Vec::new();
        if let Some(body) = self.body {
            let text =
                TextOrExpression::compile(body, EvaluationPhase::Body).map_err(placed("/body"))?;
            contents.push(("/body", ReplyContent::Text(media_type, text)));
        }
        if let Some(json) = self.json {
            let value =
                ComputedJson::compile(&json, EvaluationPhase::Body).map_err(placed("/json"))?;
            contents.push(("/json", ReplyContent::Json(value)));
        }
        if let Some(error) = self.error {
            let message = TextOrExpression::compile(error.message, EvaluationPhase::Body);
            let content = ReplyContent::Error {
                message: message.map_err(placed("/error/message"))?,
                class: error.r#type,
                code: error.code,
            };
            contents.push(("/error", content));
        }
        if let Some(events) = self.events {
            let build = |(index, event)| {
                ReplyEvent::build(event).map_err(placed(&format!("/events/{index}")))
            };
            let events = events.into_iter().enumerate().map(build);
            let events = events.collect::<Result<_, InvalidSettings>>()?;
            contents.push(("/events", ReplyContent::Events(events)));
        }
        let is_bodiless = BODILESS.contains(&status);
        match (contents.len(), contents.pop()) {
            (_, None) => Ok(ReplyContent::Empty),
            (1, Some((at, _))) if is_bodiless => {
                let reason = format!("a reply with status {} has no body", status.as_u16());
                Err(InvalidSettings::new(reason).at(at))
            }
            (1, Some((_, content))) => Ok(content),
            (_, Some((at, _))) => Err(InvalidSettings::new(
                "a reply has one of `body`, `json`, `error` and `events`",
            )
            .at(at)
            .hint("use a step with a condition for each")),
        }
    }
}

impl ReplyContent {
    pub fn expressions(&self) -> Box<dyn Iterator<Item = &FilterExpression> + '_> {
        match self {
            Self::Empty => Box::new(std::iter::empty()),
            Self::Text(_, text) | Self::Error { message: text, .. } => {
                Box::new(text.expression().into_iter())
            }
            Self::Json(value) => Box::new(value.expressions()),
            Self::Events(events) => {
                let values = events.iter().filter_map(|event| match &event.data {
                    ReplyEventData::Text(_) => None,
                    ReplyEventData::Json(value) => Some(value),
                });
                Box::new(values.flat_map(ComputedJson::expressions))
            }
        }
    }

    /// The body; sets the headers that describe it.
    pub fn body(
        &self,
        status: StatusCode,
        values: ExchangeValues<'_>,
        headers: &mut HeaderMap,
    ) -> Result<Bytes, EvaluationError> {
        let request = values.request();
        let (media_type, body) = match self {
            Self::Empty => return Ok(Bytes::new()),
            Self::Text(media_type, text) => (
                media_type.clone(),
                Bytes::from(text.text(values)?.into_owned()),
            ),
            Self::Json(value) => (JSON, value.json(values)?),
            Self::Error {
                message,
                class,
                code,
            } => {
                let error = CustomError {
                    message: &message.text(values)?,
                    class: class.as_deref(),
                    code: code.as_deref(),
                    param: None,
                };
                let status = status.as_u16();
                (
                    JSON,
                    Protocol::descriptor_for(request.protocol)
                        .errors
                        .render_custom(status, &error, &request.id),
                )
            }
            Self::Events(events) => {
                headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
                let mut stream = BytesMut::new();
                for event in events {
                    stream.extend_from_slice(&event.encode(values)?);
                }
                (EVENT_STREAM, stream.freeze())
            }
        };
        headers.insert(header::CONTENT_TYPE, media_type);
        Ok(body)
    }
}

impl ReplyEvent {
    fn build(config: ReplyEventConfig) -> Result<Self, InvalidSettings> {
        let name = config.event;
        if name
            .as_ref()
            .is_some_and(|name| name.contains(['\n', '\r']))
        {
            return Err(InvalidSettings::new("must be one line").at("/event"));
        }
        let data = match config.data {
            Value::String(text) => ReplyEventData::Text(text),
            value => {
                let template = ComputedJson::compile(&value, EvaluationPhase::Body);
                let within = |invalid: InvalidSettings| {
                    let at = format!("/data{}", invalid.pointer);
                    invalid.at(at)
                };
                ReplyEventData::Json(template.map_err(within)?)
            }
        };
        Ok(Self { name, data })
    }

    fn encode(&self, values: ExchangeValues<'_>) -> Result<Bytes, EvaluationError> {
        let name = self.name.as_deref();
        Ok(match &self.data {
            ReplyEventData::Text(text) => encode_event(name, text.as_bytes()),
            ReplyEventData::Json(value) => encode_event(name, &value.json(values)?),
        })
    }
}

fn media_type(config: Option<&str>) -> Result<HeaderValue, InvalidSettings> {
    match config {
        None => Ok(TEXT),
        Some(text) => HeaderValue::from_str(text)
            .map_err(|_| InvalidSettings::new("not a media type").at("/content_type")),
    }
}

/// Puts the place of an error before its pointer.
pub(super) fn placed(at: &str) -> impl FnOnce(InvalidSettings) -> InvalidSettings {
    let at = at.to_owned();
    move |invalid| {
        let at = at + &invalid.pointer;
        invalid.at(at)
    }
}
