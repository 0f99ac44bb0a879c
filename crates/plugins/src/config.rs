//! `plugins` of `routes.yaml`: WebAssembly modules that filters run.

use headgate_core::scalar::{ByteSize, HumanDuration};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The sections of plugins.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PluginsSection {
    /// Plugins: WebAssembly modules that filters run, by name.
    #[serde(default)]
    pub plugins: BTreeMap<String, PluginConfig>,
}

/// A plugin: a WebAssembly module with the Proxy-Wasm interface.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PluginConfig {
    /// Path of the module, such as `plugins/redact.wasm`. It must lie in the folder `plugins` beside this file, also after
    /// symbolic links are followed.
    pub wasm: PathBuf,
    /// The SHA-256 that the module must have, as 64 hexadecimal digits. Set it so that another module is refused.
    /// Default: any module.
    #[serde(default)]
    #[schemars(regex(pattern = "^[0-9a-fA-F]{64}$"))]
    pub sha256: Option<String>,
    /// Which of its contexts a module with several of them creates. Default: "".
    #[serde(default)]
    pub root_id: String,
    /// Limits of the plugin. Its failures at a limit do what `on_failure` of the filter has.
    #[serde(default)]
    pub limits: PluginLimitsConfig,
    /// What the plugin may reach beyond the exchange. Default: nothing.
    #[serde(default)]
    pub grants: PluginGrantsConfig,
    /// Properties that the plugin reads, by their paths with dots, such as `node.metadata.region`. They precede those that
    /// the gateway has. Default: none.
    #[serde(default)]
    pub properties: BTreeMap<String, PluginPropertyConfig>,
    /// Instances between which requests are divided, 1 to 256. Raise it if requests wait for a plugin that computes
    /// for long. Default: 32.
    #[serde(default = "default_instances")]
    #[schemars(range(min = 1, max = 256))]
    pub instances: usize,
    /// The level from which lines of the plugin are logged. Default: info.
    #[serde(default)]
    pub log_level: PluginLogLevelConfig,
}

/// Limits of a plugin.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PluginLimitsConfig {
    /// Maximum memory of one instance, 1MiB to 1GiB. Default: 64MiB.
    pub memory: ByteSize,
    /// Processor time of a start with its configuration, up to 60s. Default: 1s.
    pub start_cpu: HumanDuration,
    /// Processor time of a callback for headers, 1ms to 10s. Default: 20ms.
    pub headers_cpu: HumanDuration,
    /// Processor time of a callback for a body, 1ms to 10s. Default: 200ms.
    pub body_cpu: HumanDuration,
    /// Processor time of a callback for an event of a stream, 1ms to 10s. Default: 5ms.
    pub event_cpu: HumanDuration,
    /// How long a request may wait for a plugin that paused it, up to 5m. Default: 30s.
    pub pause: HumanDuration,
    /// Maximum size of a body that the plugin is given or writes, and of a response to its HTTP calls, up to 128MiB. The
    /// memory must have place for it, several times in most languages. Default: 4MiB.
    pub body: ByteSize,
    /// Maximum bytes of log lines in a second; further lines are dropped and counted. Default: 64KiB.
    pub log: ByteSize,
    /// Maximum concurrent HTTP calls, up to 10000. Default: 64.
    #[schemars(range(max = 10_000))]
    pub http_calls: usize,
}

/// What a plugin may reach beyond the exchange.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PluginGrantsConfig {
    /// Names of the `services` that the plugin may call. Default: none.
    pub http_call: Vec<String>,
    /// Whether the instances of the plugin may share data and queues. Default: false.
    pub shared_data: bool,
    /// Headers of requests that carry credentials, such as `cookie`, and that the plugin may see and change. Default: none.
    pub request_headers: Vec<String>,
    /// Members of the query that carry credentials, such as `token`, and that the plugin may see. Default: none.
    pub query: Vec<String>,
    /// Headers of providers' responses that callers do not get, such as `set-cookie`, and that the plugin may see. Callers get
    /// what the plugin leaves of them. Default: none.
    pub response_headers: Vec<String>,
}

/// The value of a property: a text, an integer, a number with a fraction, or a truth value.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a string, a number or a boolean")]
pub enum PluginPropertyConfig {
    Bool(bool),
    Int(i64),
    Fraction(f64),
    Text(String),
}

/// The level of a log line.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PluginLogLevelConfig {
    Trace,
    Debug,
    #[default]
    Info,
    Warn,
    Error,
}

impl Default for PluginLimitsConfig {
    fn default() -> Self {
        Self {
            memory: ByteSize::mebibytes(64),
            start_cpu: HumanDuration::seconds(1),
            headers_cpu: HumanDuration::milliseconds(20),
            body_cpu: HumanDuration::milliseconds(200),
            event_cpu: HumanDuration::milliseconds(5),
            pause: HumanDuration::seconds(30),
            body: ByteSize::mebibytes(4),
            log: ByteSize::kibibytes(64),
            http_calls: 64,
        }
    }
}

/// Not derived: the schemas of the variants would hide from errors which types there are.
impl JsonSchema for PluginPropertyConfig {
    fn schema_name() -> Cow<'static, str> {
        "PluginPropertyConfig".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The value of a property: a text, an integer, a number with a fraction, or a truth value.",
            "type": ["string", "number", "boolean"]
        })
    }
}

fn default_instances() -> usize {
    32
}
