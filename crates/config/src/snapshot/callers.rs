//! Builds callers from their configuration: keys, models, limits.

use super::ProblemCollector;
use super::caller_keys::{self, BuiltKey};
use super::caller_limits::{build_limits, build_shared_budgets, check_models, declared_limits};
use super::groups::{self, GroupLimits};
use super::router::{Route, Router};
use crate::caller_limits::CallerLimitsConfig;
use crate::callers::CallerConfig;
use crate::groups::CallerGroupConfig;
use crate::model_properties::ModelPropertiesConfig;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::base_url;
use headgate_core::catalog::caller::{Caller, Callers};
use headgate_core::catalog::limits::CallerLimits;
use headgate_core::catalog::webhook_secret::CallerDeliverySigningKey;
use headgate_core::feature::FilterRegistry;
use headgate_core::feature::section::ConfigProblemSink;
use headgate_core::filter::descriptor::FilterProvision;
use headgate_core::scalar::Secret;
use headgate_protocol::TaskApiFormat;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The maximum length of a webhook URL, in bytes: as of a `callback_url`.
const WEBHOOK_URL_BYTES_MAX: usize = 2_048;

/// What callers are built with.
#[derive(Clone)]
pub(crate) struct CallerBuildContext {
    pub groups: GroupLimits,
    /// The budgets of models that all callers share.
    pub shared: Option<Arc<CallerLimits>>,
    pub catalog: Arc<Catalog>,
}

/// A caller, and each of its keys with its place and the caller that its requests have.
pub(crate) struct BuiltCaller {
    pub caller: Arc<Caller>,
    pub keys: Vec<BuiltKey>,
}

/// Builds groups, and what all callers share.
pub(crate) fn build_context(
    groups: &BTreeMap<String, CallerGroupConfig>,
    models: &BTreeMap<String, ModelPropertiesConfig>,
    catalog: &Arc<Catalog>,
    problems: &mut ProblemCollector<'_>,
) -> CallerBuildContext {
    let shared = build_shared_budgets(models);
    CallerBuildContext {
        groups: groups::build(groups, shared.as_ref(), catalog, problems),
        shared,
        catalog: catalog.clone(),
    }
}

/// Builds the callers; reports a key or name that two callers share.
pub(crate) fn build(
    configs: &[CallerConfig],
    context: &CallerBuildContext,
    problems: &mut ProblemCollector<'_>,
) -> Callers {
    let mut callers = Callers::default();
    let mut names = HashSet::new();
    for (index, config) in configs.iter().enumerate() {
        let at = format!("/callers/{index}");
        if !names.insert(&config.name) {
            problems.error(
                &format!("{at}/name"),
                format!("duplicate caller `{}`", config.name),
                None,
            );
        }
        caller_keys::check_any(config, &at, problems);
        let built = context.build(config, &at, problems);
        callers.add(&built.caller);
        for key in built.keys {
            caller_keys::add(&mut callers, key, problems);
        }
    }
    callers
}

impl CallerBuildContext {
    /// Builds a caller that is written at the pointer `at`; reports all that is wrong with it alone.
    pub fn build(
        &self,
        config: &CallerConfig,
        at: &str,
        problems: &mut dyn ConfigProblemSink,
    ) -> BuiltCaller {
        check_models(
            &config.limits,
            &self.catalog,
            &format!("{at}/limits/models"),
            problems,
        );
        let mut caller = Caller::new(&config.name, &config.models);
        let group = groups::find(config, &self.groups, at, problems);
        let group = group.or_else(|| self.shared.clone());
        let limits = build_limits(&caller.name, &config.limits, &self.catalog);
        caller.limits = limits.with_group(group);
        caller.webhook_secrets = webhook_secrets(&config.webhook_secrets, at, problems);
        caller.webhook_url = webhook_url(config, at, problems);
        let caller = Arc::new(caller);
        let keys = caller_keys::build(config, &caller, at, problems);
        BuiltCaller { caller, keys }
    }
}

/// Reports limits that no route enforces, because whoever wrote them relies on them.
pub(crate) fn check_enforced(
    (callers, groups): (&[CallerConfig], &BTreeMap<String, CallerGroupConfig>),
    router: &Router,
    filters: &FilterRegistry,
    problems: &mut ProblemCollector<'_>,
) {
    let mut routes = router.routes().iter();
    if routes.any(|route| {
        route
            .request
            .first_with_provision(FilterProvision::Limits)
            .is_some()
    }) {
        return;
    }
    let keeper = filters.providers(FilterProvision::Limits);
    for (at, limits) in declared_limits(callers, groups) {
        let of_connections = CallerLimitsConfig {
            connections: limits.connections,
            ..CallerLimitsConfig::default()
        };
        if *limits != of_connections {
            problems.warning(
                &at,
                format!("limits are not enforced: no route has {keeper}"),
                Some(&format!("put {keeper} last in the `request` of routes")),
            );
        }
    }
}

/// Reports webhook URLs that get no events, because no route sends any.
pub(crate) fn check_webhooks(
    configs: &[CallerConfig],
    router: &Router,
    filters: &FilterRegistry,
    problems: &mut ProblemCollector<'_>,
) {
    let sends_events = |route: &Arc<Route>| {
        let tasks = route.protocol.and_then(|it| it.descriptor().tasks);
        let sends = route.request.first_with_provision(FilterProvision::Events);
        tasks == Some(TaskApiFormat::OpenAi) && sends.is_some()
    };
    if router.routes().iter().any(sends_events) {
        return;
    }
    let sender = filters.providers(FilterProvision::Events);
    for (index, config) in configs.iter().enumerate() {
        if config.webhook_url.is_some() {
            problems.warning(
                &format!("/callers/{index}/webhook_url"),
                format!("no events are sent: no route with `protocol: videos` has {sender}"),
                Some(&format!(
                    "put {sender} into the `request` of the route that creates videos"
                )),
            );
        }
    }
}

/// The secrets of a caller; reports those that cannot be used.
fn webhook_secrets(
    configs: &[Secret],
    at: &str,
    problems: &mut dyn ConfigProblemSink,
) -> Vec<CallerDeliverySigningKey> {
    let secrets = configs.iter().enumerate().filter_map(|(index, text)| {
        let secret = CallerDeliverySigningKey::parse(text.expose());
        secret
            .map_err(|invalid| {
                problems.error(
                    &format!("{at}/webhook_secrets/{index}"),
                    invalid.to_string(),
                    Some("`headgate key webhook` prints a secret"),
                );
            })
            .ok()
    });
    secrets.collect()
}

/// The URL of a caller's events; reports one that cannot be sent to, or that would get events that OpenAI's SDKs reject.
fn webhook_url(
    config: &CallerConfig,
    at: &str,
    problems: &mut dyn ConfigProblemSink,
) -> Option<Arc<str>> {
    let url = config.webhook_url.as_deref()?;
    let at = format!("{at}/webhook_url");
    let before = problems.errors();
    let host = url.split(['?', '#']).next().unwrap_or_default();
    if let Err(reason) = base_url::parse(host) {
        problems.error(&at, reason, None);
    }
    if url.len() > WEBHOOK_URL_BYTES_MAX || !url.is_ascii() {
        problems.error(
            &at,
            format!("expected at most {WEBHOOK_URL_BYTES_MAX} ASCII characters"),
            None,
        );
    }
    if config.webhook_secrets.is_empty() {
        problems.error(
            &at,
            "`webhook_url` requires `webhook_secrets`: OpenAI's SDKs reject events that are not signed",
            Some("`headgate key webhook` prints a secret"),
        );
    }
    (problems.errors() == before).then(|| url.into())
}
