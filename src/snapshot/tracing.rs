//! Builds the settings of tracing. Connects nowhere.

use super::{ProblemCollector, channels, origin};
use crate::callout::ServiceEndpoint;
use crate::catalog::channel::{Channel, HttpVersion, Origin, Timeouts};
use crate::config::channels::ChannelTlsConfig;
use crate::config::tracing::{
    ErrorSamplingConfig, ParentSamplingConfig, TraceSamplingConfig, TracingConfig,
};
use crate::telemetry::{
    ErrorSampling, ParentSampling, TraceQueue, TraceSampling, TraceSettings, Tracing,
};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where problems of the section are.
const AT: &str = "/tracing";
/// The path of OTLP over HTTP for traces.
const DEFAULT_PATH: &str = "/v1/traces";

/// The settings of tracing; `None` if the configuration has none, or wrong ones.
pub(crate) fn build(
    config: Option<&TracingConfig>,
    folder: &Path,
    queue: &Arc<TraceQueue>,
    problems: &mut ProblemCollector<'_>,
) -> Option<Arc<Tracing>> {
    let config = config?;
    if !cfg!(feature = "otlp") {
        let hint = "build the program with the feature `otlp`, which is on by default";
        problems.error(AT, "this program was built without tracing", Some(hint));
        return None;
    }
    let TracingConfig {
        endpoint: _,
        headers: _,
        tls: _,
        service_name,
        resource_attributes,
        sampling,
        queue_size,
        batch_size,
        timeout,
    } = config;
    let settings = TraceSettings {
        collector: build_collector(config, folder, problems)?,
        sampling: build_sampling(sampling),
        service_name: service_name.clone(),
        resource: resource_attributes.clone().into_iter().collect(),
        queue_size: *queue_size as usize,
        batch_size: *batch_size as usize,
        timeout: timeout.duration(),
    };
    Some(Arc::new(Tracing::new(settings, queue.clone())))
}

/// The files that the section names.
pub(crate) fn files(config: Option<&TracingConfig>, folder: &Path) -> Vec<PathBuf> {
    let files = config
        .into_iter()
        .flat_map(|config| channels::tls_files(&config.tls));
    files.map(|path| folder.join(path)).collect()
}

fn build_collector(
    config: &TracingConfig,
    folder: &Path,
    problems: &mut ProblemCollector<'_>,
) -> Option<ServiceEndpoint> {
    let TracingConfig {
        endpoint,
        headers,
        tls,
        ..
    } = config;
    let before = problems.errors();
    let base = origin::parse(endpoint)
        .map_err(|reason| problems.error(&format!("{AT}/endpoint"), reason, None))
        .ok();
    let texts = headers.iter().map(|(name, value)| (name, value.expose()));
    let headers = channels::build_headers(texts, AT, problems);
    let base = base?;
    if *tls != ChannelTlsConfig::default() && !base.tls {
        let reason = "`tls` requires an `endpoint` with https";
        problems.error(&format!("{AT}/tls"), reason, None);
    }
    let tls = match base.tls {
        true => Some(channels::build_tls(tls, &base, folder, AT, problems)?),
        false => None,
    };
    if problems.errors() > before {
        return None;
    }
    let path = match &*base.path {
        "" => DEFAULT_PATH,
        path => path,
    };
    let path = path.to_owned();
    let mut hasher = DefaultHasher::new();
    ("tracing", endpoint, &tls, &headers).hash(&mut hasher);
    let origin = Origin {
        host: base.host,
        port: base.port,
        base_path: "".into(),
        authority: base.authority,
        http: HttpVersion::Http1,
        tls,
    };
    // The timeout of each export replaces these.
    let timeouts = Timeouts::default();
    let name = "tracing".into();
    let server = Channel::of_server(name, origin, timeouts, headers, hasher.finish());
    Some(ServiceEndpoint { server, path })
}

fn build_sampling(config: &TraceSamplingConfig) -> TraceSampling {
    let TraceSamplingConfig {
        ratio,
        parent,
        parents_per_second,
        errors,
    } = config;
    let parent = match parent {
        ParentSamplingConfig::Follow => ParentSampling::Follow {
            per_second: *parents_per_second,
        },
        ParentSamplingConfig::Ignore => ParentSampling::Ignore,
    };
    let errors = match errors {
        ErrorSamplingConfig::None => ErrorSampling::None,
        ErrorSamplingConfig::Server => ErrorSampling::Server,
        ErrorSamplingConfig::All => ErrorSampling::All,
    };
    TraceSampling::new(*ratio, parent, errors)
}
