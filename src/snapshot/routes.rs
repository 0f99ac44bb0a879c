//! Routes from their configuration: patterns, and chains with their filters built.

use super::Problems;
use super::failover::Failover;
use super::router::{Pattern, Route, Router};
use crate::catalog::caller::Callers;
use crate::catalog::egress::Egress;
use crate::catalog::model::Catalog;
use crate::config::routes::{RouteConfig, StepConfig};
use crate::filter::chain::{Named, RequestChain, ResponseChain};
use crate::filter::kind::{Parts, Schemas, Side};
use crate::filter::registry;
use crate::polls::Polls;
use crate::protocol::Protocol;
use crate::protocol::nearest::nearest;
use crate::state::Store;
use crate::task::Tasks;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Chains may use chains; deeper than this is a circle or a riddle.
const USE_DEPTH_MAX: usize = 8;

/// Builds routes; holds what their filters may need.
pub(crate) struct Builder<'a> {
    pub chains: &'a BTreeMap<String, Vec<StepConfig>>,
    pub callers: &'a Arc<Callers>,
    pub catalog: &'a Arc<Catalog>,
    pub state: &'a Arc<dyn Store>,
    pub schemas: &'a dyn Schemas,
    pub tasks: &'a Arc<Tasks>,
    pub polls: &'a Arc<Polls>,
    pub egress: &'a Arc<Egress>,
}

/// The side and protocol that a chain is built for.
#[derive(Clone, Copy)]
struct Purpose {
    side: Side,
    protocol: Option<Protocol>,
}

impl Builder<'_> {
    pub fn build(&self, configs: &[RouteConfig], problems: &mut Problems<'_>) -> Router {
        let mut names = HashSet::new();
        let mut routes = Vec::with_capacity(configs.len());
        for (index, config) in configs.iter().enumerate() {
            let at = format!("/routes/{index}");
            if !names.insert(&config.name) {
                problems.error(
                    &format!("{at}/name"),
                    format!("route `{}` is declared twice", config.name),
                    None,
                );
            }
            for (end, pattern) in config.r#match.placed() {
                let mut earlier = configs[..index].iter();
                let first =
                    earlier.find(|first| first.r#match.0.iter().any(|other| other == pattern));
                if let Some(first) = first {
                    problems.warning(
                        &format!("{at}/match{end}"),
                        format!("route `{}` takes all of these requests already", first.name),
                        None,
                    );
                }
            }
            routes.extend(self.route(config, &at, problems));
        }
        for name in self
            .chains
            .keys()
            .filter(|name| !self.is_used(name, configs))
        {
            problems.warning(
                &format!("/chains/{name}"),
                format!("chain `{name}` is used nowhere"),
                None,
            );
        }
        Router::new(routes)
    }

    /// A route for each pattern, with the same chains.
    fn route(&self, config: &RouteConfig, at: &str, problems: &mut Problems<'_>) -> Vec<Route> {
        let RouteConfig {
            name,
            r#match,
            protocol,
            request,
            response,
            timeouts,
            failover,
        } = config;
        let purpose = |side| Purpose {
            side,
            protocol: *protocol,
        };
        let mut asked = Vec::new();
        let errors = problems.errors();
        self.steps(
            request,
            &format!("{at}/request"),
            purpose(Side::Request),
            &mut asked,
            0,
            problems,
        );
        let whole = problems.errors() == errors;
        let mut answered = Vec::new();
        self.steps(
            response,
            &format!("{at}/response"),
            purpose(Side::Response),
            &mut answered,
            0,
            problems,
        );
        self.check_protocol(*protocol, at, problems);
        let mut patterns = Vec::new();
        for (end, text) in r#match.placed() {
            match Pattern::parse(text) {
                Ok(pattern) => patterns.push(pattern),
                Err(reason) => problems.error(&format!("{at}/match{end}"), reason, None),
            }
        }
        // Of what could not be built, the order tells nothing.
        if whole {
            check_order(&asked, &patterns, at, problems);
        }
        let response = ResponseChain::new(answered, &asked);
        let request = RequestChain::new(asked);
        let name: Arc<str> = name.as_str().into();
        let route = |pattern| Route {
            name: name.clone(),
            protocol: *protocol,
            request: request.clone(),
            response: response.clone(),
            timeouts: timeouts.clone(),
            failover: Failover::new(failover),
            pattern,
        };
        patterns.into_iter().map(route).collect()
    }

    fn check_protocol(&self, protocol: Option<Protocol>, at: &str, problems: &mut Problems<'_>) {
        let Some(protocol) = protocol else {
            return;
        };
        let mut channels = self.catalog.channels();
        if !channels.any(|channel| channel.protocols.contains(&protocol)) {
            problems.warning(
                &format!("{at}/protocol"),
                format!("no channel speaks {}", protocol.name()),
                Some("add it to the `protocols` of a channel"),
            );
        }
    }

    fn steps(
        &self,
        steps: &[StepConfig],
        at: &str,
        purpose: Purpose,
        into: &mut Vec<Named>,
        depth: usize,
        problems: &mut Problems<'_>,
    ) {
        for (index, step) in steps.iter().enumerate() {
            let at = format!("{at}/{index}");
            match step {
                StepConfig::Filter { name, settings } => {
                    self.filter(name, settings, &at, purpose, into, problems);
                }
                StepConfig::Use(_) if depth == USE_DEPTH_MAX => {
                    problems.error(&at, "chains use each other in a circle, or too deep", None);
                }
                StepConfig::Use(name) => match self.chains.get(name) {
                    Some(chain) => {
                        self.steps(
                            chain,
                            &format!("/chains/{name}"),
                            purpose,
                            into,
                            depth + 1,
                            problems,
                        );
                    }
                    None => {
                        let known = nearest(name, self.chains.keys().map(String::as_str), 1);
                        let hint = known
                            .first()
                            .map(|known| format!("did you mean `{known}`?"));
                        problems.error(
                            &format!("{at}/use"),
                            format!("there is no chain `{name}`"),
                            hint.as_deref(),
                        );
                    }
                },
            }
        }
    }

    fn filter(
        &self,
        name: &str,
        settings: &serde_json::Value,
        at: &str,
        purpose: Purpose,
        into: &mut Vec<Named>,
        problems: &mut Problems<'_>,
    ) {
        // The configuration's schema has refused unknown names already.
        let Some(kind) = registry::find(name) else {
            return problems.error(at, format!("there is no filter `{name}`"), None);
        };
        let belongs = match kind.side {
            Side::Either => true,
            side => side == purpose.side,
        };
        if !belongs {
            let (there, here) = match purpose.side {
                Side::Request => ("response", "request"),
                _ => ("request", "response"),
            };
            return problems.error(
                at,
                format!("`{name}` is a filter of the {there}, not of the {here}"),
                Some(&format!("move it to the route's `{there}` list")),
            );
        }
        let parts = Parts {
            callers: self.callers,
            catalog: self.catalog,
            state: self.state,
            schemas: self.schemas,
            tasks: self.tasks,
            polls: self.polls,
            egress: self.egress,
            protocol: purpose.protocol,
            side: purpose.side,
        };
        match (kind.build)(settings, &parts) {
            Ok(filter) => into.push(Named {
                name: kind.name,
                filter,
            }),
            Err(invalid) => {
                let pointer = match settings.is_null() {
                    true => at.to_string(),
                    false => format!("{at}/{name}{}", invalid.pointer),
                };
                problems.error(&pointer, invalid.reason, invalid.hint.as_deref());
            }
        }
    }

    fn is_used(&self, name: &str, routes: &[RouteConfig]) -> bool {
        let uses = |steps: &[StepConfig]| {
            steps
                .iter()
                .any(|step| matches!(step, StepConfig::Use(used) if used == name))
        };
        routes
            .iter()
            .any(|route| uses(&route.request) || uses(&route.response))
            || self.chains.values().any(|chain| uses(chain))
    }
}

