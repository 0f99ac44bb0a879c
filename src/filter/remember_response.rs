//! `remember_response`: keeps which channel made a response, read from the passing answer.

use super::kind::{FilterKind, Side};
use super::view::{AnswerView, FrameView, RequestView};
use super::{AnswerNeed, Filter};
use crate::catalog::model::Candidate;
use crate::protocol::stream;
use crate::state::Store;
use bytes::Bytes;
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "remember_response",
    summary: "Keeps which channel made a response, for `follow_response`.",
    side: Side::Response,
    settings: None,
    bare: true,
    build: |_, parts| {
        Ok(Arc::new(RememberResponse {
            state: parts.state.clone(),
        }))
    },
};

/// Providers' ids have a few dozen.
const ID_BYTES_MAX: usize = 256;

struct RememberResponse {
    state: Arc<dyn Store>,
}

impl Filter for RememberResponse {
    fn answer_need(&self) -> AnswerNeed {
        AnswerNeed::Observe
    }

    fn frame_need(&self) -> AnswerNeed {
        AnswerNeed::Observe
    }

    fn on_response_body(&self, answer: &mut AnswerView<'_>, body: &mut Bytes) {
        if answer.status.is_success()
            && let Some(id) = stream::response_id_in_body(body)
        {
            self.remember(answer.request, answer.candidate, id);
        }
    }

    fn on_frame(&self, frame: &mut FrameView<'_>) {
        if frame.request.facts.response_id.is_none()
            && let Some(id) = stream::response_id_in_event(frame.event.data())
        {
            self.remember(frame.request, frame.candidate, id);
        }
    }
}

impl RememberResponse {
    fn remember(&self, request: &mut RequestView, candidate: Option<&Candidate>, id: String) {
        // Ids are kept and logged; one of no sensible shape is none that a caller will send again.
        if id.len() > ID_BYTES_MAX || !id.bytes().all(|byte| byte.is_ascii_graphic()) {
            return;
        }
        if let (Some(caller), Some(candidate)) = (&request.caller, candidate) {
            self.state
                .remember(&caller.name, &id, &candidate.channel.name);
            request.facts.response_id = Some(id);
        }
    }
}
