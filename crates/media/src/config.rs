//! `media` of `routes.yaml`: the media store.

use headgate_bucket::BucketConfig;
use headgate_core::scalar::{ByteSize, HumanDuration};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// The sections of the media store.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MediaSection {
    /// Media store: files that the gateway keeps for callers and serves by URL.
    #[serde(default)]
    pub media: MediaConfig,
}

/// Media store: files that the gateway keeps for callers and serves by URL.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct MediaConfig {
    /// Directory of the files, relative to the folder of this file; created when it is first used. Gateways that
    /// share their state must share it. Not with `s3`. Default: media.
    pub directory: Option<PathBuf>,
    /// Stores files in a bucket instead of a directory. Default: none.
    pub s3: Option<MediaBucketConfig>,
    /// How long a file is kept after its last use in a request, and how long its URL is valid; at least 73h, which is
    /// the longest that a task may live, and an hour. Default: 73h.
    pub ttl: HumanDuration,
    /// Maximum number of files of one caller; a further one gets 429. Default: 10000.
    #[schemars(range(min = 1))]
    pub files_per_caller: u32,
    /// Maximum size of the files of one caller together; a further one gets 429. Default: 20GiB.
    pub bytes_per_caller: ByteSize,
    /// Maximum size of all files together; a further one gets 503. Set it below what the disk has. Default: 100GiB.
    pub max_bytes: ByteSize,
}

/// A bucket of an S3-compatible server.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct MediaBucketConfig {
    #[serde(flatten)]
    pub bucket: BucketConfig,
    /// Whether providers read files from the bucket by URLs that are signed with the access key, not from the gateway;
    /// `server.public_url` is not required then. Default: false.
    #[serde(default)]
    pub presigned: bool,
}

impl Default for MediaConfig {
    fn default() -> Self {
        Self {
            directory: None,
            s3: None,
            ttl: HumanDuration::seconds(73 * 60 * 60),
            files_per_caller: 10_000,
            bytes_per_caller: ByteSize::mebibytes(20 << 10),
            max_bytes: ByteSize::mebibytes(100 << 10),
        }
    }
}
