//! Builds the settings of tracing. Connects nowhere.

use super::service_endpoint::{self, EndpointSection};
use super::{ProblemCollector, channels};
use crate::config::tracing::{
    ErrorSamplingConfig, ParentSamplingConfig, TraceSamplingConfig, TracingConfig,
};
use crate::telemetry::{
    ErrorSampling, ParentSampling, TraceQueue, TraceSampling, TraceSettings, Tracing,
};
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
        endpoint,
        headers,
        tls,
        service_name,
        resource_attributes,
        sampling,
        queue_size,
        batch_size,
        timeout,
    } = config;
    let section = EndpointSection {
        name: "tracing",
        at: AT,
        url_key: ("an", "endpoint"),
        url: endpoint,
        headers: headers.iter().map(|(name, value)| (name, value.expose())),
        tls,
        default_path: DEFAULT_PATH,
    };
    let settings = TraceSettings {
        collector: service_endpoint::build(section, folder, problems)?,
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
