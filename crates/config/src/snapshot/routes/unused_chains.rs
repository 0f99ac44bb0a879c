//! Warns of chains that no route and no other chain uses.

use super::super::ProblemCollector;
use crate::routes::{ChainStepConfig, RouteConfig};
use headgate_core::pointer::child;
use std::collections::BTreeMap;

pub(super) fn warn(
    chains: &BTreeMap<String, Vec<ChainStepConfig>>,
    routes: &[RouteConfig],
    problems: &mut ProblemCollector<'_>,
) {
    let lists = routes
        .iter()
        .flat_map(|route| [&route.request, &route.response]);
    let lists: Vec<&Vec<ChainStepConfig>> = lists.chain(chains.values()).collect();
    for name in chains.keys() {
        let is_use =
            |step: &ChainStepConfig| matches!(step, ChainStepConfig::Use(used) if used == name);
        if !lists.iter().any(|list| list.iter().any(is_use)) {
            let reason = format!("chain `{name}` is never used");
            problems.warning(&child("/chains", name), reason, None);
        }
    }
}
