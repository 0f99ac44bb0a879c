//! `prompt_logs` of `routes.yaml`.

use headgate_bucket::BucketConfig;
use headgate_core::scalar::{ByteSize, HumanDuration, Secret};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The section of this feature.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PromptLogsSection {
    /// Where the filter `log_prompts` stores prompts and responses, by name. Default: nowhere.
    pub prompt_logs: BTreeMap<String, PromptSinkConfig>,
}

/// Where prompts and responses are stored: a bucket, or a collector of OpenTelemetry.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromptSinkConfig {
    /// Stores compressed files of JSON lines in a bucket. Either this or `otlp`.
    pub bucket: Option<BucketConfig>,
    /// Sends log records to a collector. Either this or `bucket`.
    pub otlp: Option<PromptCollectorConfig>,
    /// Maximum size of the records that wait in memory, 1MiB to 16GiB; further ones are dropped and counted. Raise it to
    /// bridge longer outages. Default: 32MiB.
    #[serde(default = "max_bytes_default")]
    pub max_bytes: ByteSize,
    /// Bytes that are kept of each request and of each response, 1KiB to 16MiB; the rest is cut off, and the record
    /// says so. Default: 256KiB.
    #[serde(default = "max_body_default")]
    pub max_body: ByteSize,
    /// How long a record waits for others, so that they are stored together, 100ms to 1h. They are stored earlier if
    /// they have 4 MiB. Default: 5s.
    #[serde(default = "flush_default")]
    pub flush: HumanDuration,
}

/// A collector of OpenTelemetry, which gets log records by OTLP over HTTP, as JSON.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromptCollectorConfig {
    /// URL of the collector, http or https, such as `http://127.0.0.1:4318`; without a path, `/v1/logs` is appended.
    pub endpoint: String,
    /// Headers of each export, such as a key of the collector; values are secrets. Default: none.
    #[serde(default)]
    pub headers: BTreeMap<String, Secret>,
}

fn max_bytes_default() -> ByteSize {
    ByteSize::mebibytes(32)
}

fn max_body_default() -> ByteSize {
    ByteSize::kibibytes(256)
}

fn flush_default() -> HumanDuration {
    HumanDuration::seconds(5)
}
