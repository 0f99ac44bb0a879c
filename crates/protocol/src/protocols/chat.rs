//! `chat`: `POST /v1/chat/completions`, as OpenAI's API reference defines it, and as many providers extend it.

mod errors;
mod events;
mod models;

pub(super) use errors::{ChatErrorBody, ERRORS};
pub(super) use models::MODELS;

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
use crate::stream::{StreamEnding, StreamFraming, StreamShape};
use crate::usage::{UsageCount, UsageShape};
use bytes::Bytes;
use http::HeaderName;
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// How Google's API for chat reports usage: tokens of thoughts are only in the total.
pub(super) static GOOGLE_USAGE: UsageShape = UsageShape {
    counts: &[
        ("", "prompt_tokens", UsageCount::Input),
        ("", "completion_tokens", UsageCount::Output),
        ("", "total_tokens", UsageCount::TotalWithThoughts),
        (
            "prompt_tokens_details",
            "cached_tokens",
            UsageCount::CachedInput,
        ),
        (
            "completion_tokens_details",
            "reasoning_tokens",
            UsageCount::Reasoning,
        ),
    ],
    is_optional_in_streams: true,
    ..UsageShape::NONE
};

/// The chat protocol.
pub(super) static DESCRIPTOR: ProtocolDescriptor = ProtocolDescriptor {
    name: "chat",
    path: "/v1/chat/completions",
    stream_path: None,
    websocket: None,
    further_paths: &[],
    clouds: None,
    medium: GenerationMedium::Text,
    cost: DuplicateRequestCost::Tokens(ProviderResponseStorage::OnRequest),
    tasks: None,
    served_by: None,
    forms: None,
    is_form_only: false,
    model_member: MODEL_MEMBER,
    has_model_list: true,
    has_request_id_in_body: false,
    headers: &ProtocolHeaders::NONE,
    rate_limits: &RATE_LIMITS,
    errors: ERRORS,
    success: SuccessShape {
        list: Some(&CHOICES),
        members: &[("choices", MemberValue::List, MemberMeaning::Success)],
    },
    streams: StreamShape {
        classify: events::classify,
        ending: Some(StreamEnding::DoneMarker),
        last_event_has_response: false,
        start_members: &[],
        own_last_event: None,
        framing: StreamFraming::ServerSentEvents,
    },
    usage: UsageShape {
        own_place: None,
        in_event: &["usage"],
        in_first_event: None,
        counts: &[
            ("", "prompt_tokens", UsageCount::Input),
            ("", "completion_tokens", UsageCount::Output),
            ("", "total_tokens", UsageCount::Total),
            (
                "prompt_tokens_details",
                "cached_tokens",
                UsageCount::CachedInput,
            ),
            (
                "prompt_tokens_details",
                "cache_write_tokens",
                UsageCount::CacheWrite,
            ),
            (
                "completion_tokens_details",
                "reasoning_tokens",
                UsageCount::Reasoning,
            ),
        ],
        input_excludes_cache: false,
        is_optional_in_streams: true,
    },
    models: MODELS,
    id_events: &[IdEvent {
        name: "",
        member: "id",
        form: IdObjectForm::ChatCompletionId,
    }],
    sealed_content: None,
    translation: Some(ProviderFormat::Chat),
    conversation: Some(ConversationShape {
        tools: "tools",
        instructions: None,
        messages: "messages",
        output_limits: &["max_completion_tokens", "max_tokens"],
        response: ResponseMessages::Choices,
        add_event: add_chunk,
    }),
    texts: TextPlaces::PLAIN,
    normalise: normalise_retention,
    batch: None,
    traces: GenAiTraceNames {
        operation: "chat",
        output_type: None,
        provider: Some("openai"),
    },
};

/// Rate limit headers as OpenAI names them; most providers do the same.
pub(super) static RATE_LIMITS: CallerRateLimitHeaderFormat = CallerRateLimitHeaderFormat {
    requests: [
        HeaderName::from_static("x-ratelimit-limit-requests"),
        HeaderName::from_static("x-ratelimit-remaining-requests"),
        HeaderName::from_static("x-ratelimit-reset-requests"),
    ],
    tokens: [
        HeaderName::from_static("x-ratelimit-limit-tokens"),
        HeaderName::from_static("x-ratelimit-remaining-tokens"),
        HeaderName::from_static("x-ratelimit-reset-tokens"),
    ],
    reset: ResetFormat::Duration,
};

static CHOICES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"choices\""));

/// Replaces `in-memory` by `in_memory`, which is the only spelling that all providers accept.
pub(super) fn normalise_retention(body: &JsonDocument, edits: &mut JsonEdits) {
    if let Some(retention) = body.root().get("prompt_cache_retention")
        && retention.as_str().as_deref() == Some("in-memory")
    {
        edits.replace(retention.span(), Bytes::from_static(br#""in_memory""#));
    }
}

fn add_chunk(messages: &mut StreamMessageCollector, chunk: DocumentNode<'_>) {
    let choices = chunk.get("choices").into_iter();
    for choice in choices.flat_map(DocumentNode::elements) {
        let index = number(choice, "index");
        if let Some(delta) = choice.get("delta") {
            messages.append(
                index,
                (StreamedPartKind::Text, 0, 0),
                text(delta, "content"),
            );
            messages.append(
                index,
                (StreamedPartKind::Text, 1, 0),
                text(delta, "refusal"),
            );
            let calls = delta.get("tool_calls").into_iter();
            for call in calls.flat_map(DocumentNode::elements) {
                let place = (StreamedPartKind::ToolCall, number(call, "index"), 0);
                let function = call.get("function").unwrap_or(call);
                messages.name(index, place, &text(call, "id"), &text(function, "name"));
                messages.append(index, place, text(function, "arguments"));
            }
        }
        messages.end(index, text(choice, "finish_reason"));
    }
}
