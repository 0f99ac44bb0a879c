//! `first_channel`: routes a request that names neither model nor id to the pinned or the first usable channel.

use headgate_core::catalog::Catalog;
use headgate_core::catalog::channel::Channel;
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterProvision,
};
use headgate_core::filter::view::{RequestDestination, RequestView};
use headgate_core::filter::{Filter, HookResult};
use headgate_core::scalar::model_pattern::ModelPattern;
use headgate_protocol::Protocol;
use headgate_protocol::fault::{Fault, FaultKind};
use std::cmp::Reverse;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "first_channel",
    summary: "Routes a request without a channel to the channel of `pin`, or to the first one (by tier, weight, name) that speaks the protocol and serves a model the caller may use.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        after: &["follow_ids", "pin"],
        provides: &[FilterProvision::Channel],
        ..FilterChainRules::ANYWHERE
    },
    settings: None,
    bare: true,
    build: |_, context| {
        Ok(Arc::new(DefaultDestinationFilter {
            catalog: context.catalog.clone(),
            protocol: context.protocol,
        }))
    },
};

struct DefaultDestinationFilter {
    catalog: Arc<Catalog>,
    protocol: Option<Protocol>,
}

impl Filter for DefaultDestinationFilter {
    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        if request.destination.is_some() {
            return HookResult::next();
        }
        let channel = match &request.pinned {
            Some(pinned) => Ok(pinned.clone()),
            None => self.first(request),
        };
        HookResult::from(channel.map(|channel| {
            request.destination = Some(RequestDestination::bound_to(channel, request.protocol));
        }))
    }
}

impl DefaultDestinationFilter {
    fn first(&self, request: &RequestView) -> Result<Arc<Channel>, Fault> {
        let protocol = self
            .protocol
            .or_else(|| Protocol::detect_version(&request.headers))
            .or_else(Protocol::find_storing);
        let models = self.catalog.usable_models(request.caller.as_deref());
        let literal = models
            .flat_map(|model| protocol.map(|it| model.candidates(it).to_vec()))
            .flatten()
            .map(|candidate| candidate.channel);
        let patterns = self.catalog.by_pattern().patterns().iter();
        let by_pattern = patterns
            .filter(|one| {
                let channel = &one.channel;
                protocol.is_some_and(|it| channel.protocols.contains(&it.on_channels()))
            })
            .filter(|one| {
                let pattern = ModelPattern::from(&one.pattern);
                let caller = request.caller.as_ref();
                caller.is_none_or(|caller| caller.may_use_some(&pattern))
            })
            .map(|one| one.channel.clone());
        literal
            .chain(by_pattern)
            .filter(|channel| !channel.origin.base_path.names_model())
            .min_by_key(|channel| (channel.tier, Reverse(channel.weight), channel.name.clone()))
            .ok_or_else(|| {
                Fault::new(
                    FaultKind::Forbidden,
                    format!(
                        "this API key has no access to a model of the {} protocol; ask the operator of this gateway for access",
                        protocol.map_or("-", Protocol::name)
                    ),
                )
            })
    }
}
