//! `image_edit`: `POST /v1/images/edits`, as OpenAI's API reference defines it.

use super::descriptor::{
    DuplicateRequestCost, FormReading, GenAiTraceNames, GenerationMedium, KeptForm, MODEL_MEMBER,
    ProtocolDescriptor, ProtocolHeaders, no_older_spellings,
};
use super::{chat, responses};
use crate::error_body::{ErrorShape, error_json};
use crate::images;
use crate::response_text::TextPlaces;
use crate::response_verdict::{MemberMeaning, MemberValue, SuccessShape};
use crate::sse;
use crate::stream::{EventClass, StreamEnding, StreamFraming, StreamShape, event_type, has_error};
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// The image edit protocol.
pub(super) static DESCRIPTOR: ProtocolDescriptor = ProtocolDescriptor {
    name: "image_edit",
    path: "/v1/images/edits",
    stream_path: None,
    websocket: None,
    further_paths: &[],
    clouds: None,
    medium: GenerationMedium::Image,
    cost: DuplicateRequestCost::PaidWork,
    tasks: None,
    served_by: None,
    forms: Some(FormReading::Kept(KeptForm {
        describe: images::describe_form,
        normalise: images::name_as_list,
    })),
    is_form_only: false,
    model_member: MODEL_MEMBER,
    has_model_list: true,
    has_request_id_in_body: false,
    headers: &ProtocolHeaders::NONE,
    rate_limits: &chat::RATE_LIMITS,
    errors: ErrorShape {
        event: |fault, _, _| {
            sse::encode_event(Some("error"), &error_json(&chat::ChatErrorBody::new(fault)))
        },
        ..chat::ERRORS
    },
    success: SuccessShape {
        list: Some(&DATA),
        members: &[("data", MemberValue::List, MemberMeaning::Success)],
    },
    streams: StreamShape {
        classify,
        ending: Some(StreamEnding::LastEventOfEach),
        last_event_has_response: true,
        start_members: &[],
        own_last_event: None,
        framing: StreamFraming::ServerSentEvents,
    },
    usage: responses::USAGE,
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
        output_type: Some("image"),
        provider: Some("openai"),
    },
};

static DATA: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"data\""));

/// A partial image is content; the last event has the final image.
fn classify(name: Option<&[u8]>, data: &[u8]) -> EventClass {
    match name.or_else(|| event_type(data)) {
        Some(b"image_edit.completed" | b"image_generation.completed") => {
            EventClass::Terminal { failed: false }
        }
        Some(b"error") => EventClass::Error,
        _ if has_error(data) => EventClass::Error,
        _ => EventClass::Content,
    }
}