/// Orders that would surprise at run time are refused when the file is read.
fn check_order(filters: &[Named], patterns: &[Pattern], at: &str, problems: &mut Problems<'_>) {
    let all_have = |name: &str| patterns.iter().all(|pattern| pattern.has_parameter(name));
    let place = |wanted: &str| filters.iter().position(|named| named.name == wanted);
    let at = format!("{at}/request");
    match (
        place("authenticate"),
        place("list_models"),
        place("route_model"),
    ) {
        (None, _, _) => problems.warning(
            &at,
            "anybody may use this route: it has no `authenticate`",
            Some("put `authenticate` first"),
        ),
        (Some(first), Some(later), _) | (Some(first), _, Some(later)) if first > later => {
            problems.error(
                &at,
                "`authenticate` must stand before filters that need the caller",
                None,
            );
        }
        _ => {}
    }
    // In both hooks the second of each pair builds on what the first has found.
    for (first, second) in [
        ("authenticate", "pin"),
        ("authenticate", "follow_ids"),
        ("pin", "follow_ids"),
        ("route_model", "follow_ids"),
        ("follow_ids", "first_channel"),
        ("pin", "first_channel"),
        ("authenticate", "map_task"),
        ("route_model", "map_task"),
        ("route_model", "map_images"),
        ("validate", "map_images"),
    ] {
        if let (Some(before), Some(behind)) = (place(first), place(second))
            && behind < before
        {
            problems.error(&at, format!("`{second}` must stand behind `{first}`"), None);
        }
    }
    let is_about_a_task = all_have("id") || all_have("task_id");
    if let (Some(limit), Some(map)) = (place("rate_limit"), place("map_task"))
        && is_about_a_task
        && map < limit
    {
        problems.error(
            &at,
            "`map_task` must stand behind `rate_limit`: on this route it answers by itself, and nothing behind it runs",
            None,
        );
    }
    if let (Some(validate), Some(route)) = (place("validate"), place("route_model"))
        && validate < route
    {
        problems.error(
            &at,
            "`validate` must stand behind `route_model`, since models have rules of their own",
            None,
        );
    }
    if let (Some(limit), Some(route)) = (place("rate_limit"), place("route_model"))
        && limit < route
    {
        problems.error(
            &at,
            "`rate_limit` must stand behind `route_model`, since models have limits too",
            Some("put `rate_limit` last, so that requests which are refused count for nothing"),
        );
    }
    let finds_channel = place("route_model").is_some()
        || place("list_models").is_some()
        || place("first_channel").is_some()
        || (place("follow_ids").is_some() && all_have("id"))
        || (place("map_task").is_some() && is_about_a_task)
        || filters.iter().any(|named| named.filter.ends_requests());
    if !finds_channel {
        problems.error(
            &at,
            "no filter of this route finds a channel or answers by itself",
            Some("add `route_model`, `follow_ids` (with `{id}` in the path), `first_channel` or `list_models`"),
        );
    }
}

#[cfg(test)]
mod tests;
