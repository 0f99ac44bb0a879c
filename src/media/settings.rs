//! The settings of the media store.

use std::path::PathBuf;
use std::time::Duration;

/// Where media are stored, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaSettings {
    pub local: LocalMediaSettings,
    /// How long an object is kept after its last use in a request.
    pub ttl: Duration,
    /// The maximum number of objects of one caller.
    pub objects_per_caller: u32,
}

/// A local directory, created when it is first used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalMediaSettings {
    /// An absolute path.
    pub directory: PathBuf,
}
