//! Builds the plugins of a configuration: confines their files, compiles their modules, checks their limits and grants.

use crate::config::{
    PluginConfig, PluginGrantsConfig, PluginLimitsConfig, PluginLogLevelConfig,
    PluginPropertyConfig,
};
use crate::{
    PluginCpuTimeLimits, PluginDefinition, PluginDefinitions, PluginGrants, PluginLimits,
    PluginLogLevel, PluginSettings, PropertyValue, SharedPluginState, WithheldPartGrants,
};
use headgate_core::callout::{CalloutService, CalloutServices};
use headgate_core::feature::section::ConfigProblemSink;
use headgate_core::pointer::child;
use headgate_core::regular_file;
use headgate_core::scalar::{ByteSize, HumanDuration};
use headgate_protocol::nearest::nearest;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Largest module, in bytes.
pub const MODULE_BYTES_MAX: u64 = 64 << 20;
/// The folder beside the configuration in which modules lie.
const FOLDER: &str = "plugins";
/// The folder of compiled code within it.
const COMPILED: &str = ".compiled";
/// Memory of all instances of all plugins together, unless the operator sets it.
const MEMORY_TOTAL: usize = 512 << 20;

pub(crate) fn build(
    configs: &BTreeMap<String, PluginConfig>,
    services: &CalloutServices,
    folder: &Path,
    shared: &Arc<SharedPluginState>,
    problems: &mut dyn ConfigProblemSink,
) -> PluginDefinitions {
    let builder = PluginBuilder {
        services,
        folder,
        shared,
    };
    let built = configs.iter().map(|(name, config)| {
        let at = child("/plugins", name);
        let definition = builder.build(name, config, &at, problems);
        (Arc::from(name.as_str()), definition)
    });
    PluginDefinitions::new(built.collect::<Vec<_>>())
}

/// The memory of all instances of all plugins together, in bytes: what the operator set, or the default, and as much as the
/// plugin that may have the most.
pub(crate) fn memory_total(
    configs: &BTreeMap<String, PluginConfig>,
    set: Option<usize>,
    problems: &mut dyn ConfigProblemSink,
) -> usize {
    let memory = |config: &PluginConfig| usize::try_from(config.limits.memory.bytes());
    let Some(total) = set else {
        let all = configs.values().filter_map(|config| memory(config).ok());
        return all.fold(MEMORY_TOTAL, usize::max);
    };
    for (name, config) in configs {
        let above = memory(config).ok().filter(|memory| *memory > total);
        if let Some(memory) = above {
            let at = format!("{}/limits/memory", child("/plugins", name));
            let reason = format!(
                "the {memory} bytes that an instance may have are more than the {total} of all plugins together"
            );
            let hint = "lower `limits.memory`, or raise `server.limits.plugin_memory`";
            problems.error(&at, reason, Some(hint));
        }
    }
    total
}

/// Warns of plugins that no filter runs. Call it when all routes are built.
pub(crate) fn check_use(plugins: &PluginDefinitions, problems: &mut dyn ConfigProblemSink) {
    if problems.errors() > 0 {
        return;
    }
    for (name, plugin) in plugins.iter() {
        if !plugin.is_used() {
            let reason = format!("plugin `{name}` is never used");
            problems.warning(&child("/plugins", name), reason, None);
        }
    }
}

struct PluginBuilder<'a> {
    services: &'a CalloutServices,
    folder: &'a Path,
    shared: &'a Arc<SharedPluginState>,
}

impl PluginBuilder<'_> {
    fn build(
        &self,
        name: &str,
        config: &PluginConfig,
        at: &str,
        problems: &mut dyn ConfigProblemSink,
    ) -> Option<PluginDefinition> {
        let before = problems.errors();
        let limits = build_limits(&config.limits, at, problems);
        let services = self.granted(config, at, problems);
        let grants = build_grants(&config.grants, at, problems);
        let path = self.confined(&config.wasm).map_err(|reason| {
            let hint = "put the module into the folder `plugins` beside the configuration";
            problems.error(&format!("{at}/wasm"), reason, Some(hint));
        });
        let path = path.ok().filter(|_| problems.errors() == before)?;
        let cache = self.folder.join(FOLDER).join(COMPILED);
        let read = regular_file::read(&path, MODULE_BYTES_MAX)
            .map_err(|error| format!("cannot read the module: {error}"));
        let module = read.and_then(|bytes| {
            let module = self
                .shared
                .module(&bytes, config.sha256.clone(), Some(cache));
            module.map_err(|error| error.to_string())
        });
        let module = module.map_err(|reason| {
            let hint = match &config.sha256 {
                Some(_) if reason.contains("SHA-256") => {
                    "put the right module there, or, if this is the right one, write its SHA-256 as `sha256`"
                }
                _ => "build the module again; `headgate plugin check` reports what a module lacks",
            };
            problems.error(&format!("{at}/wasm"), reason, Some(hint));
        });
        if let Some(problem) = module
            .as_ref()
            .ok()
            .and_then(|one| one.module.cache_problem())
        {
            let reason = format!(
                "the compiled module cannot be kept, and is compiled at each start: {problem}"
            );
            let hint = "make the folder `plugins/.compiled` beside the configuration writable";
            problems.warning(&format!("{at}/wasm"), reason, Some(hint));
        }
        let settings = PluginSettings {
            root_id: config.root_id.clone(),
            limits,
            grants: PluginGrants {
                http_call: config.grants.http_call.clone(),
                shared_data: config.grants.shared_data,
                ..PluginGrants::default()
            },
            instances: config.instances,
            log_level: log_level(config.log_level),
            properties: properties(&config.properties),
            ..PluginSettings::named(name)
        };
        let shared = self.shared.clone();
        Some(PluginDefinition::new(
            module.ok()?,
            settings,
            services,
            grants,
            shared,
        ))
    }

    /// The path of a module within the folder of plugins.
    fn confined(&self, wasm: &Path) -> Result<PathBuf, String> {
        let root = self.folder.join(FOLDER);
        let found = |path: &Path| {
            path.canonicalize()
                .map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        let path = found(&self.folder.join(wasm))?;
        match path.starts_with(found(&root)?) {
            true => Ok(path),
            false => Err(format!(
                "{} is outside of {}",
                wasm.display(),
                root.display()
            )),
        }
    }

    fn granted(
        &self,
        config: &PluginConfig,
        at: &str,
        problems: &mut dyn ConfigProblemSink,
    ) -> BTreeMap<String, Arc<CalloutService>> {
        let names = config.grants.http_call.iter().enumerate();
        let granted = names.filter_map(|(index, name)| {
            if let Some(service) = self.services.get(name) {
                return Some((name.clone(), service.clone()));
            }
            let known = self.services.iter().map(|service| &*service.name);
            let hint = match nearest(name, known, 1).first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => "declare it in `services`".to_owned(),
            };
            let pointer = format!("{at}/grants/http_call/{index}");
            problems.error(&pointer, format!("no service `{name}`"), Some(&hint));
            None
        });
        granted.collect()
    }
}

