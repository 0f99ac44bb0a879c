//! `messages`: `POST /v1/messages`, as Anthropic's API reference defines it.

mod errors;
mod models;

use super::cloud_requests::{CloudEndpoint, CloudRequestFormat};
use super::descriptor::{
    DuplicateRequestCost, GenAiTraceNames, GenerationMedium, MODEL_MEMBER, ProtocolDescriptor,
    ProtocolHeaders, ProviderResponseStorage,
};
use crate::conversation::{
    ConversationShape, ProviderFormat, ResponseMessages, StreamMessageCollector, StreamedPartKind,
    number, text,
};
use crate::ids::{IdEvent, IdObjectForm};
use crate::json::edit::JsonEdits;
use crate::json::{DocumentNode, JsonDocument};
use crate::rate_limit_headers::{CallerRateLimitHeaderFormat, ResetFormat};
use crate::response_text::TextPlaces;
use crate::response_verdict::{MemberMeaning, MemberValue, SuccessShape};
use crate::sealed_content::SealedContentPlaces;
use crate::stream::{EventClass, StreamEnding, StreamFraming, StreamShape, event_type};
use crate::usage::{UsageCount, UsageShape};
use bytes::Bytes;
use http::HeaderName;
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// The messages protocol.
pub(super) static DESCRIPTOR: ProtocolDescriptor = ProtocolDescriptor {
    name: "messages",
    path: "/v1/messages",
    stream_path: None,
    websocket: None,
    further_paths: &[],
    clouds: Some(&CLOUDS),
    medium: GenerationMedium::Text,
    cost: DuplicateRequestCost::Tokens(ProviderResponseStorage::Never),
    tasks: None,
    served_by: None,
    forms: None,
    is_form_only: false,
    model_member: MODEL_MEMBER,
    has_model_list: true,
    has_request_id_in_body: false,
    headers: &HEADERS,
    rate_limits: &RATE_LIMITS,
    errors: errors::ERRORS,
    success: SuccessShape {
        list: Some(&CONTENT),
        members: &[
            (
                "type",
                MemberValue::OneOf(&["message"]),
                MemberMeaning::Success,
            ),
            ("content", MemberValue::List, MemberMeaning::Success),
        ],
    },
    streams: StreamShape {
        classify,
        ending: Some(StreamEnding::LastEvent),
        last_event_has_response: false,
        start_members: &["stop_reason", "stop_sequence"],
        own_last_event: None,
        framing: StreamFraming::ServerSentEvents,
    },
    usage: UsageShape {
        own_place: None,
        in_event: &["usage"],
        in_first_event: Some(&["message", "usage"]),
        counts: &[
            ("", "input_tokens", UsageCount::Input),
            ("", "output_tokens", UsageCount::Output),
            ("", "cache_read_input_tokens", UsageCount::CachedInput),
            ("", "cache_creation_input_tokens", UsageCount::CacheWrite),
            (
                "output_tokens_details",
                "thinking_tokens",
                UsageCount::Reasoning,
            ),
        ],
        input_excludes_cache: true,
        is_optional_in_streams: false,
    },
    models: models::MODELS,
    id_events: &[
        IdEvent {
            name: "message_start",
            member: "message",
            form: IdObjectForm::Response,
        },
        IdEvent {
            name: "message_delta",
            member: "delta",
            form: IdObjectForm::Response,
        },
        IdEvent {
            name: "content_block_start",
            member: "content_block",
            form: IdObjectForm::Block,
        },
    ],
    sealed_content: Some(SealedContentPlaces {
        list: "messages",
        blocks: Some("content"),
        members: &[("thinking", "signature"), ("redacted_thinking", "data")],
        has_signature_events: true,
    }),
    translation: Some(ProviderFormat::Messages),
    conversation: Some(ConversationShape {
        tools: "tools",
        instructions: Some("system"),
        messages: "messages",
        output_limits: &["max_tokens"],
        response: ResponseMessages::One {
            parts: "content",
            reason: "stop_reason",
        },
        add_event,
    }),
    texts: TextPlaces {
        has_response_objects: false,
        first_piece: Some("content_block"),
    },
    normalise: normalise_tool_choice,
    batch: None,
    traces: GenAiTraceNames {
        operation: "chat",
        output_type: None,
        provider: Some("anthropic"),
    },
};

