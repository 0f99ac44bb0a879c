//! What the routes offer as a whole, found before their filters are built: the endpoint of each protocol for requests
//! with a model, as a hint for callers who used the wrong path, and what is provided at a path.

use super::USE_DEPTH_MAX;
use crate::routes::{ChainStepConfig, RouteConfig};
use headgate_core::feature::FilterRegistry;
use headgate_core::filter::descriptor::{FilterProvision, ModelNamingEndpoint};
use headgate_protocol::{Protocol, ProtocolTable};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The routes and chains as they are written.
#[derive(Clone, Copy)]
pub(crate) struct DeclaredRoutes<'a> {
    pub routes: &'a [RouteConfig],
    pub chains: &'a BTreeMap<String, Vec<ChainStepConfig>>,
    pub filters: &'a FilterRegistry,
    pub protocols: &'a ProtocolTable,
}

impl DeclaredRoutes<'_> {
    /// One endpoint for each protocol that has any; of several the shortest, which others extend.
    pub fn endpoints(self) -> Arc<[ModelNamingEndpoint]> {
        let mut shortest: Vec<(Protocol, &str)> = Vec::new();
        for route in self.routes {
            let mut patterns = route.r#match.0.iter().map(String::as_str);
            let literal = patterns.find(|pattern| !pattern.contains('{'));
            if let (Some(protocol), Some(pattern)) = (self.protocol(route), literal)
                && self.has_provider(&route.request, FilterProvision::Model, 0)
            {
                match shortest.iter_mut().find(|(known, _)| *known == protocol) {
                    Some((_, known)) if pattern.len() < known.len() => *known = pattern,
                    Some(_) => {}
                    None => shortest.push((protocol, pattern)),
                }
            }
        }
        shortest.sort_unstable_by_key(|(protocol, _)| *protocol);
        let endpoint = |(protocol, pattern): (_, &str)| ModelNamingEndpoint {
            protocol,
            pattern: pattern.to_owned(),
        };
        shortest.into_iter().map(endpoint).collect()
    }

    /// The protocol of a route.
    pub fn protocol(self, route: &RouteConfig) -> Option<Protocol> {
        self.protocols.get(&route.protocol.as_ref()?.0)
    }

    /// Whether a route with `path` in its pattern provides something.
    pub fn provide_at(self, path: &str, wanted: FilterProvision) -> bool {
        self.routes.iter().any(|route| {
            let mut patterns = route.r#match.0.iter();
            patterns.any(|pattern| pattern.contains(path))
                && self.has_provider(&route.request, wanted, 0)
        })
    }

    fn has_provider(
        self,
        steps: &[ChainStepConfig],
        wanted: FilterProvision,
        depth: usize,
    ) -> bool {
        steps.iter().any(|step| match step {
            ChainStepConfig::Filter { name, .. } => {
                let kind = self.filters.find(name);
                kind.is_some_and(|kind| kind.provides(wanted))
            }
            ChainStepConfig::Use(name) => {
                let chain = self.chains.get(name).filter(|_| depth < USE_DEPTH_MAX);
                chain.is_some_and(|chain| self.has_provider(chain, wanted, depth + 1))
            }
        })
    }
}
