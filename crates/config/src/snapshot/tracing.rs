//! Builds the settings of tracing. Connects nowhere.

use super::service_endpoint::{self, EndpointSection};
use super::{ProblemCollector, upstream_tls};
use crate::routes::RouteConfig;
use crate::tracing::{
    ErrorSamplingConfig, ParentSamplingConfig, RouteTracedMessagesConfig, TraceSamplingConfig,
    TracingConfig,
};
use headgate_protocol::Protocol;
use headgate_tracing::{
    ErrorSampling, MessageTracePolicy, ParentSampling, TraceQueue, TraceSampling, TraceSettings,
    Tracing,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where problems of the section are.
const AT: &str = "/tracing";
/// Maximum of `size_max`.
const MESSAGE_BYTES_MAX: u64 = 32 << 10;
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

/// What the spans of a route's requests have of their messages; `at` is the route.
pub(super) fn messages(
    config: &RouteTracedMessagesConfig,
    protocol: Option<Protocol>,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> MessageTracePolicy {
    let RouteTracedMessagesConfig {
        input,
        output,
        size_max,
    } = *config;
    let at = format!("{at}/traced_messages");
    if size_max.bytes() > MESSAGE_BYTES_MAX {
        let hint = "captures have longer bodies, up to 64 KiB";
        let reason = "must be at most 32KiB";
        problems.error(&format!("{at}/size_max"), reason, Some(hint));
    }
    if (input || output) && protocol.is_none_or(|it| it.descriptor().conversation.is_none()) {
        let hint = "remove it, or set `protocol` to chat, messages or responses";
        problems.error(&at, "the route has no protocol with messages", Some(hint));
    }
    MessageTracePolicy {
        input,
        output,
        bytes_max: size_max.bytes() as usize,
    }
}

/// Warns of routes whose messages cannot be traced, since the configuration has no `tracing`.
pub(crate) fn warn_without(
    config: Option<&TracingConfig>,
    routes: &[RouteConfig],
    problems: &mut ProblemCollector<'_>,
) {
    let asks = |route: &RouteConfig| route.traced_messages.input || route.traced_messages.output;
    for (index, _) in routes.iter().enumerate().filter(|(_, route)| asks(route)) {
        if config.is_none() {
            let at = format!("/routes/{index}/traced_messages");
            let hint = Some("add the section `tracing`");
            problems.warning(&at, "has no effect without `tracing`", hint);
        }
    }
}

/// The files that the section names.
pub(crate) fn files(config: Option<&TracingConfig>, folder: &Path) -> Vec<PathBuf> {
    let files = config
        .into_iter()
        .flat_map(|config| upstream_tls::tls_files(&config.tls));
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
