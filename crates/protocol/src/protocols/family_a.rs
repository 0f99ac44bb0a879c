//! `family_a`: video tasks with a list of content elements, as in Volcengine Ark's API.

use super::chat::{self, ChatErrorBody};
use super::descriptor::{GenAiTraceNames, ProtocolDescriptor, TaskApiFormat};
use super::video::TASKS;
use crate::error_body::{ErrorShape, error_json};
use crate::fault::{Fault, FaultKind};
use bytes::Bytes;

/// The protocol of family A.
pub(super) static DESCRIPTOR: ProtocolDescriptor = ProtocolDescriptor {
    name: "family_a",
    path: "/api/v3/contents/generations/tasks",
    stream_path: None,
    websocket: None,
    further_paths: &[],
    clouds: None,
    tasks: Some(TaskApiFormat::Native),
    errors: ErrorShape {
        body: error_body,
        ..chat::ERRORS
    },
    traces: GenAiTraceNames {
        provider: Some("family_a"),
        ..TASKS.traces
    },
    ..TASKS
};

/// The body has chat's keys; the SDK of the family recognises a refused key by this type and code.
fn error_body(fault: &Fault, _request_id: &str) -> Bytes {
    let mut body = ChatErrorBody::new(fault);
    if fault.kind == FaultKind::Unauthenticated {
        body.error.class = "Unauthorized";
        body.error.code = "AuthenticationError";
    }
    error_json(&body)
}
