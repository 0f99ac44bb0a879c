//! `allow_ip`: allows requests from the listed networks only; 403 for all others.

use super::client_networks::{ClientNetworkList, address_refused};
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, settings_schema,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, HookResult};
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "allow_ip",
    summary: "Allows requests whose client's address is in one of the listed networks; replies 403 to all others.",
    side: ChainSide::Request,
    placement: FilterChainRules::GUARD,
    settings: Some(settings_schema::<Vec<String>>),
    bare: false,
    build: |settings, _| {
        Ok(Arc::new(AllowIpFilter {
            networks: ClientNetworkList::read(settings)?,
        }))
    },
};

struct AllowIpFilter {
    networks: ClientNetworkList,
}

impl Filter for AllowIpFilter {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let is_listed = request
            .client
            .is_some_and(|client| self.networks.contain(&client));
        match is_listed {
            true => HookResult::next(),
            false => HookResult::fail(address_refused()),
        }
    }
}
