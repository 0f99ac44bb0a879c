//! Builds the services that filters call. Connects nowhere.

use super::{ProblemCollector, channels, origin};
use crate::callout::{
    BreakerSettings, CalloutService, CalloutServices, ServiceEndpoint, ServiceLimits,
    SharedServiceState,
};
use crate::catalog::channel::{Channel, HttpVersion, Origin, Timeouts};
use crate::config::channels::ChannelTlsConfig;
use crate::config::pointer::child;
use crate::config::services::{BreakerConfig, ServiceConfig};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) fn build(
    configs: &BTreeMap<String, ServiceConfig>,
    folder: &Path,
    shared: &Arc<SharedServiceState>,
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
    configs: &'a BTreeMap<String, ServiceConfig>,
    folder: &'a Path,
) -> impl Iterator<Item = PathBuf> + 'a {
    let files = configs
        .values()
        .flat_map(|config| channels::tls_files(&config.tls));
    files.map(|path| folder.join(path))
}

/// Warns of services that no filter calls. Call it when all routes are built.
pub(crate) fn check_use(
    configs: &BTreeMap<String, ServiceConfig>,
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
    config: &ServiceConfig,
    folder: &Path,
    shared: &Arc<SharedServiceState>,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> Option<CalloutService> {
    let ServiceConfig {
        url,
        headers,
        timeout,
        concurrent,
        breaker,
        tls,
    } = config;
    let base = origin::parse(url)
        .map_err(|reason| problems.error(&format!("{at}/url"), reason, None))
        .ok();
    let before = problems.errors();
    let texts = headers.iter().map(|(name, value)| (name, value.expose()));
    let headers = channels::build_headers(texts, at, problems);
    let base = base?;
    if *tls != ChannelTlsConfig::default() && !base.tls {
        let reason = "`tls` requires a `url` with https";
        problems.error(&format!("{at}/tls"), reason, None);
    }
    let tls = match base.tls {
        true => Some(channels::build_tls(tls, &base, folder, at, problems)?),
        false => None,
    };
    if problems.errors() > before {
        return None;
    }
    let path = if base.path.is_empty() {
        "/"
    } else {
        &base.path
    };
    let path = path.to_owned();
    let mut hasher = DefaultHasher::new();
    ("service", name, url, &tls, &headers).hash(&mut hasher);
    let origin = Origin {
        host: base.host,
        port: base.port,
        base_path: "".into(),
        authority: base.authority,
        // Any thread may use a pooled connection.
        http: HttpVersion::Http1,
        tls,
    };
    // The timeout of each call replaces these.
    let timeouts = Timeouts::default();
    let server = Channel::of_server(name.into(), origin, timeouts, headers, hasher.finish());
    let limits = ServiceLimits {
        timeout: timeout.duration(),
        concurrent: *concurrent,
        breaker: breaker_settings(breaker),
    };
    let endpoint = ServiceEndpoint { server, path };
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
