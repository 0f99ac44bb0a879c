//! `tracing` of `routes.yaml`: traces for an OpenTelemetry collector.

use super::channels::UpstreamTlsConfig;
use headgate_core::scalar::{ByteSize, HumanDuration, Secret};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Traces of requests for an OpenTelemetry collector, by OTLP over HTTP.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TracingConfig {
    /// URL of the collector, http or https, such as `http://127.0.0.1:4318`; without a path, `/v1/traces` is appended.
    pub endpoint: String,
    /// Headers of each export, such as a key of the collector; values are secrets. Default: none.
    #[serde(default)]
    pub headers: BTreeMap<String, Secret>,
    /// TLS towards the collector, if `endpoint` is https. Default: verified with the CA certificates of the system.
    #[serde(default)]
    pub tls: UpstreamTlsConfig,
    /// `service.name` of the resource. Default: headgate.
    #[serde(default = "default_service_name")]
    #[schemars(length(min = 1))]
    pub service_name: String,
    /// Further attributes of the resource, such as `deployment.environment.name`. Default: none.
    #[serde(default)]
    pub resource_attributes: BTreeMap<String, String>,
    /// Which requests are exported.
    #[serde(default)]
    pub sampling: TraceSamplingConfig,
    /// Maximum number of requests that wait for the export, 1 to 100000; further ones are dropped and counted. Raise it
    /// if the collector pauses often; each takes about 1 KiB. Default: 2048.
    #[serde(default = "default_queue_size")]
    #[schemars(range(min = 1, max = 100_000))]
    pub queue_size: u32,
    /// Maximum number of requests in one export, 1 to 10000; an export begins at the latest after one second.
    /// Default: 512.
    #[serde(default = "default_batch_size")]
    #[schemars(range(min = 1, max = 10_000))]
    pub batch_size: u32,
    /// Timeout of an export, from its start to the end of the response. Default: 10s.
    #[serde(default = "default_timeout")]
    pub timeout: HumanDuration,
}

/// Which requests are exported.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TraceSamplingConfig {
    /// Share of the requests that are exported, 0 to 1, of those that no parent decides. Default: 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ratio: f64,
    /// What the sampled flag in a caller's `traceparent` decides. Default: follow.
    pub parent: ParentSamplingConfig,
    /// Maximum number of requests in a second that are exported only because their `traceparent` is sampled, so that
    /// callers cannot cause more; `ratio` decides for further ones. Default: 100.
    pub parents_per_second: u32,
    /// Which failed requests are exported although they are not sampled. Default: server.
    pub errors: ErrorSamplingConfig,
}

/// What the sampled flag in a caller's `traceparent` decides.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ParentSamplingConfig {
    /// The request is exported if its parent is sampled, and else not.
    #[default]
    Follow,
    /// Nothing: `ratio` decides.
    Ignore,
}

/// Which messages of a route the spans of its requests have. They are personal data in most places.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RouteTracedMessagesConfig {
    /// Whether spans have the messages and instructions of requests. Default: false.
    pub input: bool,
    /// Whether spans have the messages of responses. Default: false.
    pub output: bool,
    /// Maximum size of the messages of a request, and of those of its response, up to 32KiB. Default: 8KiB.
    pub size_max: ByteSize,
}

/// Which failed requests are exported although they are not sampled.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ErrorSamplingConfig {
    None,
    /// Those that a provider or the gateway caused to fail.
    #[default]
    Server,
    /// All that failed, also because of what the caller sent.
    All,
}

impl Default for RouteTracedMessagesConfig {
    fn default() -> Self {
        Self {
            input: false,
            output: false,
            size_max: ByteSize::kibibytes(8),
        }
    }
}

impl Default for TraceSamplingConfig {
    fn default() -> Self {
        Self {
            ratio: 1.0,
            parent: ParentSamplingConfig::default(),
            parents_per_second: 100,
            errors: ErrorSamplingConfig::default(),
        }
    }
}

fn default_service_name() -> String {
    "headgate".into()
}

fn default_queue_size() -> u32 {
    2048
}

fn default_batch_size() -> u32 {
    512
}

fn default_timeout() -> HumanDuration {
    HumanDuration::seconds(10)
}
