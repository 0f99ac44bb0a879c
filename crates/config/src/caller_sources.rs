//! `caller_sources` of `routes.yaml`: where callers that it does not name come from.

use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// Sources of callers besides `callers`. A name or a key that `callers` has is refused in a source.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct CallerSourcesConfig {
    /// Folder with a file for each caller, relative to the folder of `routes.yaml`: `NAME.yaml` is an entry of `callers` with
    /// this `name`. New, changed and removed files take effect without a reload; other files are ignored. Default: none.
    #[schemars(extend("minLength" = 1))]
    pub folder: Option<PathBuf>,
    /// Keeps callers in the state store, which admin keys with the role `issue` make, change and delete at `/callers` of the
    /// admin pages. Their records are sealed with `task_keys`. Default: none.
    pub store: Option<CallerStoreConfig>,
    /// How many callers of all sources metrics name, up to 10000: the first ones. All others are `other`. Default: 100.
    #[schemars(range(max = 10_000))]
    pub metric_names: u16,
}

/// Callers in the state store.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct CallerStoreConfig {
    /// Maximum number of callers in the state store, up to 1000000. Default: 100000.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub most: u32,
}

impl Default for CallerStoreConfig {
    fn default() -> Self {
        Self { most: 100_000 }
    }
}

impl Default for CallerSourcesConfig {
    fn default() -> Self {
        Self {
            folder: None,
            store: None,
            metric_names: 100,
        }
    }
}
