//! `remember_ids`: keeps which channel made what, read from the passing answer.

use super::kind::{FilterKind, Place, Side};
use super::view::{AnswerView, FrameView, RequestView};
use super::{Access, Declaration, Filter, Step};
use crate::catalog::model::Candidate;
use crate::protocol::Protocol;
use crate::protocol::ids::{self, MadeIds};
use crate::state::Store;
use bytes::Bytes;
use http::Method;
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "remember_ids",
    summary: "Keeps which channel made the response, conversation, file or container of an answer, for `follow_ids`; forgets what was deleted.",
    side: Side::Response,
    place: Place::ANYWHERE,
    settings: None,
    bare: true,
    build: |_, parts| {
        Ok(Arc::new(RememberIds {
            state: parts.state.clone(),
            protocol: parts.protocol,
        }))
    },
};

/// Providers' ids have a few dozen.
const ID_BYTES_MAX: usize = 256;
/// An answer names a handful; of one that names very many the rest is made up.
const OTHERS_MAX: usize = 64;

/// Ids that the response named besides its own.
#[derive(Default)]
struct OtherIds(Vec<String>);

struct RememberIds {
    state: Arc<dyn Store>,
    /// The streams of routes without one are not read.
    protocol: Option<Protocol>,
}

impl Filter for RememberIds {
    fn declare(&self) -> Declaration {
        Declaration {
            response_body: Access::Observe,
            events: Access::Observe,
            ..Declaration::default()
        }
    }

    fn on_response_head(&self, answer: &mut AnswerView<'_>) {
        if answer.status.is_success()
            && let Some(caller) = &answer.request.caller
            && let Some(id) = deleted(answer.request)
        {
            self.state.forget(&caller.name, id);
        }
    }

    fn on_response_body<'a>(
        &'a self,
        answer: &'a mut AnswerView<'_>,
        body: &'a mut Bytes,
    ) -> Step<'a, ()> {
        if answer.status.is_success() && answer.request.method != Method::DELETE {
            self.remember(answer.request, answer.candidate, ids::made_in_body(body));
        }
        Step::done()
    }

    fn on_event(&self, frame: &mut FrameView<'_>) {
        if let Some(protocol) = self.protocol {
            let made = ids::made_in_event(protocol, frame.event.name(), frame.event.data());
            self.remember(frame.request, frame.candidate, made);
        }
    }
}

impl RememberIds {
    fn remember(&self, request: &mut RequestView, candidate: Option<&Candidate>, made: MadeIds) {
        let (Some(caller), Some(candidate)) = (&request.caller, candidate) else {
            return;
        };
        let keep = |id: &str| {
            self.state
                .remember(&caller.name, id, &candidate.channel.name);
        };
        if let Some(id) = made.own.filter(|id| is_sensible(id))
            && request.info.response_id.is_none()
        {
            keep(&id);
            request.info.response_id = Some(id);
        }
        for id in made.others.into_iter().filter(|id| is_sensible(id)) {
            let OtherIds(seen) = request.state.get_or_default();
            if seen.len() < OTHERS_MAX && !seen.contains(&id) {
                keep(&id);
                seen.push(id);
            }
        }
    }
}

/// The id that the request deletes: the one its path ends with.
fn deleted(request: &RequestView) -> Option<&str> {
    let id = request.param("id")?;
    let ends_with_it = request.path.strip_suffix(id)?.ends_with('/');
    (request.method == Method::DELETE && ends_with_it).then_some(id)
}

/// Ids are kept and logged; one of no sensible shape is none that a caller will send again.
fn is_sensible(id: &str) -> bool {
    !id.is_empty() && id.len() <= ID_BYTES_MAX && id.bytes().all(|byte| byte.is_ascii_graphic())
}
