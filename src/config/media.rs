//! `media` of `routes.yaml`: the media store.

use crate::scalar::HumanDuration;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// Media store: files that the gateway keeps for callers and hands out by URL.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct MediaConfig {
    /// Directory of the files, relative to the folder of this file; created when it is first used. Gateways that
    /// share their state must share it. Default: media.
    pub directory: PathBuf,
    /// How long a file is kept after its last use in a request, and how long its URL is valid; at least 73h, which is
    /// the longest that a task may live, and an hour. Default: 73h.
    pub ttl: HumanDuration,
    /// Maximum number of files of one caller; a further one gets 429. Default: 10000.
    #[schemars(range(min = 1))]
    pub files_per_caller: u32,
}

impl Default for MediaConfig {
    fn default() -> Self {
        Self {
            directory: "media".into(),
            ttl: HumanDuration::seconds(73 * 60 * 60),
            files_per_caller: 10_000,
        }
    }
}
