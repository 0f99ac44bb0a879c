//! `deny_ip`: rejects requests from the listed networks with 403.

use super::client_networks::{ClientNetworkList, address_refused};
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, settings_schema,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, HookResult};
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "deny_ip",
    summary: "Replies 403 to requests whose client's address is in one of the listed networks.",
    side: ChainSide::Request,
    placement: FilterChainRules::GUARD,
    settings: Some(settings_schema::<Vec<String>>),
    bare: false,
    build: |settings, _| {
        Ok(Arc::new(DenyIpFilter {
            networks: ClientNetworkList::read(settings)?,
        }))
    },
};

struct DenyIpFilter {
    networks: ClientNetworkList,
}

impl Filter for DenyIpFilter {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        // An unknown address may be one of the listed ones.
        let may_be_listed = request
            .client
            .is_none_or(|client| self.networks.contain(&client));
        match may_be_listed {
            true => HookResult::fail(address_refused()),
            false => HookResult::next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::catalog::client_address::ClientAddressResolver;
    use http::{HeaderMap, Method};
    use serde_json::json;

    #[tokio::test]
    async fn deny_ip_is_the_complement_of_allow_ip() {
        let networks = ClientNetworkList::read(&json!(["10.0.0.0/8", "fd00::/8"])).unwrap();
        let deny = DenyIpFilter { networks };
        for (peer, is_denied) in [
            (Some("10.1.2.3:80"), true),
            (Some("[::ffff:10.1.2.3]:80"), true),
            (Some("[fd00::1]:80"), true),
            (Some("192.0.2.1:80"), false),
            (None, true),
        ] {
            let (method, headers) = (Method::GET, HeaderMap::new());
            let mut request =
                RequestView::new("id".into(), method, "/".into(), None, headers, vec![], None);
            request.client = peer.map(|peer| {
                ClientAddressResolver::default()
                    .resolve_client(peer.parse().unwrap(), &request.headers)
            });
            let decided = deny.on_head(&mut request).decided().await;
            assert_eq!(decided.is_err(), is_denied, "{peer:?}");
        }
    }
}
