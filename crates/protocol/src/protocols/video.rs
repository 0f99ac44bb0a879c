//! `video`: the gateway's own video tasks, `POST /v1/video/generations`, for channels of any family.

use super::chat;
use super::descriptor::{
    DuplicateRequestCost, GenAiTraceNames, GenerationMedium, MODEL_MEMBER, ProtocolDescriptor,
    ProtocolHeaders, TaskApiFormat, no_older_spellings,
};
use crate::response_text::TextPlaces;
use crate::response_verdict::{MemberMeaning, MemberValue, SuccessShape};
use crate::stream::StreamShape;
use crate::usage::{UsageCount, UsageShape};

/// The generic video protocol.
pub(super) static DESCRIPTOR: ProtocolDescriptor = TASKS;

/// What all protocols with video tasks have in common.
pub(super) const TASKS: ProtocolDescriptor = ProtocolDescriptor {
    name: "video",
    path: "/v1/video/generations",
    stream_path: None,
    websocket: None,
    further_paths: &[],
    clouds: None,
    medium: GenerationMedium::Video,
    cost: DuplicateRequestCost::PaidWork,
    tasks: Some(TaskApiFormat::Generic),
    served_by: None,
    forms: None,
    is_form_only: false,
    model_member: MODEL_MEMBER,
    has_model_list: false,
    has_request_id_in_body: true,
    headers: &ProtocolHeaders::NONE,
    rate_limits: &chat::RATE_LIMITS,
    errors: chat::ERRORS,
    // Families are data; these are the places where the known ones have a task.
    success: SuccessShape {
        list: None,
        members: &[
            ("id", MemberValue::Text, MemberMeaning::Result),
            ("task_id", MemberValue::Text, MemberMeaning::Result),
            ("output", MemberValue::Object, MemberMeaning::Result),
            ("data", MemberValue::Object, MemberMeaning::Result),
            ("task", MemberValue::Object, MemberMeaning::Result),
            ("result", MemberValue::Object, MemberMeaning::Result),
        ],
    },
    streams: StreamShape::NONE,
    // The tokens of a video are all output; family B counts seconds instead.
    usage: UsageShape {
        own_place: None,
        in_event: &["usage"],
        in_first_event: None,
        counts: &[
            ("", "completion_tokens", UsageCount::Output),
            ("", "total_tokens", UsageCount::Total),
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
        output_type: Some("video"),
        provider: None,
    },
};
