//! `remember_ids`: stores which channel created the ids in a response.

use super::sealed_key::sealed_key;
use bytes::Bytes;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::descriptor::{ChainSide, FilterChainRules, FilterDescriptor};
use headgate_core::filter::view::{EventView, RequestDestination, RequestView, ResponseView};
use headgate_core::filter::{Filter, FilterDeclaration, HookResult, ResponseBodyAccess};
use headgate_core::state::StateStore;
use headgate_protocol::ids::CreatedIds;
use headgate_protocol::json::{DocumentNode, skim};
use headgate_protocol::request_path::segment_text;
use headgate_protocol::{
    DuplicateRequestCost, Protocol, ProviderResponseStorage, ids, sealed_content,
};
use http::Method;
use std::ops::Range;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "remember_ids",
    summary: "Stores which channel created the response, conversation, file, container, upload, vector store or stored chat completion of a response, for `follow_ids`; removes what was deleted.",
    side: ChainSide::Response,
    placement: FilterChainRules::ANYWHERE,
    settings: None,
    bare: true,
    build: |_, context| {
        Ok(Arc::new(RememberIdsFilter {
            state: context.state.clone(),
        }))
    },
};

/// Maximum length of a stored id, in bytes. Providers' ids have a few dozen.
const ID_BYTES_MAX: usize = 256;
/// Maximum number of ids that are stored for one response besides its own. A regular response has only a few.
const OTHERS_MAX: usize = 256;

/// Ids in the response other than its own.
#[derive(Default)]
struct RememberedNestedIds(Vec<String>);

/// Ids of the request that the response may repeat.
#[derive(Default)]
struct RepeatableIds(Vec<String>);

/// The response has audio, to which a request may refer.
#[derive(Default)]
struct AudioRequest;

/// The request asked the provider not to store its response, so that no request can refer to its items.
#[derive(Default)]
struct UnstoredResponse;

/// The request asked the provider to store its response.
#[derive(Default)]
struct ResponseStorageRequest;

struct RememberIdsFilter {
    state: Arc<dyn StateStore>,
}

impl Filter for RememberIdsFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            response_body: ResponseBodyAccess::Observe,
            events: ResponseBodyAccess::Observe,
            reads_upstream_events: true,
            ..FilterDeclaration::default()
        }
    }

    fn on_response_head<'a>(&'a self, response: &'a mut ResponseView<'_>) -> HookResult<'a, ()> {
        if response.status.is_success()
            && let Some(caller) = &response.request.caller
            && let Some(id) = deleted(response.request)
        {
            self.state.forget(&caller.name, id);
        }
        if response.request.protocol.is_some_and(stores_on_request) {
            let body = response.request.body.document();
            let members = body.map(|body| body.root().get_each(["store", "audio"]));
            let [store, audio] = members.unwrap_or_default();
            let is_stored = store.and_then(DocumentNode::as_bool) == Some(true);
            let has_audio = audio.is_some_and(|audio| !audio.is_null());
            if is_stored {
                let ResponseStorageRequest = response.request.state.get_or_default();
            }
            if has_audio {
                let AudioRequest = response.request.state.get_or_default();
            }
        } else if let Some(body) = response.request.body.document() {
            // The body is freed when a stream begins.
            let store = body.root().get("store").and_then(DocumentNode::as_bool);
            let repeatable = ids::repeatable_ids(body);
            if store == Some(false) {
                let UnstoredResponse = response.request.state.get_or_default();
            }
            if !repeatable.is_empty() {
                response.request.state.set(RepeatableIds(repeatable));
            }
        }
        HookResult::done()
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        let creates = response.status.is_success() && response.request.method != Method::DELETE;
        if creates && may_have_ids(response.request) {
            let made = ids::made_in_body(body);
            self.remember_sealed(response.request, response.candidate, body, &made.sealed);
            self.remember(response.request, response.candidate, made);
        }
        HookResult::done()
    }

    fn on_event<'a>(&'a self, view: &'a mut EventView<'_>) -> HookResult<'a, ()> {
        if let Some(protocol) = view.candidate.and_then(|candidate| candidate.protocol)
            && may_have_ids(view.request)
        {
            let (name, data) = (view.event.name(), view.event.data());
            let mut made = ids::made_in_event(protocol.descriptor().id_events, name, data);
            if view.request.state.get::<AudioRequest>().is_some() {
                made.others.extend(ids::audio_in_chunk(data));
            }
            self.remember_sealed(view.request, view.candidate, data, &made.sealed);
            let sealed = protocol.descriptor().sealed_content.as_ref();
            let has_signatures = sealed.is_some_and(|places| places.has_signature_events);
            if has_signatures && has_choice(view.request) {
                let signature = sealed_content::signature_in_event(name, data);
                self.remember_sealed(view.request, view.candidate, data, signature.as_slice());
            }
            self.remember(view.request, view.candidate, made);
        }
        HookResult::done()
    }
}

