//! Builds routes from their configuration: patterns, and chains with their filters.

mod body_limits;
mod conditions;
mod endpoints;
mod fingerprint;
mod order;
mod patterns;
mod translation;
mod unused_chains;
mod websockets;

use super::failover::Failover;
use super::router::{MethodPathPattern, Route, RouteTranslation, Router};
use super::{ProblemCollector, channels, tracing};
use crate::hint::did_you_mean;
use crate::routes::{ChainStepConfig, RouteConfig, StepIfExpressionConfig};
use headgate_core::callout::CalloutServices;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::caller::Callers;
use headgate_core::catalog::channel::TimeoutOverrides;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::catalog::public_url::PublicUrl;
use headgate_core::feature::FeatureTypeMap;
use headgate_core::filter::chain::{NamedFilter, RequestChain, ResponseChain};
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, ModelNamingEndpoint, SchemaLookup,
};
use headgate_core::filter::response_inputs::ResponseVaryInputs;
use headgate_core::pointer::child;
use headgate_core::state::StateStore;
use headgate_core::task::TaskSettings;
use headgate_protocol::Protocol;
use headgate_translate::TranslationPolicy;
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

pub(super) use conditions::StepConditionBuilder;
pub(super) use endpoints::DeclaredRoutes;
use patterns::{all_have_parameter, patterns, warn_if_taken};

/// The maximum depth of chains that use chains, to detect circular references.
const USE_DEPTH_MAX: usize = 8;

/// Builds routes, with everything that their filters may need.
pub(crate) struct RouteBuilder<'a> {
    pub declared: DeclaredRoutes<'a>,
    pub callers: &'a Arc<Callers>,
    pub catalog: &'a Arc<Catalog>,
    pub state: &'a Arc<dyn StateStore>,
    /// Whether the configured state survives the end of the process.
    pub state_survives: bool,
    pub schemas: &'a dyn SchemaLookup,
    pub tasks: &'a Arc<TaskSettings>,
    pub features: &'a FeatureTypeMap,
    pub egress: &'a Arc<EgressPolicy>,
    pub public_url: Option<&'a PublicUrl>,
    pub services: &'a CalloutServices,
    pub endpoints: &'a Arc<[ModelNamingEndpoint]>,
    pub conditions: StepConditionBuilder,
}

/// A filter, and where it is in the file.
struct FilterWithConfigPath {
    named: NamedFilter,
    /// Pointers of the steps that lead to it: the route's step, then those of the chains it uses.
    trail: Vec<String>,
}

/// A step of a chain that is a filter, as written.
#[derive(Clone, Copy)]
struct DeclaredFilterStep<'a> {
    name: &'a str,
    settings: &'a serde_json::Value,
    condition: Option<&'a StepIfExpressionConfig>,
}

/// The side and protocol that a chain is built for.
#[derive(Clone, Copy)]
struct ChainBuildContext<'a> {
    side: ChainSide,
    route: &'a str,
    route_fingerprint: &'a str,
    protocol: Option<Protocol>,
    translation: &'a TranslationPolicy,
    timeouts: TimeoutOverrides,
    patterns: &'a [MethodPathPattern],
    /// The filters of the response chain, if this is the request chain.
    responding: &'a [FilterWithConfigPath],
}

