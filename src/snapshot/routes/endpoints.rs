//! What the routes offer as a whole, found before their filters are built: the endpoint of each protocol for requests
//! with a model, as a hint for callers who used the wrong path, and the endpoints for callbacks of providers and for stored media.

use super::USE_DEPTH_MAX;
use crate::callbacks::CALLBACK_PATH;
use crate::config::routes::{ChainStepConfig, RouteConfig};
use crate::filter::descriptor::{FilterProvision, ModelEndpoint};
use crate::filter::registry;
use crate::media::MEDIA_PATH;
use crate::protocol::Protocol;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One endpoint for each protocol that has any; of several the shortest, which others extend.
pub(in crate::snapshot) fn endpoints(
    routes: &[RouteConfig],
    chains: &BTreeMap<String, Vec<ChainStepConfig>>,
) -> Arc<[ModelEndpoint]> {
    let mut shortest: BTreeMap<Protocol, &str> = BTreeMap::new();
    for route in routes {
        let mut patterns = route.r#match.0.iter().map(String::as_str);
        let literal = patterns.find(|pattern| !pattern.contains('{'));
        if let (Some(protocol), Some(pattern)) = (route.protocol, literal)
            && has_provider(&route.request, FilterProvision::Model, chains, 0)
        {
            let known = shortest.entry(protocol).or_insert(pattern);
            if pattern.len() < known.len() {
                *known = pattern;
            }
        }
    }
    let endpoint = |(protocol, pattern): (_, &str)| ModelEndpoint {
        protocol,
        pattern: pattern.to_owned(),
    };
    shortest.into_iter().map(endpoint).collect()
}

/// Whether a route receives callbacks of providers at the path that they are given.
pub(in crate::snapshot) fn receive_callbacks(
    routes: &[RouteConfig],
    chains: &BTreeMap<String, Vec<ChainStepConfig>>,
) -> bool {
    is_provided_at(CALLBACK_PATH, FilterProvision::Callbacks, routes, chains)
}

/// Whether a route serves the files of the media store at the path that their URLs have.
pub(in crate::snapshot) fn serve_media(
    routes: &[RouteConfig],
    chains: &BTreeMap<String, Vec<ChainStepConfig>>,
) -> bool {
    is_provided_at(MEDIA_PATH, FilterProvision::Media, routes, chains)
}

fn is_provided_at(
    path: &str,
    wanted: FilterProvision,
    routes: &[RouteConfig],
    chains: &BTreeMap<String, Vec<ChainStepConfig>>,
) -> bool {
    routes.iter().any(|route| {
        let mut patterns = route.r#match.0.iter();
        patterns.any(|pattern| pattern.contains(path))
            && has_provider(&route.request, wanted, chains, 0)
    })
}

fn has_provider(
    steps: &[ChainStepConfig],
    wanted: FilterProvision,
    chains: &BTreeMap<String, Vec<ChainStepConfig>>,
    depth: usize,
) -> bool {
    steps.iter().any(|step| match step {
        ChainStepConfig::Filter { name, .. } => {
            registry::find(name).is_some_and(|kind| kind.provides(wanted))
        }
        ChainStepConfig::Use(name) => {
            depth < USE_DEPTH_MAX
                && chains
                    .get(name)
                    .is_some_and(|chain| has_provider(chain, wanted, chains, depth + 1))
        }
    })
}
