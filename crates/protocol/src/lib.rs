//! Wire formats without I/O: JSON scan and edits, SSE framing, forms, usage, error bodies, JSON Schema.

pub mod batch;
pub mod caller_fields;
pub mod caller_key;
pub mod conversation;
pub mod credential_names;
pub mod data_uri;
pub mod date;
pub mod digits;
pub mod error_body;
pub mod error_class;
pub mod estimate;
pub mod fault;
pub mod field_name;
pub mod form;
pub mod header_policy;
pub mod header_values;
pub mod hex;
pub mod ids;
pub mod images;
pub mod json;
pub mod mask;
pub mod model_list;
pub mod nearest;
pub mod opaque_result;
pub mod percent_encoding;
mod protocols;
pub mod rate_limit_headers;
pub mod redact;
pub mod request_coding;
pub mod request_path;
pub mod response_text;
pub mod response_verdict;
pub mod retry_after;
pub mod sealed_content;
pub mod secret_shape;
pub mod shown_headers;
mod sooner_fault;
pub mod sse;
pub mod stream;
pub mod thought_maximum;
pub mod token_maximum;
pub mod upstream_request_id;
pub mod usage;
pub mod video_form;

pub use protocols::{
    BuiltInProtocolName, ChannelProtocol, CloudEndpoint, CloudRequestFormat, DeclaredProtocol,
    DuplicateRequestCost, ErrorBodyTemplateConfig, ErrorFormatConfig, FormReading, GenAiTraceNames,
    GenerationMedium, InvalidProtocol, Protocol, ProtocolConfig, ProtocolDescriptor,
    ProtocolHeaders, ProtocolHeadersConfig, ProtocolTable, ProviderCloud, ProviderResponseStorage,
    RetrySafetyConfig, SHIPPED_PROTOCOLS, StreamFormatConfig, TaskApiFormat, UsageConfig,
    WebSocketMessages,
};