static HEADERS: ProtocolHeaders = ProtocolHeaders {
    api_key: Some(HeaderName::from_static("x-api-key")),
    version: Some((HeaderName::from_static("anthropic-version"), "2023-06-01")),
    request_id: Some(HeaderName::from_static("request-id")),
};

/// Vertex AI and Amazon Bedrock, by Anthropic's pages about Claude on them.
static CLOUDS: CloudRequestFormat = CloudRequestFormat {
    endpoints: &[
        CloudEndpoint {
            end: ":rawPredict",
            is_stream: false,
            framing: StreamFraming::ServerSentEvents,
        },
        CloudEndpoint {
            end: ":streamRawPredict",
            is_stream: true,
            framing: StreamFraming::ServerSentEvents,
        },
        CloudEndpoint {
            end: "/invoke",
            is_stream: false,
            framing: StreamFraming::ServerSentEvents,
        },
        CloudEndpoint {
            end: "/invoke-with-response-stream",
            is_stream: true,
            framing: StreamFraming::AmazonChunks,
        },
    ],
    version: "anthropic_version",
    list: ("anthropic_beta", HeaderName::from_static("anthropic-beta")),
};

static RATE_LIMITS: CallerRateLimitHeaderFormat = CallerRateLimitHeaderFormat {
    requests: [
        HeaderName::from_static("anthropic-ratelimit-requests-limit"),
        HeaderName::from_static("anthropic-ratelimit-requests-remaining"),
        HeaderName::from_static("anthropic-ratelimit-requests-reset"),
    ],
    tokens: [
        HeaderName::from_static("anthropic-ratelimit-tokens-limit"),
        HeaderName::from_static("anthropic-ratelimit-tokens-remaining"),
        HeaderName::from_static("anthropic-ratelimit-tokens-reset"),
    ],
    reset: ResetFormat::Time,
};

static CONTENT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"content\""));

fn classify(name: Option<&[u8]>, data: &[u8]) -> EventClass {
    match name.or_else(|| event_type(data)) {
        Some(b"message_start" | b"content_block_start") => EventClass::Framing,
        Some(b"ping") => EventClass::Ping,
        Some(b"message_stop") => EventClass::Terminal { failed: false },
        Some(b"error") => EventClass::Error,
        _ => EventClass::Content,
    }
}

/// Replaces a `tool_choice` that is a text, as in chat, by its object.
fn normalise_tool_choice(body: &JsonDocument, edits: &mut JsonEdits) {
    if let Some(choice) = body.root().get("tool_choice")
        && let Some(word @ ("auto" | "any" | "none")) = choice.as_str().as_deref()
    {
        let object = format!(r#"{{"type":"{word}"}}"#);
        edits.replace(choice.span(), Bytes::from(object));
    }
}

fn add_event(messages: &mut StreamMessageCollector, event: DocumentNode<'_>) {
    let index = number(event, "index");
    if let Some(block) = event.get("content_block") {
        if text(block, "type") == "tool_use" {
            let place = (StreamedPartKind::ToolCall, index, 0);
            messages.name(0, place, &text(block, "id"), &text(block, "name"));
        }
        messages.append(0, (StreamedPartKind::Text, index, 0), text(block, "text"));
    }
    let Some(delta) = event.get("delta") else {
        return;
    };
    for (form, name) in [
        (StreamedPartKind::Text, "text"),
        (StreamedPartKind::Reasoning, "thinking"),
        (StreamedPartKind::ToolCall, "partial_json"),
    ] {
        messages.append(0, (form, index, 0), text(delta, name));
    }
    messages.end(0, text(delta, "stop_reason"));
}
