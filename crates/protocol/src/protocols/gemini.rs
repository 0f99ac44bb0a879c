//! `gemini`: `POST /v1beta/models/{model}:generateContent` and its streams, as Google's reference of the Gemini API defines them.
//! Channels of it also serve callers of other protocols, whose requests are translated.

mod errors;
mod events;
#[cfg(test)]
mod tests;

use super::chat;
use super::descriptor::{
    DuplicateRequestCost, GenAiTraceNames, GenerationMedium, MODEL_MEMBER, ProtocolDescriptor,
    ProtocolHeaders, ProviderResponseStorage, no_older_spellings,
};
use crate::caller_key::X_GOOG_API_KEY;
use crate::conversation::{ConversationShape, ProviderFormat, ResponseMessages};
use crate::response_text::TextPlaces;
use crate::response_verdict::{MemberMeaning, MemberValue, SuccessShape};
use crate::stream::{StreamEnding, StreamFraming, StreamShape};
use crate::usage::{UsageCount, UsageObjectPlace, UsageShape};
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// The protocol of Gemini's models.
pub(super) static DESCRIPTOR: LazyLock<ProtocolDescriptor> = LazyLock::new(|| ProtocolDescriptor {
    name: "gemini",
    path: "/v1/models/{model}:generateContent",
    stream_path: Some("/v1/models/{model}:streamGenerateContent?alt=sse"),
    websocket: None,
    further_paths: &["/v1/models/{model}:countTokens"],
    clouds: None,
    medium: GenerationMedium::Text,
    cost: DuplicateRequestCost::Tokens(ProviderResponseStorage::Never),
    tasks: None,
    served_by: None,
    forms: None,
    is_form_only: false,
    model_member: MODEL_MEMBER,
    // Their list has another form than those that are read.
    has_model_list: false,
    has_request_id_in_body: false,
    headers: &HEADERS,
    rate_limits: &chat::RATE_LIMITS,
    errors: errors::ERRORS,
    success: SuccessShape {
        list: Some(&CANDIDATES),
        members: &[
            ("candidates", MemberValue::List, MemberMeaning::Success),
            // A prompt that is blocked has no candidates.
            (
                "promptFeedback",
                MemberValue::Object,
                MemberMeaning::Success,
            ),
        ],
    },
    streams: StreamShape {
        classify: events::classify,
        ending: Some(StreamEnding::FinishReason),
        last_event_has_response: false,
        start_members: &[],
        own_last_event: None,
        framing: StreamFraming::ServerSentEvents,
    },
    usage: UsageShape {
        own_place: Some(&*USAGE_PLACE),
        in_event: &["usageMetadata"],
        in_first_event: None,
        counts: &[
            ("", "promptTokenCount", UsageCount::Input),
            ("", "toolUsePromptTokenCount", UsageCount::FurtherInput),
            ("", "candidatesTokenCount", UsageCount::Output),
            ("", "thoughtsTokenCount", UsageCount::FurtherReasoning),
            ("", "cachedContentTokenCount", UsageCount::CachedInput),
            ("", "totalTokenCount", UsageCount::Total),
        ],
        input_excludes_cache: false,
        is_optional_in_streams: false,
    },
    models: chat::MODELS,
    id_events: &[],
    sealed_content: None,
    conversation: Some(ConversationShape {
        tools: "tools",
        instructions: Some("systemInstruction"),
        messages: "contents",
        output_limits: &[
            "generationConfig.maxOutputTokens",
            // Google reads the names of protocol buffers, too.
            "generation_config.max_output_tokens",
            "generationConfig.max_output_tokens",
            "generation_config.maxOutputTokens",
        ],
        response: ResponseMessages::Candidates,
        add_event: events::add_chunk,
    }),
    translation: Some(ProviderFormat::Gemini),
    texts: TextPlaces::PLAIN,
    normalise: no_older_spellings,
    batch: None,
    traces: GenAiTraceNames {
        operation: "generate_content",
        output_type: None,
        provider: Some("gcp.gemini"),
    },
});

static HEADERS: ProtocolHeaders = ProtocolHeaders {
    api_key: Some(X_GOOG_API_KEY),
    version: None,
    request_id: None,
};

static CANDIDATES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"candidates\""));

static USAGE_PLACE: LazyLock<UsageObjectPlace> = LazyLock::new(|| UsageObjectPlace {
    path: &["usageMetadata"],
    duration: &[],
    key: Finder::new(b"\"usageMetadata\""),
});
