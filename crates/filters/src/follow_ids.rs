//! `follow_ids`: routes a request that refers to ids to the channel that created them.

use super::request_ids::{named_in_form, named_in_head};
use super::sealed_key::sealed_key;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::channel::Channel;
use headgate_core::filter::body_edit::EditedBody;
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite, FilterProvision,
};
use headgate_core::filter::view::{RequestDestination, RequestView};
use headgate_core::filter::{Filter, FilterAction, FilterDeclaration, HookResult};
use headgate_core::state::new_id::find_channel_of_new_id;
use headgate_core::state::{StateStore, StoreUnavailable};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::ids::{ReferencedId, ResourceIdKind};
use headgate_protocol::{GenerationMedium, ids, sealed_content};
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "follow_ids",
    summary: "Routes a request to the channel that created the ids it refers to: `{id}` in the path, or responses, conversations, files, containers and vector stores in the body; replies 404 for ids that were not issued to this caller.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        after: &["pin"],
        needs: &[FilterPrerequisite::Caller, FilterPrerequisite::Model],
        provides: &[FilterProvision::ChannelOf("id")],
        ..FilterChainRules::ALWAYS
    },
    settings: None,
    bare: true,
    build: |_, context| {
        Ok(Arc::new(RouteToCreatingChannelFilter {
            state: context.state.clone(),
            channels: context
                .catalog
                .channels()
                .map(|channel| channel.name.clone())
                .collect(),
            catalog: context.catalog.clone(),
        }))
    },
};

struct RouteToCreatingChannelFilter {
    state: Arc<dyn StateStore>,
    catalog: Arc<Catalog>,
    /// The names of all channels.
    channels: Vec<Arc<str>>,
}

impl Filter for RouteToCreatingChannelFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            reads_body: true,
            ..FilterDeclaration::default()
        }
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let named = named_in_head(request);
        if named.is_empty() {
            return HookResult::next();
        }
        HookResult::later(async move {
            let channel = self.one_channel(request, &named).await?;
            request.destination = Some(RequestDestination::bound_to(channel, request.protocol));
            Ok(FilterAction::Continue)
        })
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let document = request.body.document();
        let referred = document.map(ids::references_in_body).unwrap_or_default();
        if let Some(at) = referred.unreadable {
            return HookResult::fail(unreadable(&at));
        }
        let mut named = referred.ids;
        named.extend(named_in_form(request));
        let hosted = &request.hosted_files;
        named.retain(|named| !hosted.contains(&named.id));
        if named.is_empty() {
            return match sealed_keys(request) {
                keys if keys.is_empty() => HookResult::next(),
                keys => HookResult::later(self.prefer_reader(request, keys)),
            };
        }
        HookResult::later(async move {
            let channel = self.one_channel(request, &named).await?;
            keep_to(channel, request)?;
            Ok(FilterAction::Continue)
        })
    }

    fn check_edited_body(
        &self,
        request: &RequestView,
        edited: EditedBody<'_>,
    ) -> Result<(), Fault> {
        let named = request
            .body
            .document()
            .map_or_else(Vec::new, ids::named_in_body);
        let is_known = |id: &str| named.iter().any(|known| known.id == id);
        let edited = ids::references_in_body(edited.document);
        if let Some(at) = edited.unreadable {
            return Err(unreadable(&at));
        }
        let mut added = edited.ids.into_iter();
        match added.find(|added| !is_known(&added.id)) {
            None => Ok(()),
            Some(added) => Err(Fault::new(
                FaultKind::Internal,
                format!(
                    "the edit adds the id in `{}`, whose caller and channel are not checked",
                    added.at
                ),
            )),
        }
    }
}

impl RouteToCreatingChannelFilter {
    /// Prefers the channel that sealed the latest content of the request whose channel is known. Another one may refuse
    /// it, which leads to the next, so that an unreachable store is no reason to refuse the request.
    async fn prefer_reader(
        &self,
        request: &mut RequestView,
        keys: Vec<String>,
    ) -> Result<FilterAction, Fault> {
        let (Some(caller), Some(destination)) = (&request.caller, &mut request.destination) else {
            return Ok(FilterAction::Continue);
        };
        for key in &keys {
            match self.state.find_channel(&caller.name, key).get().await {
                Ok(Some(channel)) => {
                    destination.prefer(&channel);
                    break;
                }
                Ok(None) => {}
                Err(StoreUnavailable(_)) => break,
            }
        }
        Ok(FilterAction::Continue)
    }

