//! The vendor's own API as written: the calls that callers make, and what the gateway changes in them.

use super::scalars::ValueSourcesConfig;
use headgate_scalar::one_or_more::OneOrMore;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The vendor's own API, for its SDKs: the paths of its calls below the channel's `base_url`, and what is replaced in
/// requests and responses in addition to the task id.
///
/// With `create`, a URL in a response reaches the caller only if it is replaced, or a file of `response.video_url` or
/// `files` where `egress` allows one.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct NativeApiConfig {
    /// Paths of creates; `{model}` or `{+model}` is the model. Default: callers may use any path, and URLs in responses
    /// are not replaced.
    pub create: OneOrMore,
    /// Paths of queries, with `{id}` in a segment or in the query. Default: none.
    pub query: OneOrMore,
    /// Paths of cancels. Default: none.
    pub cancel: OneOrMore,
    /// Paths of requests for the result, if the family has `result`. Default: none.
    pub result: OneOrMore,
    /// Paths of the video itself, which the gateway passes on. Default: none.
    pub content: OneOrMore,
    /// Texts in responses that are replaced, by JSON pointer. `{id}` is the caller's task id, `{model}` the platform model;
    /// `{query_url}`, `{cancel_url}`, `{result_url}` and `{content_url}` are the gateway's URLs of the task. Default:
    /// the places of `task_id` by `{id}`.
    pub replace: BTreeMap<String, String>,
    /// Members of responses that are removed, as JSON pointers. Default: none.
    pub remove: OneOrMore,
    /// Where responses have URLs of files besides the video, for their callers. Default: none.
    pub files: ValueSourcesConfig,
    /// Members of creates that get 400, as JSON pointers, such as URLs to which the provider would send its own ids.
    /// Default: none.
    pub refuse: OneOrMore,
    /// Scheme of the header `Authorization` in which callers may send their key besides `Bearer`, such as `Key`. Default:
    /// none.
    pub key_scheme: Option<String>,
    /// Where responses have the provider's model, which is replaced by the platform model. Default: none.
    pub model: ValueSourcesConfig,
    /// Where requests have ids of other tasks; `*` matches all elements of an array. Default: none.
    pub ids_in_request: ValueSourcesConfig,
    /// Where responses have ids of other tasks; `*` matches all elements of an array. Default: none.
    pub ids_in_response: ValueSourcesConfig,
}
