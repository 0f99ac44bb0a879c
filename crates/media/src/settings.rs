//! The settings of the media store.

use headgate_bucket::BucketSettings;
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
    Bucket {
        bucket: BucketSettings,
        /// Whether URLs lead to the bucket, signed with its credential, not to the gateway.
        is_presigned: bool,
    },
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
