//! Opens the configured state store.

use super::StateStore;
use super::clock::Clock;
use super::memory::MemoryStore;
use super::redis_store::RedisStore;
use super::settings::{RedisSettings, SqliteSettings, StoreSettings};
use super::sqlite_store::{SqliteStore, StateFileError};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

impl StoreSettings {
    /// Opens the store. If it cannot be opened, the reason is logged and a store in memory replaces it, whose records
    /// fail: the gateway always starts, and takes no paid work that it could not record.
    pub fn open(&self) -> Arc<dyn StateStore> {
        let opened = match self {
            Self::Memory => Ok(memory()),
            Self::File(site) => site.open(SqliteStore::open),
            Self::Redis(site) => site.open(),
        };
        opened.unwrap_or_else(|reason| {
            let configured = match self.file() {
                Some(file) => {
                    tracing::warn!(
                        file = %file.display(), reason,
                        "cannot use the state file; state is kept in memory and lost when headgate stops"
                    );
                    "sqlite"
                }
                None => {
                    tracing::error!(reason, "cannot use Redis; state is kept in memory");
                    "redis"
                }
            };
            Arc::new(MemoryStore::fallback_for(configured))
        })
    }

    /// Opens the store that a gateway uses, for a command: no store replaces it, and a corrupt file stays in its place.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub fn open_existing(&self) -> Result<Arc<dyn StateStore>, String> {
        match self {
            Self::Memory => Ok(memory()),
            Self::File(site) => site.open(SqliteStore::open_existing),
            Self::Redis(site) => site.open(),
        }
    }
}

fn memory() -> Arc<dyn StateStore> {
    Arc::new(MemoryStore::default())
}

impl SqliteSettings {
    fn open(
        &self,
        open: impl Fn(&Path, Duration, Clock) -> Result<SqliteStore, StateFileError>,
    ) -> Result<Arc<dyn StateStore>, String> {
        let store = open(&self.path, self.id_ttl, Clock::default());
        Ok(Arc::new(store.map_err(|error| error.to_string())?))
    }
}

impl RedisSettings {
    fn open(&self) -> Result<Arc<dyn StateStore>, String> {
        let store = RedisStore::open(self.client()?, self);
        Ok(Arc::new(store.map_err(|error| error.to_string())?))
    }
}