impl RememberIdsFilter {
    /// Stores which channel sealed these spans of `json`, if another channel could get them.
    fn remember_sealed(
        &self,
        request: &RequestView,
        candidate: Option<&Candidate>,
        json: &[u8],
        sealed: &[Range<usize>],
    ) {
        let (Some(caller), Some(candidate)) = (&request.caller, candidate) else {
            return;
        };
        if sealed.is_empty() || !has_choice(request) {
            return;
        }
        let texts = sealed.iter().take(OTHERS_MAX);
        let texts = texts.filter_map(|span| skim::plain_string(json, span.clone()));
        for text in texts.filter(|text| !text.is_empty()) {
            let channel = &candidate.channel.name;
            self.state
                .remember(&caller.name, &sealed_key(text), channel);
        }
    }

    fn remember(&self, request: &mut RequestView, candidate: Option<&Candidate>, made: CreatedIds) {
        let (Some(caller), Some(candidate)) = (&request.caller, candidate) else {
            return;
        };
        let keep = |id: &str| {
            self.state
                .remember(&caller.name, id, &candidate.channel.name);
        };
        let stored = request.state.get::<ResponseStorageRequest>();
        let chat_completion = made.chat_completion.filter(|_| stored.is_some());
        if let Some(id) = made.own.or(chat_completion).filter(|id| is_sensible(id))
            && request.info.response_id.is_none()
        {
            keep(&id);
            request.info.response_id = Some(id);
        }
        let items = match request.state.get::<UnstoredResponse>() {
            None => made.items,
            Some(UnstoredResponse) => Vec::new(),
        };
        // Items are many; what else a response makes comes first.
        for id in made
            .others
            .into_iter()
            .chain(items)
            .filter(|id| is_sensible(id))
        {
            // What the caller has named is none that the response creates: whose it is was decided before.
            if let Some(RepeatableIds(named)) = request.state.get()
                && named.contains(&id)
            {
                continue;
            }
            let RememberedNestedIds(seen) = request.state.get_or_default();
            if seen.len() < OTHERS_MAX && !seen.contains(&id) {
                keep(&id);
                seen.push(id);
            }
        }
    }
}

/// Whether a provider stores a response only if the request asks for it.
fn stores_on_request(protocol: Protocol) -> bool {
    let on_request = DuplicateRequestCost::Tokens(ProviderResponseStorage::OnRequest);
    protocol.descriptor().cost == on_request
}

/// Whether a response or event may have ids that are worth something: each chunk of a chat completion has its id, which the
/// first one gives, and which names nothing unless it is stored.
fn may_have_ids(request: &RequestView) -> bool {
    !request.protocol.is_some_and(stores_on_request)
        || request.state.get::<AudioRequest>().is_some()
        || request.info.response_id.is_none()
            && request.state.get::<ResponseStorageRequest>().is_some()
}

/// Whether another channel could get a request like this one.
fn has_choice(request: &RequestView) -> bool {
    let destination = request.destination.as_ref();
    destination.is_some_and(RequestDestination::has_choice)
}

/// The id that the request deletes: the last segment of the path.
fn deleted(request: &RequestView) -> Option<&str> {
    let id = request.param("id")?;
    let (_, last) = request.path.rsplit_once('/')?;
    let ends_with_it = segment_text(last) == id;
    (request.method == Method::DELETE && ends_with_it).then_some(id)
}

/// Ids are stored and logged, so long or non-printable ones are skipped.
fn is_sensible(id: &str) -> bool {
    !id.is_empty() && id.len() <= ID_BYTES_MAX && id.bytes().all(|byte| byte.is_ascii_graphic())
}
