//! `keep_own`: filters a list response down to the entries that were issued to the caller.

mod next_page;

use bytes::{Bytes, BytesMut};
use headgate_core::filter::descriptor::{ChainSide, FilterChainRules, FilterDescriptor};
use headgate_core::filter::response_inputs::ResponseVaryInputs;
use headgate_core::filter::view::ResponseView;
use headgate_core::filter::{Filter, FilterDeclaration, HookResult, ResponseBodyAccess};
use headgate_core::state::StateStore;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::ids;
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits};
use http::header;
use next_page::RestOfList;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "keep_own",
    summary: "Filters a list response (`data`) down to the entries whose `id` was issued to this caller.",
    side: ChainSide::Response,
    placement: FilterChainRules::ALWAYS,
    settings: None,
    bare: true,
    build: |_, context| {
        Ok(Arc::new(KeepOwnEntriesFilter {
            state: context.state.clone(),
        }))
    },
};

/// The maximum number of pages that are read until one has an entry of the caller.
const PAGES_MAX: usize = 20;

struct KeepOwnEntriesFilter {
    state: Arc<dyn StateStore>,
}

impl Filter for KeepOwnEntriesFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            response_body: ResponseBodyAccess::Replace,
            ..FilterDeclaration::default()
        }
    }

    fn add_response_inputs(&self, inputs: &mut ResponseVaryInputs) {
        inputs.add_caller();
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        if !response.status.is_success() {
            return HookResult::done();
        }
        HookResult::later(async move {
            let mut list = JsonDocument::parse(body.clone(), &JsonLimits::default())
                .map_err(|malformed| unreadable().source(malformed))?;
            for page in 1.. {
                let Some(data) = list.root().get("data") else {
                    // A POST on the same path responds with the created object, not with a list.
                    return match list.root().get("id") {
                        Some(_) => Ok(()),
                        None => Err(unreadable()),
                    };
                };
                let own = self.own(response, data).await?;
                if own.is_empty()
                    && let Some(next) = next_page(&list, page, response).await?
                {
                    list = next;
                    continue;
                }
                *body = rewritten(&list, data, &own);
                response.headers.remove(header::CONTENT_LENGTH);
                break;
            }
            Ok(())
        })
    }
}

impl KeepOwnEntriesFilter {
    async fn own<'d>(
        &self,
        response: &ResponseView<'_>,
        data: DocumentNode<'d>,
    ) -> Result<Vec<DocumentNode<'d>>, Fault> {
        let (Some(caller), Some(candidate)) = (&response.request.caller, response.candidate) else {
            return Ok(Vec::new());
        };
        let mut own = Vec::new();
        for entry in data.elements() {
            let Some(id) = entry.get("id").and_then(|id| id.as_str()) else {
                continue;
            };
            let made_on = self.state.find_channel(&caller.name, &id).get().await;
            let made_on = made_on.map_err(|unavailable| {
                Fault::new(
                    FaultKind::Overloaded,
                    "the gateway cannot look up the ids of the list: its state store is unreachable; try again",
                )
                .source(unavailable)
            })?;
            if made_on.is_some_and(|channel| channel == candidate.channel.name) {
                // What a batch has written since its caller saw it belongs to the caller, too.
                for made in ids::made_in_body(entry.raw()).others {
                    self.state
                        .remember(&caller.name, &made, &candidate.channel.name);
                }
                own.push(entry);
            }
        }
        Ok(own)
    }
}

/// The page after one without an entry of the caller; `None` if that was the last one.
///
/// Clients take a page without entries for the end of the list, whatever its `has_more`, and they have no id after which
/// they could ask for more. So a page that is not the end is never sent without an entry.
async fn next_page(
    list: &JsonDocument,
    pages: usize,
    response: &ResponseView<'_>,
) -> Result<Option<JsonDocument>, Fault> {
    let (next, candidate) = match (
        RestOfList::after(list, response.request),
        response.candidate,
    ) {
        (RestOfList::End, _) | (_, None) => return Ok(None),
        (RestOfList::Unreachable, _) => {
            return Err(Fault::new(
                FaultKind::Invalid,
                "no entry of this page is of this API key, and the gateway cannot read the pages beyond it; list the other way, with `after`",
            ));
        }
        (RestOfList::Page(_), _) if pages == PAGES_MAX => {
            let message = format!(
                "no entry of the first {PAGES_MAX} pages is of this API key, and there are more; set `limit` to the largest that the provider allows"
            );
            return Err(Fault::new(FaultKind::Invalid, message).param("limit"));
        }
        (RestOfList::Page(next), Some(candidate)) => (next, candidate),
    };
    next.fetch(response.request, candidate).await
}

/// The list with only these entries; `first_id` and `last_id` are set to match.
fn rewritten(list: &JsonDocument, data: DocumentNode<'_>, own: &[DocumentNode<'_>]) -> Bytes {
    let mut entries = BytesMut::from(&b"["[..]);
    for (index, entry) in own.iter().enumerate() {
        if index > 0 {
            entries.extend_from_slice(b",");
        }
        entries.extend_from_slice(entry.raw());
    }
    entries.extend_from_slice(b"]");
    let mut edits = JsonEdits::default();
    edits.replace(data.span(), entries.freeze());
    for (key, entry) in [("first_id", own.first()), ("last_id", own.last())] {
        if let Some(named) = list.root().get(key) {
            let id = entry
                .and_then(|entry| entry.get("id"))
                .map(DocumentNode::raw);
            edits.replace(named.span(), Bytes::copy_from_slice(id.unwrap_or(b"null")));
        }
    }
    edits.apply(list.body()).to_bytes()
}

/// A list that cannot be parsed cannot be filtered, so the caller gets an error.
fn unreadable() -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider's list is not valid JSON or too large; try again, and tell the operator of this gateway if the error persists",
    )
}
