//! Builds callers from their configuration: keys, models, limits.

use super::ProblemCollector;
use super::caller_keys;
use super::caller_limits::{build_limits, build_shared_budgets, check_models, declared_limits};
use super::groups;
use super::router::{Route, Router};
use crate::caller_limits::CallerLimitsConfig;
use crate::callers::CallerConfig;
use crate::groups::CallerGroupConfig;
use crate::model_properties::ModelPropertiesConfig;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::base_url;
use headgate_core::catalog::caller::{Caller, Callers};
use headgate_core::catalog::webhook_secret::CallerDeliverySigningKey;
use headgate_core::feature::FilterRegistry;
use headgate_core::filter::descriptor::FilterProvision;
use headgate_core::scalar::Secret;
use headgate_protocol::TaskApiFormat;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The maximum length of a webhook URL, in bytes: as of a `callback_url`.
const WEBHOOK_URL_BYTES_MAX: usize = 2_048;

/// Builds the callers; reports a key or name that two callers share.
pub(crate) fn build(
    configs: &[CallerConfig],
    (group_configs, models): (
        &BTreeMap<String, CallerGroupConfig>,
        &BTreeMap<String, ModelPropertiesConfig>,
    ),
    catalog: &Catalog,
    problems: &mut ProblemCollector<'_>,
) -> Callers {
    let shared = build_shared_budgets(models);
    let group_limits = groups::build(group_configs, shared.as_ref(), catalog, problems);
    groups::check_use(group_configs, configs, problems);
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
        check_models(
            &config.limits,
            catalog,
            &format!("{at}/limits/models"),
            problems,
        );
        let mut caller = Caller::new(&config.name, &config.models);
        let group = groups::find(config, &group_limits, &at, problems);
        let group = group.or_else(|| shared.clone());
        caller.limits = build_limits(&caller.name, &config.limits, catalog).with_group(group);
        caller.webhook_secrets = webhook_secrets(&config.webhook_secrets, &at, problems);
        caller.webhook_url = webhook_url(config, &at, problems);
        let caller = Arc::new(caller);
        callers.add(&caller);
        caller_keys::build(config, &caller, &at, &mut callers, problems);
    }
    callers
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
    problems: &mut ProblemCollector<'_>,
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
    problems: &mut ProblemCollector<'_>,
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