    /// The channel that created all of these ids.
    async fn one_channel(
        &self,
        request: &RequestView,
        named: &[ReferencedId],
    ) -> Result<Arc<Channel>, Fault> {
        if named.len() > ids::NAMED_MAX {
            let message = format!(
                "the request refers to more than {} ids; send fewer",
                ids::NAMED_MAX
            );
            return Err(Fault::new(FaultKind::Invalid, message));
        }
        let mut found: Option<(Arc<Channel>, &ReferencedId)> = None;
        for (index, this) in named.iter().enumerate() {
            if named[..index].iter().any(|before| before.id == this.id) {
                continue;
            }
            let channel = self
                .resolve_channel(request, this)
                .await
                .map_err(|fault| match this.at.is_empty() {
                    true => fault,
                    false => fault.param(&this.at),
                })?;
            match &found {
                None => found = Some((channel, this)),
                Some((first, _)) if first.name == channel.name => {}
                Some((_, other)) => return Err(conflict_fault(&this.at, &other.at)),
            }
        }
        let (channel, _) = found.expect("an id was named");
        Ok(channel)
    }

    async fn resolve_channel(
        &self,
        request: &RequestView,
        named: &ReferencedId,
    ) -> Result<Arc<Channel>, Fault> {
        let ReferencedId { id, kind, .. } = named;
        let caller = request.caller.as_ref().ok_or_else(|| unknown(named))?;
        let made_on = match request.pinned {
            None => find_channel_of_new_id(&*self.state, &caller.name, id).await,
            // Such an id may be one that no gateway has created.
            Some(_) => self.state.find_channel(&caller.name, id).get().await,
        };
        match (made_on.map_err(store_fault)?, &request.pinned) {
            (Some(name), _) => self.catalog.channel(&name).cloned().ok_or_else(|| {
                gone(*kind).detail(format!(
                    "channel `{name}`, which created it, is not configured"
                ))
            }),
            (None, Some(pinned)) => {
                let owner = self.state.is_of_another(&caller.name, id, &self.channels);
                match owner.get().await.map_err(store_fault)? {
                    true => Err(unknown(named)),
                    false => Ok(pinned.clone()),
                }
            }
            (None, None) => Err(unknown(named)),
        }
    }
}

/// The keys of the sealed content in a request that several channels could get, the latest first.
fn sealed_keys(request: &RequestView) -> Vec<String> {
    let has_choice = request
        .destination
        .as_ref()
        .is_some_and(RequestDestination::has_choice);
    let body = request.body.document().filter(|_| has_choice);
    let Some((body, protocol)) = body.zip(request.protocol) else {
        return Vec::new();
    };
    let places = protocol.descriptor().sealed_content.as_ref();
    let texts = places.map(|places| sealed_content::in_request(places, body));
    let texts = texts.unwrap_or_default();
    texts.iter().map(|text| sealed_key(text)).collect()
}

/// Reduces the destination to `channel`.
fn keep_to(channel: Arc<Channel>, request: &mut RequestView) -> Result<(), Fault> {
    let medium = request
        .protocol
        .map(|protocol| protocol.descriptor().medium);
    let is_image = medium == Some(GenerationMedium::Image);
    let Some(destination) = &mut request.destination else {
        request.destination = Some(RequestDestination::bound_to(channel, request.protocol));
        return Ok(());
    };
    destination.keep(&channel);
    match (destination.candidates.is_empty(), &destination.model) {
        (false, _) => Ok(()),
        (true, Some(_)) if is_image => Err(Fault::new(
            FaultKind::Invalid,
            "a file of this request was uploaded to an account that does not serve this model, and the gateway has no copy of it; upload the image again, or send its content",
        )
        .param("images")),
        (true, Some(_)) => Err(Fault::new(
            FaultKind::Invalid,
            "an id in this request belongs to a channel that does not serve this model; use the model that the id was created with",
        )
        .param("model")),
        (true, None) => Err(conflict_fault("body", "path")),
    }
}

fn conflict_fault(one: &str, other: &str) -> Fault {
    Fault::new(
        FaultKind::Invalid,
        format!(
            "`{other}` and `{one}` refer to ids of different provider accounts; use ids that were created together, or create one of them again"
        ),
    )
    .param(one)
}

/// The provider might find an id in it that nobody has checked.
fn unreadable(at: &str) -> Fault {
    let message = format!("`{at}` must be an id, or a list of ids where the API has one");
    Fault::new(FaultKind::Invalid, message).param(at)
}

/// The same message for an id that never existed and for another caller's id.
fn unknown(ReferencedId { kind, at, .. }: &ReferencedId) -> Fault {
    // An id of the path is all that the request is about.
    let alternative = match at.is_empty() {
        true => "",
        false => ", or send the request without it",
    };
    let kind = kind.name();
    Fault::new(
        FaultKind::UnknownId,
        format!("no {kind} with this id exists for this API key; check the id{alternative}"),
    )
}

fn gone(kind: ResourceIdKind) -> Fault {
    Fault::new(
        FaultKind::Gone,
        format!(
            "the channel that created this {} was removed from this gateway; send the request without it, or create a new one",
            kind.name()
        ),
    )
}

/// The request fails: another channel does not know the id, and would respond wrongly.
fn store_fault(unavailable: StoreUnavailable) -> Fault {
    Fault::new(
        FaultKind::Overloaded,
        "the gateway cannot look up the id: its state store is unreachable; try again",
    )
    .source(unavailable)
}