fn build_grants(
    config: &PluginGrantsConfig,
    at: &str,
    problems: &mut dyn ConfigProblemSink,
) -> WithheldPartGrants {
    let mut names = |key: &str, names: &[String]| {
        let names = names.iter().enumerate().filter_map(|(index, name)| {
            let header = name.parse().ok().filter(WithheldPartGrants::may_grant);
            if header.is_none() {
                let pointer = format!("{at}/grants/{key}/{index}");
                let reason = format!("`{name}` is not a header that can be granted");
                let hint = "name a header, but none of the connection or of the body's length";
                problems.error(&pointer, reason, Some(hint));
            }
            header
        });
        names.collect::<Vec<_>>()
    };
    WithheldPartGrants {
        request_headers: names("request_headers", &config.request_headers),
        response_headers: names("response_headers", &config.response_headers),
        query: config.query.clone(),
    }
}

fn properties(config: &BTreeMap<String, PluginPropertyConfig>) -> BTreeMap<String, PropertyValue> {
    let value = |value: &PluginPropertyConfig| match value {
        PluginPropertyConfig::Bool(value) => PropertyValue::Bool(*value),
        PluginPropertyConfig::Int(value) => PropertyValue::Int(*value),
        PluginPropertyConfig::Fraction(value) => {
            PropertyValue::Bytes(value.to_le_bytes().to_vec().into())
        }
        PluginPropertyConfig::Text(value) => PropertyValue::Text(value.clone()),
    };
    let pairs = config.iter();
    pairs
        .map(|(path, property)| (path.clone(), value(property)))
        .collect()
}

fn build_limits(
    config: &PluginLimitsConfig,
    at: &str,
    problems: &mut dyn ConfigProblemSink,
) -> PluginLimits {
    let mut limits = PluginLimitsParser {
        at: format!("{at}/limits"),
        problems,
    };
    let cpu = (Duration::from_millis(1), Duration::from_secs(10));
    let start = (Duration::from_millis(1), Duration::from_secs(60));
    let pause = (Duration::from_millis(1), Duration::from_secs(300));
    let memory = limits.size("memory", config.memory, (1 << 20, 1 << 30));
    PluginLimits {
        memory,
        recycle: memory / 4 * 3,
        time: PluginCpuTimeLimits {
            start: limits.time("start_cpu", config.start_cpu, start),
            headers: limits.time("headers_cpu", config.headers_cpu, cpu),
            body: limits.time("body_cpu", config.body_cpu, cpu),
            event: limits.time("event_cpu", config.event_cpu, cpu),
            ..PluginCpuTimeLimits::default()
        },
        pause: limits.time("pause", config.pause, pause),
        body: limits.size("body", config.body, (1, 128 << 20)),
        log: u32::try_from(limits.size("log", config.log, (0, 64 << 20))).unwrap_or(u32::MAX),
        http_calls: config.http_calls,
        ..PluginLimits::default()
    }
}

/// Reads limits, each within its range.
struct PluginLimitsParser<'a> {
    at: String,
    problems: &'a mut dyn ConfigProblemSink,
}

impl PluginLimitsParser<'_> {
    fn size(&mut self, key: &str, size: ByteSize, (least, most): (u64, u64)) -> usize {
        let bytes = size.bytes();
        if bytes < least || bytes > most {
            let reason = format!("`{key}` must be {least} to {most} bytes");
            self.problems
                .error(&format!("{}/{key}", self.at), reason, None);
        }
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    fn time(
        &mut self,
        key: &str,
        time: HumanDuration,
        (least, most): (Duration, Duration),
    ) -> Duration {
        let time = time.duration();
        if time < least || time > most {
            let reason = format!("`{key}` must be {least:?} to {most:?}");
            self.problems
                .error(&format!("{}/{key}", self.at), reason, None);
        }
        time
    }
}

fn log_level(config: PluginLogLevelConfig) -> PluginLogLevel {
    match config {
        PluginLogLevelConfig::Trace => PluginLogLevel::Trace,
        PluginLogLevelConfig::Debug => PluginLogLevel::Debug,
        PluginLogLevelConfig::Info => PluginLogLevel::Info,
        PluginLogLevelConfig::Warn => PluginLogLevel::Warn,
        PluginLogLevelConfig::Error => PluginLogLevel::Error,
    }
}
