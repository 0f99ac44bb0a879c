//! `media` of `routes.yaml`: the media store.

use headgate_core::scalar::{ByteSize, HumanDuration, Secret};
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
    /// URL of the server, without the bucket. Default: that of AWS for the region.
    #[serde(default)]
    pub endpoint: Option<String>,
    /// Region of the bucket. Default: us-east-1.
    #[serde(default)]
    pub region: Option<String>,
    /// Name of the bucket, which must exist.
    #[schemars(length(min = 1))]
    pub bucket: String,
    /// What the names of all files begin with, such as `headgate`. Default: nothing.
    #[serde(default)]
    pub prefix: String,
    /// Whether URLs have the bucket in their path, not in their host. Default: true with `endpoint`, else false.
    #[serde(default)]
    pub path_style: Option<bool>,
    /// Id of the access key. Use a variable, such as `${S3_ACCESS_KEY_ID}`.
    pub access_key_id: Secret,
    /// The access key. Use a variable, such as `${S3_SECRET_ACCESS_KEY}`.
    pub secret_access_key: Secret,
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
