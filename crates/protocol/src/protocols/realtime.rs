//! `realtime`: `GET /v1/realtime` as a WebSocket, as OpenAI's reference of its realtime API defines it. The query names the model.

use super::chat;
use super::descriptor::{
    DuplicateRequestCost, GenAiTraceNames, GenerationMedium, MODEL_MEMBER, ProtocolDescriptor,
    ProtocolHeaders, ProviderResponseStorage, WebSocketMessages, no_older_spellings,
};
use crate::response_text::TextPlaces;
use crate::response_verdict::SuccessShape;
use crate::stream::StreamShape;
use crate::usage::{UsageCount, UsageShape};

/// The realtime protocol. The request of an exchange is `{"model": …}`, since filters read no messages of a session.
pub(super) static DESCRIPTOR: ProtocolDescriptor = ProtocolDescriptor {
    name: "realtime",
    path: "/v1/realtime",
    stream_path: None,
    websocket: Some(WebSocketMessages::SessionEvents),
    further_paths: &[],
    clouds: None,
    medium: GenerationMedium::Audio,
    cost: DuplicateRequestCost::Tokens(ProviderResponseStorage::Never),
    tasks: None,
    served_by: None,
    forms: None,
    is_form_only: false,
    model_member: MODEL_MEMBER,
    has_model_list: true,
    has_request_id_in_body: false,
    headers: &ProtocolHeaders::NONE,
    rate_limits: &chat::RATE_LIMITS,
    errors: chat::ERRORS,
    success: SuccessShape {
        list: None,
        members: &[],
    },
    streams: StreamShape::NONE,
    // Of `response.done`.
    usage: UsageShape {
        own_place: None,
        in_event: &["response", "usage"],
        in_first_event: None,
        counts: &[
            ("", "input_tokens", UsageCount::Input),
            ("", "output_tokens", UsageCount::Output),
            ("", "total_tokens", UsageCount::Total),
            (
                "input_token_details",
                "cached_tokens",
                UsageCount::CachedInput,
            ),
        ],
        input_excludes_cache: false,
        is_optional_in_streams: false,
    },
    models: chat::MODELS,
    id_events: &[],
    sealed_content: None,
    conversation: None,
    translation: None,
    texts: TextPlaces::PLAIN,
    normalise: no_older_spellings,
    batch: None,
    traces: GenAiTraceNames {
        operation: "generate_content",
        output_type: Some("speech"),
        provider: Some("openai"),
    },
};
