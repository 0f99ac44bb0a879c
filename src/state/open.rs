//! How the store is opened where state is kept.

use super::StateStore;
use super::clock::Clock;
use super::memory::MemoryStore;
use super::redis_store::RedisStore;
use super::settings::{SqliteSettings, StoreSettings};
use super::sqlite_store::SqliteStore;
use std::sync::Arc;

impl StoreSettings {
    /// Opens the store. What cannot be had is told and counted, and never keeps the gateway from starting.
    pub fn open(&self) -> Arc<dyn StateStore> {
        match self {
            Self::Memory => Arc::new(MemoryStore::default()),
            Self::File(SqliteSettings { path, keep }) => {
                match SqliteStore::open(path, *keep, Clock::default()) {
                    Ok(store) => Arc::new(store),
                    Err(reason) => {
                        tracing::warn!(
                            file = %path.display(), %reason,
                            "the state file cannot be used: state is kept in memory, and forgotten when headgate stops"
                        );
                        Arc::new(MemoryStore::fallback_for("sqlite"))
                    }
                }
            }
            Self::Redis(site) => {
                let opened = site.client().and_then(|client| {
                    RedisStore::open(client, site).map_err(|error| error.to_string())
                });
                match opened {
                    Ok(store) => Arc::new(store),
                    Err(reason) => {
                        tracing::error!(reason, "Redis cannot be used: state is kept in memory");
                        Arc::new(MemoryStore::fallback_for("redis"))
                    }
                }
            }
        }
    }
}
