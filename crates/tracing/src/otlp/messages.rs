//! The messages of OTLP for traces (`opentelemetry/proto/trace/v1`, version 1.9), as far as the gateway sends or reads them.
//!
//! Texts are declared as bytes, whose encoding is the same, so that names of attributes are not copied.

use bytes::Bytes;
use prost::{Message, Oneof};

/// `ExportTraceServiceRequest`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportTraceRequest {
    #[prost(message, repeated, tag = "1")]
    pub resource_spans: Vec<ResourceSpans>,
}

/// `ExportTraceServiceResponse`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportTraceResponse {
    #[prost(message, optional, tag = "1")]
    pub partial_success: Option<ExportPartialSuccess>,
}

/// `ExportTracePartialSuccess`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportPartialSuccess {
    #[prost(int64, tag = "1")]
    pub rejected_spans: i64,
    #[prost(bytes = "bytes", tag = "2")]
    pub error_message: Bytes,
}

/// `ResourceSpans`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<TelemetryResource>,
    #[prost(message, repeated, tag = "2")]
    pub scope_spans: Vec<ScopeSpans>,
}

/// `Resource`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TelemetryResource {
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<SpanAttribute>,
}

/// `ScopeSpans`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    pub scope: Option<InstrumentationScope>,
    #[prost(message, repeated, tag = "2")]
    pub spans: Vec<ExportedSpan>,
}

/// `InstrumentationScope`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct InstrumentationScope {
    #[prost(bytes = "bytes", tag = "1")]
    pub name: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub version: Bytes,
}

/// `Span`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportedSpan {
    #[prost(bytes = "bytes", tag = "1")]
    pub trace_id: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub span_id: Bytes,
    #[prost(bytes = "bytes", tag = "3")]
    pub trace_state: Bytes,
    #[prost(bytes = "bytes", tag = "4")]
    pub parent_span_id: Bytes,
    #[prost(bytes = "bytes", tag = "5")]
    pub name: Bytes,
    #[prost(int32, tag = "6")]
    pub kind: i32,
    #[prost(fixed64, tag = "7")]
    pub start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    pub end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    pub attributes: Vec<SpanAttribute>,
    #[prost(message, optional, tag = "15")]
    pub status: Option<SpanStatus>,
    #[prost(fixed32, tag = "16")]
    pub flags: u32,
}

/// `Status`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SpanStatus {
    #[prost(bytes = "bytes", tag = "2")]
    pub message: Bytes,
    #[prost(int32, tag = "3")]
    pub code: i32,
}

/// `KeyValue`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SpanAttribute {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    #[prost(message, optional, tag = "2")]
    pub value: Option<AttributeValue>,
}

/// `AnyValue`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AttributeValue {
    #[prost(oneof = "AttributeValueKind", tags = "1, 2, 3, 4")]
    pub value: Option<AttributeValueKind>,
}

/// The value of an `AnyValue`.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum AttributeValueKind {
    #[prost(bytes = "bytes", tag = "1")]
    String(Bytes),
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(int64, tag = "3")]
    Int(i64),
    #[prost(double, tag = "4")]
    Double(f64),
}
