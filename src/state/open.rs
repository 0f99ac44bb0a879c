//! Opens the configured state store.

use super::StateStore;
use super::clock::Clock;
use super::memory::MemoryStore;
use super::redis_store::RedisStore;
use super::settings::{SqliteSettings, StoreSettings};
use super::sqlite_store::SqliteStore;
use std::sync::Arc;

impl StoreSettings {
    /// Opens the store. If it cannot be opened, the reason is logged and a store in memory replaces it, whose records
    /// fail: the gateway always starts, and takes no paid work that it could not record.
    pub fn open(&self) -> Arc<dyn StateStore> {
        match self {
            Self::Memory => Arc::new(MemoryStore::default()),
            Self::File(SqliteSettings { path, id_ttl }) => {
                match SqliteStore::open(path, *id_ttl, Clock::default()) {
                    Ok(store) => Arc::new(store),
                    Err(reason) => {
                        tracing::warn!(
                            file = %path.display(), %reason,
                            "cannot use the state file; state is kept in memory and lost when headgate stops"
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
                        tracing::error!(reason, "cannot use Redis; state is kept in memory");
                        Arc::new(MemoryStore::fallback_for("redis"))
                    }
                }
            }
        }
    }
}
