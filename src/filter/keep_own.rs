//! `keep_own`: of a list, a caller sees what was made for it.

use super::kind::{FilterKind, Place, Side};
use super::view::AnswerView;
use super::{Access, Declaration, Filter, Step};
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::json::edit::Edits;
use crate::protocol::json::{Document, Limits, Node};
use crate::state::Store;
use bytes::{Bytes, BytesMut};
use http::header;
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "keep_own",
    summary: "Keeps of a list (`data`) only the entries whose `id` this caller got here.",
    side: Side::Response,
    place: Place::ANYWHERE,
    settings: None,
    bare: true,
    build: |_, parts| {
        Ok(Arc::new(KeepOwn {
            state: parts.state.clone(),
        }))
    },
};

struct KeepOwn {
    state: Arc<dyn Store>,
}

impl Filter for KeepOwn {
    fn declare(&self) -> Declaration {
        Declaration {
            response_body: Access::Replace,
            ..Declaration::default()
        }
    }

    fn on_response_body<'a>(
        &'a self,
        answer: &'a mut AnswerView<'_>,
        body: &'a mut Bytes,
    ) -> Step<'a, ()> {
        if !answer.status.is_success() {
            return Step::done();
        }
        Step::later(async move {
            let list = Document::parse(body.clone(), &Limits::default())
                .map_err(|malformed| unreadable().source(malformed))?;
            let Some(data) = list.root().get("data") else {
                // The answer to a POST on the same path is what was made, and no list.
                return match list.root().get("id") {
                    Some(_) => Ok(()),
                    None => Err(unreadable()),
                };
            };
            let own = self.own(answer, data).await?;
            *body = rewritten(&list, data, &own);
            answer.headers.remove(header::CONTENT_LENGTH);
            Ok(())
        })
    }
}

impl KeepOwn {
    async fn own<'d>(
        &self,
        answer: &AnswerView<'_>,
        data: Node<'d>,
    ) -> Result<Vec<Node<'d>>, Fault> {
        let (Some(caller), Some(candidate)) = (&answer.request.caller, answer.candidate) else {
            return Ok(Vec::new());
        };
        let mut own = Vec::new();
        for entry in data.elements() {
            let Some(id) = entry.get("id").and_then(|id| id.as_str()) else {
                continue;
            };
            let made_on = self.state.channel_of(&caller.name, &id).get().await;
            let made_on = made_on.map_err(|unavailable| {
                Fault::new(
                    FaultKind::Overloaded,
                    "the gateway cannot look up the list's ids now; try again",
                )
                .source(unavailable)
            })?;
            if made_on.is_some_and(|channel| channel == candidate.channel.name) {
                own.push(entry);
            }
        }
        Ok(own)
    }
}

/// The list with these entries alone; its first and last id are theirs.
fn rewritten(list: &Document, data: Node<'_>, own: &[Node<'_>]) -> Bytes {
    let mut entries = BytesMut::from(&b"["[..]);
    for (index, entry) in own.iter().enumerate() {
        if index > 0 {
            entries.extend_from_slice(b",");
        }
        entries.extend_from_slice(entry.raw());
    }
    entries.extend_from_slice(b"]");
    let mut edits = Edits::default();
    edits.replace(data.span(), entries.freeze());
    for (key, entry) in [("first_id", own.first()), ("last_id", own.last())] {
        if let Some(named) = list.root().get(key) {
            let id = entry.and_then(|entry| entry.get("id")).map(Node::raw);
            edits.replace(named.span(), Bytes::copy_from_slice(id.unwrap_or(b"null")));
        }
    }
    let segments = edits.apply(list.body());
    let mut body = BytesMut::with_capacity(segments.len());
    segments
        .iter()
        .for_each(|segment| body.extend_from_slice(segment));
    body.freeze()
}

/// What cannot be looked through cannot be shown.
fn unreadable() -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider's list cannot be read; try again, and tell the operator of this gateway if it stays so",
    )
}
