//! The closed set of shapes that a declaration names.

use super::config::{MediumConfig, StreamFormatConfig, SuccessMemberConfig};
use crate::protocols::{GenerationMedium, Protocol};
use crate::response_verdict::MemberValue;
use crate::stream::{EventClass, StreamEnding, StreamShape, has_error};

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
};

pub(super) fn medium(config: MediumConfig) -> GenerationMedium {
    match config {
        MediumConfig::Text => GenerationMedium::Text,
        MediumConfig::Image => GenerationMedium::Image,
        MediumConfig::Audio => GenerationMedium::Audio,
        MediumConfig::Data => GenerationMedium::Data,
    }
}

pub(super) fn stream_shape(config: StreamFormatConfig) -> StreamShape {
    match config {
        StreamFormatConfig::None => StreamShape::NONE,
        StreamFormatConfig::Chat => Protocol::Chat.descriptor().streams,
        StreamFormatConfig::Messages => Protocol::Messages.descriptor().streams,
        StreamFormatConfig::Responses => Protocol::Responses.descriptor().streams,
        StreamFormatConfig::ImageEdit => Protocol::ImageEdit.descriptor().streams,
        StreamFormatConfig::DoneMarker => DONE_MARKER,
    }
}

pub(super) fn member_value(config: SuccessMemberConfig) -> MemberValue {
    match config {
        SuccessMemberConfig::List => MemberValue::List,
        SuccessMemberConfig::Object => MemberValue::Object,
        SuccessMemberConfig::Text => MemberValue::Text,
    }
}
