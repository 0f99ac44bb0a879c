//! Settings of the state store.

use super::{OnStoreFailure, StateStore};
use crate::scalar::Secret;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Which state store is used.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum StoreSettings {
    #[default]
    Memory,
    File(SqliteSettings),
    Redis(Box<RedisSettings>),
}

/// Settings of the SQLite store.
#[derive(Clone, Debug, PartialEq)]
pub struct SqliteSettings {
    pub path: PathBuf,
    /// An id that was not used for this long is removed.
    pub id_ttl: Duration,
}

/// Settings of the Redis store.
#[derive(Clone, Debug, PartialEq)]
pub struct RedisSettings {
    /// The URL, `redis://` or `rediss://`; it may contain user and password.
    pub url: Secret,
    pub user: Option<String>,
    pub password: Option<Secret>,
    /// CA certificates to trust instead of the system's, in PEM.
    pub ca: Option<Vec<u8>>,
    /// The prefix of every key.
    pub prefix: String,
    /// The timeout of a command that a request waits for.
    pub timeout: Duration,
    /// An id that was not used for this long is removed.
    pub id_ttl: Duration,
    pub on_store_failure: OnStoreFailure,
}

/// Checks and opens the stores that settings name.
pub trait StoreOpener: Sync {
    /// Checks settings without connecting.
    ///
    /// # Errors
    /// A sentence without secrets: the URL is invalid, or the CA certificates cannot be used.
    fn check_redis(&self, settings: &RedisSettings) -> Result<(), String>;

    /// Opens the store. If it cannot be opened, the reason is logged and a store in memory replaces it, whose records
    /// fail: the gateway always starts, and takes no paid work that it could not record.
    fn open(&self, settings: &StoreSettings) -> Arc<dyn StateStore>;
}

impl StoreSettings {
    /// The database file, if there is one. SQLite's other files beside it have names that start with its name.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(site) => Some(&site.path),
            Self::Memory | Self::Redis(_) => None,
        }
    }
}
