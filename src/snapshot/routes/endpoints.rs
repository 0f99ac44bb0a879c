//! The endpoint of each protocol for requests with a model, as a hint for callers who used the wrong path.

use super::USE_DEPTH_MAX;
use crate::config::routes::{ChainStepConfig, RouteConfig};
use crate::filter::descriptor::{FilterProvision, ModelEndpoint};
use crate::filter::registry;
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
            && routes_models(&route.request, chains, 0)
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

fn routes_models(
    steps: &[ChainStepConfig],
    chains: &BTreeMap<String, Vec<ChainStepConfig>>,
    depth: usize,
) -> bool {
    steps.iter().any(|step| match step {
        ChainStepConfig::Filter { name, .. } => {
            registry::find(name).is_some_and(|kind| kind.provides(FilterProvision::Model))
        }
        ChainStepConfig::Use(name) => {
            depth < USE_DEPTH_MAX
                && chains
                    .get(name)
                    .is_some_and(|chain| routes_models(chain, chains, depth + 1))
        }
    })
}
