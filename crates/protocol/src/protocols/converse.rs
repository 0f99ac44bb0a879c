//! `converse`: `POST /model/{model}/converse` and `/converse-stream`, as the API reference of Amazon Bedrock defines them.
//! Channels of it also serve callers of other protocols, whose requests are translated.

mod errors;

use super::chat;
use super::descriptor::{
    DuplicateRequestCost, GenAiTraceNames, GenerationMedium, MODEL_MEMBER, ProtocolDescriptor,
    ProtocolHeaders, ProviderResponseStorage, no_older_spellings,
};
use crate::conversation::{
    ConversationShape, ProviderFormat, ResponseMessages, StreamMessageCollector, StreamedPartKind,
    number, text,
};
use crate::json::DocumentNode;
use crate::response_text::TextPlaces;
use crate::response_verdict::{MemberMeaning, MemberValue, SuccessShape};
use crate::stream::{EventClass, StreamEnding, StreamFraming, StreamShape, has_error};
use crate::usage::{UsageCount, UsageShape};
use http::HeaderName;

/// The protocol of Amazon Bedrock.
pub(super) static DESCRIPTOR: ProtocolDescriptor = ProtocolDescriptor {
    name: "converse",
    path: "/model/{model}/converse",
    stream_path: Some("/model/{model}/converse-stream"),
    websocket: None,
    further_paths: &["/model/{model}/count-tokens"],
    clouds: None,
    medium: GenerationMedium::Text,
    cost: DuplicateRequestCost::Tokens(ProviderResponseStorage::Never),
    tasks: None,
    served_by: None,
    forms: None,
    is_form_only: false,
    model_member: MODEL_MEMBER,
    has_model_list: false,
    has_request_id_in_body: false,
    headers: &HEADERS,
    rate_limits: &chat::RATE_LIMITS,
    errors: errors::ERRORS,
    success: SuccessShape {
        list: None,
        members: &[("output", MemberValue::Object, MemberMeaning::Success)],
    },
    streams: StreamShape {
        classify,
        ending: Some(StreamEnding::LastEvent),
        last_event_has_response: false,
        start_members: &[],
        own_last_event: None,
        framing: StreamFraming::AmazonFrames,
    },
    usage: UsageShape {
        own_place: None,
        in_event: &["metadata", "usage"],
        in_first_event: None,
        counts: &[
            ("", "inputTokens", UsageCount::Input),
            ("", "outputTokens", UsageCount::Output),
            ("", "totalTokens", UsageCount::Total),
            ("", "cacheReadInputTokens", UsageCount::CachedInput),
            ("", "cacheWriteInputTokens", UsageCount::CacheWrite),
        ],
        input_excludes_cache: true,
        is_optional_in_streams: false,
    },
    models: chat::MODELS,
    id_events: &[],
    sealed_content: None,
    conversation: Some(ConversationShape {
        tools: "toolConfig",
        instructions: Some("system"),
        messages: "messages",
        output_limits: &["inferenceConfig.maxTokens"],
        response: ResponseMessages::Output,
        add_event,
    }),
    translation: Some(ProviderFormat::Converse),
    texts: TextPlaces::PLAIN,
    normalise: no_older_spellings,
    batch: None,
    traces: GenAiTraceNames {
        operation: "chat",
        output_type: None,
        provider: Some("aws.bedrock"),
    },
};

static HEADERS: ProtocolHeaders = ProtocolHeaders {
    api_key: None,
    version: None,
    request_id: Some(HeaderName::from_static("x-amzn-requestid")),
};

/// Events have their type as name. The last one has the usage.
fn classify(name: Option<&[u8]>, data: &[u8]) -> EventClass {
    match name {
        Some(b"messageStart" | b"contentBlockStart") => EventClass::Framing,
        Some(b"metadata") => EventClass::Terminal { failed: false },
        Some(b"error") => EventClass::Error,
        None if has_error(data) => EventClass::Error,
        Some(_) | None => EventClass::Content,
    }
}

fn add_event(messages: &mut StreamMessageCollector, event: DocumentNode<'_>) {
    if let Some(start) = event.get("contentBlockStart")
        && let Some(call) = start.pointer("/start/toolUse")
    {
        let index = number(start, "contentBlockIndex");
        let place = (StreamedPartKind::ToolCall, index, 0);
        messages.name(0, place, &text(call, "toolUseId"), &text(call, "name"));
    }
    if let Some(delta) = event.get("contentBlockDelta") {
        let index = number(delta, "contentBlockIndex");
        let piece = delta.get("delta").unwrap_or(delta);
        messages.append(0, (StreamedPartKind::Text, index, 0), text(piece, "text"));
        for (name, form, member) in [
            ("reasoningContent", StreamedPartKind::Reasoning, "text"),
            ("toolUse", StreamedPartKind::ToolCall, "input"),
        ] {
            if let Some(part) = piece.get(name) {
                messages.append(0, (form, index, 0), text(part, member));
            }
        }
    }
    if let Some(stop) = event.get("messageStop") {
        messages.end(0, text(stop, "stopReason"));
    }
}
