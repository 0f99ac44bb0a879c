//! Builds the services that filters call. Connects nowhere.

use super::service_endpoint::{self, EndpointSection};
use super::{ProblemCollector, upstream_tls};
use crate::services::{BreakerConfig, CalloutServiceConfig};
use headgate_core::callout::{
    BreakerSettings, CalloutService, CalloutServices, ProcessServiceStates, ServiceLimits,
};
use headgate_core::pointer::child;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) fn build(
    configs: &BTreeMap<String, CalloutServiceConfig>,
    folder: &Path,
    shared: &Arc<ProcessServiceStates>,
    problems: &mut ProblemCollector<'_>,
) -> CalloutServices {
    let services = configs.iter().filter_map(|(name, config)| {
        let at = child("/services", name);
        build_one(name, config, folder, shared, &at, problems)
    });
    CalloutServices::new(services.collect::<Vec<_>>())
}

/// The files that the services name.
pub(crate) fn files<'a>(
    configs: &'a BTreeMap<String, CalloutServiceConfig>,
    folder: &'a Path,
) -> impl Iterator<Item = PathBuf> + 'a {
    let files = configs
        .values()
        .flat_map(|config| upstream_tls::tls_files(&config.tls));
    files.map(|path| folder.join(path))
}

/// Warns of services that no filter calls. Call it when all routes are built.
pub(crate) fn check_use(
    configs: &BTreeMap<String, CalloutServiceConfig>,
    services: &CalloutServices,
    problems: &mut ProblemCollector<'_>,
) {
    let errors = problems.errors();
    for name in configs.keys().filter(|_| errors == 0) {
        let is_used = services
            .get(name)
            .is_none_or(|one| Arc::strong_count(one) > 1);
        if !is_used {
            let reason = format!("service `{name}` is never used");
            problems.warning(&child("/services", name), reason, None);
        }
    }
}

fn build_one(
    name: &str,
    config: &CalloutServiceConfig,
    folder: &Path,
    shared: &Arc<ProcessServiceStates>,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> Option<CalloutService> {
    let CalloutServiceConfig {
        url,
        headers,
        timeout,
        concurrent,
        breaker,
        tls,
    } = config;
    let section = EndpointSection {
        name,
        at,
        url_key: ("a", "url"),
        url,
        headers: headers.iter().map(|(name, value)| (name, value.expose())),
        tls,
        default_path: "/",
    };
    let endpoint = service_endpoint::build(section, folder, problems)?;
    let limits = ServiceLimits {
        timeout: timeout.duration(),
        concurrent: *concurrent,
        breaker: breaker_settings(breaker),
    };
    Some(CalloutService::new(
        name.into(),
        endpoint,
        limits,
        shared.clone(),
    ))
}

fn breaker_settings(config: &BreakerConfig) -> BreakerSettings {
    BreakerSettings {
        failures: config.consecutive_failures,
        cool_down: config.cool_down.duration(),
    }
}
