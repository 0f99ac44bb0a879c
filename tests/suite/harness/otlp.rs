//! A collector that receives OTLP over HTTP, and what it reads of it. Its messages are not those of the program.

use super::http_response::typed_response;
use super::{ScriptedProvider, eventually};
use prost::{Message, Oneof};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// The key of the gateway at the collector.
pub const COLLECTOR_KEY: &str = "sk-collector-canary-7c55";
/// The response to an export that the collector accepts.
pub const ACCEPTED: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";

/// The first bytes of what gzip wrote.
const GZIP: [u8; 2] = [0x1f, 0x8b];

pub struct TraceCollector(pub ScriptedProvider);

/// A span as it arrived.
#[derive(Clone, Debug)]
pub struct ReceivedSpan {
    pub trace_id: String,
    pub span_id: String,
    /// Empty for a root.
    pub parent: String,
    pub state: String,
    pub flags: u32,
    pub name: String,
    /// 2 for a server, 3 for a client.
    pub kind: i32,
    pub start: u64,
    pub end: u64,
    pub attributes: Map<String, Value>,
    /// Code and message.
    pub status: Option<(i32, String)>,
    /// Attributes of the resource.
    pub resource: Map<String, Value>,
}

impl TraceCollector {
    /// Accepts every export.
    pub async fn start() -> Self {
        Self(ScriptedProvider::answering(ACCEPTED).await)
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.0.address)
    }

    /// Adds the section `tracing`, with these settings, to a configuration.
    pub fn add_to(&self, config: &mut Value, settings: Value) {
        let mut section = settings;
        section["endpoint"] = json!(self.url());
        section["headers"] = json!({"x-collector-key": COLLECTOR_KEY});
        config["tracing"] = section;
    }

    /// The spans so far.
    pub fn spans(&self) -> Vec<ReceivedSpan> {
        let exports = self.0.raw_requests();
        exports.iter().flat_map(|export| spans_of(export)).collect()
    }

    /// All spans, once there are as many.
    pub async fn wait_for(&self, count: usize) -> Vec<ReceivedSpan> {
        eventually(&format!("{count} spans"), async || {
            let spans = self.spans();
            (spans.len() >= count).then_some(spans)
        })
        .await
    }

    /// The spans of the exchange with this id, its own first, once they have arrived.
    pub async fn exchange(&self, request_id: &str) -> Vec<ReceivedSpan> {
        eventually("the spans of an exchange", async || {
            let spans = self.spans();
            let is_wanted = |span: &&ReceivedSpan| {
                span.attributes.get("headgate.request_id") == Some(&json!(request_id))
            };
            let server = spans.iter().find(is_wanted)?.clone();
            let attempts = spans.iter().filter(|span| span.parent == server.span_id);
            let mut all = vec![server.clone()];
            all.extend(attempts.cloned());
            Some(all)
        })
        .await
    }
}

impl ReceivedSpan {
    pub fn get(&self, name: &str) -> &Value {
        self.attributes.get(name).unwrap_or(&Value::Null)
    }

    pub fn millis(&self) -> u64 {
        (self.end - self.start) / 1_000_000
    }
}

/// A response in which the collector refuses this many spans.
pub fn partial_success(refused: i64, reason: &str) -> Vec<u8> {
    let body = ReceivedResponse {
        partial_success: Some(ReceivedPartialSuccess {
            rejected_spans: refused,
            error_message: reason.into(),
        }),
    }
    .encode_to_vec();
    typed_response(200, "application/x-protobuf", body)
}

fn spans_of(export: &[u8]) -> Vec<ReceivedSpan> {
    let at = super::connection::find(export, b"\r\n\r\n").expect("a whole request");
    let body = match export[at + 4..].starts_with(&GZIP) {
        true => unzipped(&export[at + 4..]),
        false => export[at + 4..].to_vec(),
    };
    let export = ReceivedExport::decode(&*body).expect("a message of OTLP");
    let mut spans = Vec::new();
    for group in export.resource_spans {
        let resource = attributes(group.resource.unwrap_or_default().attributes);
        for span in group.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            spans.push(ReceivedSpan {
                trace_id: hex(&span.trace_id),
                span_id: hex(&span.span_id),
                parent: hex(&span.parent_span_id),
                state: span.trace_state,
                flags: span.flags,
                name: span.name,
                kind: span.kind,
                start: span.start_time_unix_nano,
                end: span.end_time_unix_nano,
                attributes: attributes(span.attributes),
                status: span.status.map(|status| (status.code, status.message)),
                resource: resource.clone(),
            });
        }
    }
    spans
}

/// What a collector that compresses its exports sent.
fn unzipped(body: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip")
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Dropped at the end of the statement, so that gzip sees the end.
    gzip.stdin.take().unwrap().write_all(body).unwrap();
    gzip.wait_with_output().unwrap().stdout
}

fn attributes(list: Vec<WireAttribute>) -> Map<String, Value> {
    let mut attributes = Map::new();
    for attribute in list {
        let value = match attribute.value.and_then(|value| value.value) {
            Some(WireValueKind::String(text)) => json!(text),
            Some(WireValueKind::Bool(flag)) => json!(flag),
            Some(WireValueKind::Int(number)) => json!(number),
            Some(WireValueKind::Double(number)) => json!(number),
            None => Value::Null,
        };
        let before = attributes.insert(attribute.key.clone(), value);
        assert_eq!(before, None, "{} is there twice", attribute.key);
    }
    attributes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

#[derive(Clone, PartialEq, Message)]
struct ReceivedExport {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<WireResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ReceivedResponse {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<ReceivedPartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
struct ReceivedPartialSuccess {
    #[prost(int64, tag = "1")]
    rejected_spans: i64,
    #[prost(string, tag = "2")]
    error_message: String,
}

#[derive(Clone, PartialEq, Message)]
struct WireResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<WireResource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<WireScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct WireResource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<WireAttribute>,
}

#[derive(Clone, PartialEq, Message)]
struct WireScopeSpans {
    #[prost(message, repeated, tag = "2")]
    spans: Vec<WireSpan>,
}

#[derive(Clone, PartialEq, Message)]
struct WireSpan {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    trace_state: String,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<WireAttribute>,
    #[prost(message, optional, tag = "15")]
    status: Option<WireStatus>,
    #[prost(fixed32, tag = "16")]
    flags: u32,
}

#[derive(Clone, PartialEq, Message)]
struct WireStatus {
    #[prost(string, tag = "2")]
    message: String,
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct WireAttribute {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<WireValue>,
}

#[derive(Clone, PartialEq, Message)]
struct WireValue {
    #[prost(oneof = "WireValueKind", tags = "1, 2, 3, 4")]
    value: Option<WireValueKind>,
}

#[derive(Clone, PartialEq, Oneof)]
enum WireValueKind {
    #[prost(string, tag = "1")]
    String(String),
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(int64, tag = "3")]
    Int(i64),
    #[prost(double, tag = "4")]
    Double(f64),
}
