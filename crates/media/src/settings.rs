//! The settings of the media store.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Where media are stored, for how long, and how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaSettings {
    pub location: MediaLocation,
    /// How long an object is kept after its last use in a request.
    pub ttl: Duration,
    pub limits: MediaLimits,
}

/// Where objects are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediaLocation {
    /// A local directory, an absolute path; created when it is first used.
    Directory(PathBuf),
    Bucket(BucketSettings),
}

/// How much may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaLimits {
    /// The maximum number of objects of one caller.
    pub objects_per_caller: u32,
    /// The maximum size of the objects of one caller together, in bytes.
    pub bytes_per_caller: u64,
    /// The maximum size of all objects together, in bytes.
    pub bytes: u64,
}

/// A bucket of an S3-compatible server.
#[derive(Clone, PartialEq, Eq)]
pub struct BucketSettings {
    /// Scheme, host and port.
    pub endpoint: String,
    pub region: String,
    pub bucket: String,
    /// The start of the names of all objects; empty for none.
    pub prefix: String,
    /// Whether the bucket is in the path of a URL, not in its host.
    pub has_bucket_in_path: bool,
    pub access_key_id: String,
    pub secret_access_key: String,
    /// Whether URLs lead to the bucket, signed with its credential, not to the gateway.
    pub is_presigned: bool,
}

impl fmt::Debug for BucketSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketSettings")
            .field("endpoint", &self.endpoint)
            .field("bucket", &self.bucket)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}
