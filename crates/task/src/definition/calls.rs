//! Requests to the provider as written: create, query, cancel and result.

use super::scalars::ValueSourcesConfig;
use crate::state::TaskState;
use headgate_scalar::HumanDuration;
use headgate_scalar::text_or_expression::TextOrExpressionConfig;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A request that creates a task.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TaskCreateConfig {
    /// HTTP method.
    pub method: String,
    /// Path, appended to the channel's `base_url`; `{model}` is replaced by the channel's model, which keeps its slashes
    /// as `{+model}`. `{cel: …}` computes it from the create in the generic shape.
    pub path: TextOrExpressionConfig,
    /// Headers of the request; `{uuid}` is replaced by a new UUID.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Whether the request is sent as a multipart form in place of JSON: members are fields, elements of a list fields of
    /// one name, objects JSON text, and data URIs in base64 files. Default: false.
    #[serde(default)]
    pub form: bool,
    /// Other paths, each with the request fields (JSON pointers) that only this path accepts. A create on one
    /// of the provider's own paths goes to that path; others go to the first path with a field of the request,
    /// else to `path`. Default: none.
    #[serde(default)]
    pub other_paths: BTreeMap<String, ValueSourcesConfig>,
}

/// A request that queries the status of a task, and how long the status is cached.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TaskQueryConfig {
    /// HTTP method.
    pub method: String,
    /// Path, appended to the channel's `base_url`; `{id}` is replaced by the provider's task id, which keeps its slashes
    /// as `{+id}`.
    pub path: String,
    /// Headers of the request; `{uuid}` is replaced by a new UUID.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Body of the request as JSON; `{id}` in its texts is replaced by the provider's task id. Default: none.
    pub body: Option<Value>,
    /// Where the response to a create has the URL that is queried in place of `path`. It must lie below the channel's
    /// `base_url` or on one of `hosts`. Default: none.
    #[serde(default)]
    pub url: ValueSourcesConfig,
    /// Hosts on which that URL may lie, such as `api.*.vendor.example`; `*` is one label. Queries, cancels and requests
    /// for results of the task, with the channel's credential, then go there, if `egress` allows it. Default: none.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// How long the status of an unfinished task is cached. Raise it to send fewer queries. Default: 2s.
    #[serde(default = "default_cache_ttl")]
    pub cache_ttl: HumanDuration,
    /// How long the status of a finished task is cached. Lower it if URLs in responses expire earlier. Default:
    /// 1h.
    #[serde(default = "default_final_cache_ttl")]
    pub final_cache_ttl: HumanDuration,
    /// Maximum queries and cancels of one channel in any second, 1 to 1000, for all gateways that share their
    /// state. Default: no limit.
    #[schemars(range(min = 1, max = 1000))]
    pub max_per_second: Option<u16>,
}

/// A request that cancels a task.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TaskCancelConfig {
    /// HTTP method.
    pub method: String,
    /// Path, appended to the channel's `base_url`; `{id}` is replaced by the provider's task id, which keeps its slashes
    /// as `{+id}`.
    pub path: String,
    /// Headers of the request; `{uuid}` is replaced by a new UUID.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Body of the request as JSON; `{id}` in its texts is replaced by the provider's task id. Default: none.
    pub body: Option<Value>,
    /// Statuses in which a cancel is sent. In others none is sent, since the same request may have another
    /// meaning there. Default: queued and running.
    #[serde(default)]
    pub statuses: Vec<TaskState>,
}

/// A request for the result of a task.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TaskResultConfig {
    /// HTTP method.
    pub method: String,
    /// Path, appended to the channel's `base_url`; `{id}` is replaced by the provider's task id, and `{/pointer}` by a value
    /// of the response to the query.
    pub path: String,
    /// Headers of the request; `{uuid}` is replaced by a new UUID.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Body of the request as JSON; `{id}` in its texts is replaced by the provider's task id. Default: none.
    pub body: Option<Value>,
}

fn default_cache_ttl() -> HumanDuration {
    HumanDuration::seconds(2)
}

fn default_final_cache_ttl() -> HumanDuration {
    HumanDuration::seconds(60 * 60)
}
