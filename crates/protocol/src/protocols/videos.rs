//! `videos`: `POST /v1/videos`, as OpenAI's SDKs send it, for channels of any family.
//!
//! OpenAI's own API of this shape ended on 2026-09-24; `resources/videos.py` of its SDK is the source of all shapes.

use super::descriptor::{FormReading, ProtocolDescriptor, TaskApiFormat};
use super::video::TASKS;
use super::{GenAiTraceNames, Protocol};
use crate::video_form;

/// The protocol of OpenAI's videos. Channels speak the generic one.
pub(super) static DESCRIPTOR: ProtocolDescriptor = ProtocolDescriptor {
    name: "videos",
    path: "/v1/videos",
    stream_path: None,
    websocket: None,
    further_paths: &[],
    clouds: None,
    tasks: Some(TaskApiFormat::OpenAi),
    served_by: Some(Protocol::Video),
    forms: Some(FormReading::Converted(video_form::encode_json)),
    has_request_id_in_body: false,
    traces: GenAiTraceNames {
        provider: None,
        ..TASKS.traces
    },
    ..TASKS
};