impl RouteBuilder<'_> {
    pub fn build(&self, problems: &mut ProblemCollector<'_>) -> Router {
        let configs = self.declared.routes;
        let mut names = HashSet::new();
        let mut routes = Vec::with_capacity(configs.len());
        for (index, config) in configs.iter().enumerate() {
            let at = format!("/routes/{index}");
            if !names.insert(&config.name) {
                problems.error(
                    &format!("{at}/name"),
                    format!("duplicate route `{}`", config.name),
                    None,
                );
            }
            let built = self.route(config, &at, problems);
            for (end, pattern) in config.r#match.placed() {
                warn_if_taken(pattern, &routes, &format!("{at}/match{end}"), problems);
            }
            routes.extend(built);
        }
        unused_chains::warn(self.declared.chains, configs, problems);
        Router::new(routes)
    }

    /// Builds a route for each pattern, with the same chains.
    fn route(
        &self,
        config: &RouteConfig,
        at: &str,
        problems: &mut ProblemCollector<'_>,
    ) -> Vec<Route> {
        let RouteConfig {
            name,
            r#match: _,
            protocol: declared_protocol,
            request,
            response,
            timeouts,
            failover,
            traced_messages,
            translate: _,
            on_loss: _,
            websocket,
        } = config;
        let protocol = self.declared.protocol(config);
        if protocol.is_none() && declared_protocol.is_some() {
            // The schema refuses unknown names: this one was reported where it is declared.
            return Vec::new();
        }
        let patterns = patterns(config, at, problems);
        let websocket = websockets::build(websocket.as_ref(), protocol, &patterns, at, problems);
        let translation = self.translation(config, protocol, &patterns, at, problems);
        let route_fingerprint = fingerprint::for_route(config, protocol, self.declared.chains);
        let purpose = |side| ChainBuildContext {
            side,
            route: name,
            route_fingerprint: &route_fingerprint,
            protocol,
            translation: &translation,
            timeouts: channels::timeouts(timeouts),
            patterns: &patterns,
            responding: &[],
        };
        let mut responding = Vec::new();
        self.steps(
            response,
            &format!("{at}/response"),
            purpose(ChainSide::Response),
            &[],
            &mut responding,
            problems,
        );
        let mut requesting = Vec::new();
        let errors = problems.errors();
        let purpose_of_request = ChainBuildContext {
            responding: &responding,
            ..purpose(ChainSide::Request)
        };
        self.steps(
            request,
            &format!("{at}/request"),
            purpose_of_request,
            &[],
            &mut requesting,
            problems,
        );
        let whole = problems.errors() == errors;
        self.check_protocol(protocol, &translation, at, problems);
        // The order is checked only if every filter was built.
        if whole {
            let at = format!("{at}/request");
            order::check(
                self.declared.filters,
                &requesting,
                &patterns,
                protocol,
                &at,
                problems,
            );
            body_limits::check(&requesting, problems);
        }
        let named =
            |steps: Vec<FilterWithConfigPath>| steps.into_iter().map(|step| step.named).collect();
        let responding: Vec<_> = named(responding);
        let request = RequestChain::new(named(requesting), &responding);
        let response = ResponseChain::new(responding, request.filters());
        websockets::check_output_checks(websocket.as_ref(), &response, at, problems);
        let name: Arc<str> = name.as_str().into();
        let traced_messages = tracing::messages(traced_messages, protocol, at, problems);
        let may_translate = translation.admits_models || !translation.protocols.is_empty();
        let built_translation = may_translate.then(|| {
            Arc::new(RouteTranslation {
                policy: translation,
                tasks: self.tasks.clone(),
            })
        });
        let route = |pattern| Route {
            name: name.clone(),
            protocol,
            request: request.clone(),
            response: response.clone(),
            timeouts: channels::timeouts(timeouts),
            failover: Failover::new(failover),
            traced_messages,
            translation: built_translation.clone(),
            websocket,
            pattern,
        };
        patterns.into_iter().map(route).collect()
    }

    /// Builds the filters of a list; `trail` are the steps that lead to it.
    fn steps(
        &self,
        steps: &[ChainStepConfig],
        list: &str,
        purpose: ChainBuildContext<'_>,
        trail: &[String],
        into: &mut Vec<FilterWithConfigPath>,
        problems: &mut ProblemCollector<'_>,
    ) {
        for (index, step) in steps.iter().enumerate() {
            let mut trail = trail.to_vec();
            trail.push(format!("{list}/{index}"));
            match step {
                ChainStepConfig::Filter {
                    name,
                    settings,
                    condition,
                } => {
                    let step = DeclaredFilterStep {
                        name,
                        settings,
                        condition: condition.as_ref(),
                    };
                    self.filter(step, purpose, trail, into, problems);
                }
                ChainStepConfig::Use(name) => self.chain(name, purpose, &trail, into, problems),
            }
        }
    }

    /// Builds the filters of a chain that the last step of `trail` uses.
    fn chain(
        &self,
        name: &str,
        purpose: ChainBuildContext<'_>,
        trail: &[String],
        into: &mut Vec<FilterWithConfigPath>,
        problems: &mut ProblemCollector<'_>,
    ) {
        let at = trail.last().map_or("", String::as_str);
        let Some(chain) = self.declared.chains.get(name) else {
            let hint = did_you_mean(name, self.declared.chains.keys().map(String::as_str));
            let hint = hint.or_else(|| Some("add it to `chains`".to_owned()));
            return problems.error(
                &format!("{at}/use"),
                format!("unknown chain `{name}`"),
                hint.as_deref(),
            );
        };
        let list = child("/chains", name);
        let lists = trail
            .iter()
            .map(|at| at.rsplit_once('/').map_or("", |(list, _)| list));
        let used: Vec<&str> = lists.skip_while(|used| *used != list).collect();
        if !used.is_empty() {
            let names = used.iter().map(|used| used.trim_start_matches("/chains/"));
            let circle: Vec<&str> = names.chain([name]).collect();
            let reason = format!("circular reference {}", circle.join(" → "));
            return problems.error(at, reason, Some("remove one of the `use` steps"));
        }
        if trail.len() > USE_DEPTH_MAX {
            let reason = format!("chains use each other deeper than {USE_DEPTH_MAX} levels");
            return problems.error(at, reason, None);
        }
        self.steps(chain, &list, purpose, trail, into, problems);
    }

    fn filter(
        &self,
        step: DeclaredFilterStep<'_>,
        purpose: ChainBuildContext<'_>,
        trail: Vec<String>,
        into: &mut Vec<FilterWithConfigPath>,
        problems: &mut ProblemCollector<'_>,
    ) {
        let DeclaredFilterStep {
            name,
            settings,
            condition,
        } = step;
        let at = trail.last().map_or("", String::as_str);
        // The schema check has already refused unknown names.
        let Some(kind) = self.declared.filters.find(name) else {
            return problems.error(at, format!("unknown filter `{name}`"), None);
        };
        let belongs = match kind.side {
            ChainSide::Either => true,
            side => side == purpose.side,
        };
        if !belongs {
            let (there, here) = match purpose.side {
                ChainSide::Request => ("response", "request"),
                _ => ("request", "response"),
            };
            return problems.error(
                at,
                format!("`{name}` is a {there} filter and cannot be used in `{here}`"),
                Some(&format!("move it to `{there}` of the route")),
            );
        }
        let condition = match condition {
            None => None,
            Some(config) => match self.conditions.build(config, kind, purpose.side) {
                Ok(condition) => Some(condition),
                Err(invalid) => {
                    let at = format!("{at}{}", invalid.pointer);
                    return problems.error(&at, invalid.reason, invalid.hint.as_deref());
                }
            },
        };
        let warnings = RefCell::default();
        let response_inputs = || {
            let built = purpose.responding.iter().chain(into.iter());
            ResponseVaryInputs::from_filters(
                built.map(|step| (step.named.kind.name, &*step.named.filter)),
            )
        };
        let earlier_filters = || into.iter().map(|step| step.named.filter.clone()).collect();
        let paths: Vec<_> = purpose
            .patterns
            .iter()
            .map(MethodPathPattern::route_path)
            .collect();
        let parts = BuildContext {
            callers: self.callers,
            catalog: self.catalog,
            state: self.state,
            state_survives: self.state_survives,
            schemas: self.schemas,
            tasks: self.tasks,
            features: self.features,
            egress: self.egress,
            public_url: self.public_url,
            services: self.services,
            endpoints: self.endpoints,
            is_provided_at: &|path, provision| self.declared.provide_at(path, provision),
            route: purpose.route,
            route_fingerprint: purpose.route_fingerprint,
            protocol: purpose.protocol,
            translation: purpose.translation,
            timeouts: purpose.timeouts,
            side: purpose.side,
            response_inputs: &response_inputs,
            earlier_filters: &earlier_filters,
            condition_phase: conditions::phase(condition.as_ref()),
            paths: &paths,
            has_parameter: &|name| all_have_parameter(purpose.patterns, name),
            warnings: &warnings,
        };
        let place = |pointer: &str| match settings.is_null() {
            true => at.to_string(),
            false => format!("{at}/{name}{pointer}"),
        };
        match (kind.build)(settings, &parts) {
            Ok(filter) => {
                for warning in warnings.take() {
                    let hint = warning.hint.as_deref();
                    problems.warning(&place(&warning.pointer), warning.reason, hint);
                }
                let named = conditions::with_condition(kind, filter, condition, purpose.side);
                conditions::warn_if_avoidable(&named, at, problems);
                into.push(FilterWithConfigPath { named, trail });
            }
            Err(invalid) => {
                let hint = invalid.hint.as_deref();
                problems.error(&place(&invalid.pointer), invalid.reason, hint);
            }
        }
    }
}
