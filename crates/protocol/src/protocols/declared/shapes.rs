//! The closed set of shapes that a declaration names.

use super::config::{
    BatchFormatConfig, BodyKindConfig, MediumConfig, StreamFormatConfig, StreamFormatName,
    SuccessMemberConfig,
};
use super::leaked::leaked_text;
use crate::batch::BatchFormat;
use crate::protocols::{FormReading, GenerationMedium, Protocol};
use crate::response_verdict::MemberValue;
use crate::stream::{EventClass, StreamEnding, StreamFraming, StreamShape, has_error};

/// Streams of any events that end with `[DONE]`.
const DONE_MARKER: StreamShape = StreamShape {
    classify: |name, data| match data {
        [b'[', b'D', b'O', b'N', b'E', b']', ..] => EventClass::Terminal { failed: false },
        _ if name == Some(b"error") || has_error(data) => EventClass::Error,
        _ => EventClass::Content,
    },
    ending: Some(StreamEnding::DoneMarker),
    last_event_has_response: false,
    start_members: &[],
    own_last_event: None,
    framing: StreamFraming::ServerSentEvents,
};

pub(super) fn medium(config: MediumConfig) -> GenerationMedium {
    match config {
        MediumConfig::Text => GenerationMedium::Text,
        MediumConfig::Image => GenerationMedium::Image,
        MediumConfig::Audio => GenerationMedium::Audio,
        MediumConfig::Transcript => GenerationMedium::Transcript,
        MediumConfig::Data => GenerationMedium::Data,
    }
}

pub(super) fn batch_format(config: BatchFormatConfig) -> BatchFormat {
    match config {
        BatchFormatConfig::File => BatchFormat::File,
        BatchFormatConfig::List => BatchFormat::List,
    }
}

/// The forms of a protocol whose requests are these, and whether there is no JSON.
pub(super) fn forms(config: BodyKindConfig) -> (Option<FormReading>, bool) {
    match config {
        BodyKindConfig::Json => (None, false),
        BodyKindConfig::Form => (Some(FormReading::PLAIN), true),
        BodyKindConfig::FormOrJson => (Some(FormReading::PLAIN), false),
    }
}

pub(super) fn stream_shape(config: &StreamFormatConfig) -> StreamShape {
    match config {
        StreamFormatConfig::Named(name) => named_stream_shape(*name),
        StreamFormatConfig::LastEvent(last) => StreamShape {
            own_last_event: Some(leaked_text(&last.last_event)),
            ending: Some(StreamEnding::LastEvent),
            ..StreamShape::NONE
        },
    }
}

fn named_stream_shape(name: StreamFormatName) -> StreamShape {
    match name {
        StreamFormatName::None => StreamShape::NONE,
        StreamFormatName::Chat => Protocol::Chat.descriptor().streams,
        StreamFormatName::Messages => Protocol::Messages.descriptor().streams,
        StreamFormatName::Responses => Protocol::Responses.descriptor().streams,
        StreamFormatName::ImageEdit => Protocol::ImageEdit.descriptor().streams,
        StreamFormatName::DoneMarker => DONE_MARKER,
    }
}

pub(super) fn member_value(config: SuccessMemberConfig) -> MemberValue {
    match config {
        SuccessMemberConfig::List => MemberValue::List,
        SuccessMemberConfig::Object => MemberValue::Object,
        SuccessMemberConfig::Text => MemberValue::Text,
    }
}
