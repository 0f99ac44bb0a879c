//! An exchange whose values do not change, around one document.

use headgate_expression::{DocumentKind, ExpressionValueSource, MapVariable, Variable};
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

/// The value of headers that carry credentials, which nobody is shown.
pub const SECRET: &str = "secret-of-the-caller";
/// 2026-11-22T21:35:10Z, in Unix seconds.
const NOW: Duration = Duration::from_secs(1_795_383_310);

/// Data of an event beyond all limits of an evaluation, which an input is too short to have: `text`, `list` and `object`.
static LARGE: LazyLock<JsonDocument> = LazyLock::new(|| {
    let members = (0..1100).map(|number| (format!("k{number}"), number.into()));
    let large = json!({
        "text": "x".repeat(70_000),
        "list": vec![0; 1100],
        "object": members.collect::<Map<String, Value>>(),
    });
    JsonDocument::parse(large.to_string().into(), &JsonLimits::default()).expect("it is JSON")
});

/// The document is the body of the request and of the response.
pub struct ExchangeValues<'a>(pub DocumentNode<'a>);

impl ExpressionValueSource for ExchangeValues<'_> {
    fn text(&self, variable: Variable) -> Option<Cow<'_, str>> {
        match variable {
            Variable::Method => Some("POST".into()),
            Variable::Path => Some("/v1/chat/completions".into()),
            Variable::Channel => None,
            _ => Some("gold é".into()),
        }
    }

    fn number(&self, variable: Variable) -> Option<i64> {
        match variable {
            Variable::UsageTotalTokens => None,
            Variable::Status => Some(200),
            _ => Some(3),
        }
    }

    fn entry(&self, _: MapVariable, key: &str) -> Option<Cow<'_, str>> {
        match key {
            "authorization" | "x-api-key" => Some(SECRET.into()),
            "x-tier" | "id" => Some("gold".into()),
            _ => None,
        }
    }

    fn address(&self) -> Option<IpAddr> {
        Some(Ipv4Addr::new(10, 1, 2, 3).into())
    }

    fn document(&self, kind: DocumentKind) -> Option<DocumentNode<'_>> {
        match kind {
            DocumentKind::Request | DocumentKind::Response => Some(self.0),
            DocumentKind::Event => Some(LARGE.root()),
        }
    }

    fn request_id(&self) -> &str {
        "request-1"
    }

    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + NOW
    }
}
