//! `responses`: `POST /v1/responses`, as OpenAI's API reference defines it.

mod events;

use super::chat;
use super::descriptor::{
    DuplicateRequestCost, GenAiTraceNames, GenerationMedium, MODEL_MEMBER, ProtocolDescriptor,
    ProtocolHeaders, ProviderResponseStorage, WebSocketMessages,
};
use crate::conversation::{ConversationShape, ProviderFormat, ResponseMessages};
use crate::error_body::{ErrorShape, error_json};
use crate::fault::Fault;
use crate::response_text::TextPlaces;
use crate::response_verdict::{MemberMeaning, MemberValue, SuccessShape};
use crate::sealed_content::SealedContentPlaces;
use crate::sse;
use crate::stream::{StreamEnding, StreamFraming, StreamShape};
use crate::usage::{UsageCount, UsageShape};
use serde::Serialize;

/// The responses protocol.
pub(super) static DESCRIPTOR: ProtocolDescriptor = ProtocolDescriptor {
    name: "responses",
    path: "/v1/responses",
    stream_path: None,
    websocket: Some(WebSocketMessages::Requests),
    further_paths: &[],
    clouds: None,
    medium: GenerationMedium::Text,
    cost: DuplicateRequestCost::Tokens(ProviderResponseStorage::ByDefault),
    tasks: None,
    served_by: None,
    forms: None,
    is_form_only: false,
    model_member: MODEL_MEMBER,
    has_model_list: true,
    has_request_id_in_body: false,
    headers: &ProtocolHeaders::NONE,
    rate_limits: &chat::RATE_LIMITS,
    errors: ErrorShape {
        event: |fault, _, sequence| {
            sse::encode_event(
                Some("error"),
                &error_json(&ResponsesErrorEvent::new(fault, sequence)),
            )
        },
        ..chat::ERRORS
    },
    // The status comes first at most providers. An incomplete response is a success with a reason.
    success: SuccessShape {
        list: None,
        members: &[
            (
                "status",
                MemberValue::OneOf(&["failed"]),
                MemberMeaning::Failure,
            ),
            (
                "status",
                MemberValue::OneOf(&[
                    "completed",
                    "incomplete",
                    "in_progress",
                    "queued",
                    "cancelled",
                ]),
                MemberMeaning::Success,
            ),
            ("output", MemberValue::List, MemberMeaning::Result),
        ],
    },
    streams: StreamShape {
        classify: events::classify,
        ending: Some(StreamEnding::LastEvent),
        last_event_has_response: true,
        start_members: &[],
        own_last_event: None,
        framing: StreamFraming::ServerSentEvents,
    },
    usage: UsageShape {
        in_event: &["response", "usage"],
        ..USAGE
    },
    models: chat::MODELS,
    id_events: events::ID_EVENTS,
    sealed_content: Some(SealedContentPlaces {
        list: "input",
        blocks: None,
        members: &[("", "encrypted_content")],
        has_signature_events: false,
    }),
    translation: Some(ProviderFormat::Responses),
    conversation: Some(ConversationShape {
        tools: "tools",
        instructions: Some("instructions"),
        messages: "input",
        output_limits: &["max_output_tokens"],
        response: ResponseMessages::One {
            parts: "output",
            reason: "status",
        },
        add_event: events::add_event,
    }),
    texts: TextPlaces {
        has_response_objects: true,
        first_piece: None,
    },
    normalise: chat::normalise_retention,
    batch: None,
    traces: GenAiTraceNames {
        operation: "chat",
        output_type: None,
        provider: Some("openai"),
    },
};

/// The usage of responses and of images.
pub(super) const USAGE: UsageShape = UsageShape {
    own_place: None,
    in_event: &["usage"],
    in_first_event: None,
    counts: &[
        ("", "input_tokens", UsageCount::Input),
        ("", "output_tokens", UsageCount::Output),
        ("", "total_tokens", UsageCount::Total),
        (
            "input_tokens_details",
            "cached_tokens",
            UsageCount::CachedInput,
        ),
        (
            "input_tokens_details",
            "cache_write_tokens",
            UsageCount::CacheWrite,
        ),
        (
            "output_tokens_details",
            "reasoning_tokens",
            UsageCount::Reasoning,
        ),
    ],
    input_excludes_cache: false,
    is_optional_in_streams: false,
};

#[derive(Serialize)]
struct ResponsesErrorEvent<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    code: &'static str,
    message: &'a str,
    param: Option<&'a str>,
    sequence_number: u64,
}

impl<'a> ResponsesErrorEvent<'a> {
    fn new(fault: &'a Fault, sequence: u64) -> Self {
        Self {
            kind: "error",
            code: fault.kind.code(),
            message: &fault.message,
            param: fault.param.as_deref(),
            sequence_number: sequence,
        }
    }
}
