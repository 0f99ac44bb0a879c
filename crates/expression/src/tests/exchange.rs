//! An exchange with known values, which records what is read of it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits};

use crate::{
    DocumentKind, EvaluationPhase, Expression, ExpressionValueSource, MapVariable, Variable,
};

/// 2026-11-22T21:35:10Z, a Sunday.
pub const NOW: u64 = 1_795_383_310;

pub struct RecordedExchange {
    pub body: Option<JsonDocument>,
    pub response: Option<JsonDocument>,
    pub event: Option<JsonDocument>,
    pub address: Option<IpAddr>,
    pub request_id: String,
    pub tokens: Option<i64>,
    pub tier: String,
    pub read: RefCell<Vec<String>>,
}

impl Default for RecordedExchange {
    fn default() -> Self {
        Self {
            body: Some(document(
                r#"{"model":"chat-large","max_tokens":1024,"temperature":0.5,"stream":true,"user":null,
                "messages":[{"role":"system","content":"be brief"},{"role":"user","content":"gr\u00fc\u00dfe"}],
                "a/b":{"~c":1},"big":12345678901234567890,"tags":["x","y"],"options":{"include_usage":true}}"#,
            )),
            response: Some(document(
                r#"{"id":"r1","choices":[{"finish_reason":"stop"}]}"#,
            )),
            event: Some(document(r#"{"delta":"abc"}"#)),
            address: "203.0.113.7".parse().ok(),
            request_id: "req-1".into(),
            tokens: Some(12),
            tier: "gold".into(),
            read: RefCell::default(),
        }
    }
}

impl ExpressionValueSource for RecordedExchange {
    fn text(&self, variable: Variable) -> Option<Cow<'_, str>> {
        self.read.borrow_mut().push(variable.name().into());
        Some(Cow::Borrowed(match variable {
            Variable::Method => "POST",
            Variable::Path => "/v1/chat/completions",
            Variable::QueryString => "a=1&b=2",
            Variable::Caller => "team-a",
            Variable::Route => "chat",
            Variable::Protocol => "chat",
            Variable::Model => "chat-large",
            Variable::Channel => "west",
            Variable::EventType => "message_start",
            _ => return None,
        }))
    }

    fn number(&self, variable: Variable) -> Option<i64> {
        self.read.borrow_mut().push(variable.name().into());
        match variable {
            Variable::RequestSize => Some(300),
            Variable::Attempt => Some(2),
            Variable::Status => Some(200),
            Variable::ResponseSize => Some(500),
            Variable::UsageInputTokens => self.tokens,
            Variable::UsageOutputTokens => self.tokens.map(|tokens| tokens * 2),
            _ => None,
        }
    }

    fn entry(&self, map: MapVariable, key: &str) -> Option<Cow<'_, str>> {
        self.read
            .borrow_mut()
            .push(format!("{}[{key:?}]", map.name()));
        Some(match (map, key) {
            (MapVariable::RequestHeaders, "x-tier") => Cow::Borrowed(self.tier.as_str()),
            (MapVariable::RequestHeaders, "host") => Cow::Borrowed("example.com"),
            (MapVariable::RequestHeaders, "authorization") => Cow::Borrowed("Bearer sk-1"),
            (MapVariable::RequestParams, "id") => Cow::Owned("42".into()),
            (MapVariable::RequestQuery, "a") => Cow::Borrowed("1"),
            (MapVariable::ResponseHeaders, "content-type") => Cow::Borrowed("application/json"),
            _ => return None,
        })
    }

    fn address(&self) -> Option<IpAddr> {
        self.read.borrow_mut().push("client.address".into());
        self.address
    }

    fn document(&self, kind: DocumentKind) -> Option<DocumentNode<'_>> {
        self.read.borrow_mut().push(format!("{kind:?}"));
        let document = match kind {
            DocumentKind::Request => &self.body,
            DocumentKind::Response => &self.response,
            DocumentKind::Event => &self.event,
        };
        document.as_ref().map(JsonDocument::root)
    }

    fn request_id(&self) -> &str {
        &self.request_id
    }

    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(NOW)
    }
}

impl RecordedExchange {
    /// An exchange whose request has this body.
    pub fn with_body(body: &str) -> Self {
        Self {
            body: Some(document(body)),
            ..Self::default()
        }
    }
}

pub fn document(text: &str) -> JsonDocument {
    JsonDocument::parse(
        Bytes::copy_from_slice(text.as_bytes()),
        &JsonLimits::default(),
    )
    .unwrap()
}

/// The value of an expression as JSON, or `error: ` and the message, at load or at run time.
pub fn evaluate_to_json(text: &str, exchange: &RecordedExchange) -> String {
    let phase = match text.contains("event") {
        true => EvaluationPhase::Event,
        false => EvaluationPhase::ResponseBody,
    };
    let expression = match Expression::compile(text, phase) {
        Ok(expression) => expression,
        Err(error) => return format!("error: {}", error.message),
    };
    match expression.json(exchange) {
        Ok(json) => String::from_utf8(json.to_vec()).unwrap(),
        Err(error) => format!("error: {}", error.message),
    }
}

/// Compares the values of expressions with those of a table.
pub fn assert_values(table: &[(&str, &str)]) {
    let exchange = RecordedExchange::default();
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|(text, expected)| {
            let found = evaluate_to_json(text, &exchange);
            (found != *expected)
                .then(|| format!("{text}\n  is       {found}\n  expected {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
