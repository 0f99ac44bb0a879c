//! Opens the configured state store.

use crate::redis_store::{self, RedisStore};
use crate::sqlite_store::{SqliteStore, StateFileError};
use headgate_core::state::StateStore;
use headgate_core::state::clock::Clock;
use headgate_core::state::memory::MemoryStore;
use headgate_core::state::settings::{RedisSettings, SqliteSettings, StoreOpener, StoreSettings};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Opens the stores of this crate.
pub struct StateStoreOpener;

impl StoreOpener for StateStoreOpener {
    fn check_redis(&self, settings: &RedisSettings) -> Result<(), String> {
        redis_store::client(settings).map(drop)
    }

    fn open(&self, settings: &StoreSettings) -> Arc<dyn StateStore> {
        let opened = match settings {
            StoreSettings::Memory => Ok(memory()),
            StoreSettings::File(file) => open_sqlite(file, SqliteStore::open),
            StoreSettings::Redis(site) => open_redis(site),
        };
        opened.unwrap_or_else(|reason| {
            let configured = match settings.file() {
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
}

/// Opens the store that a gateway uses, for a command: no store replaces it, and a corrupt file stays in its place.
///
/// # Errors
/// Why it cannot be opened.
pub fn open_existing(settings: &StoreSettings) -> Result<Arc<dyn StateStore>, String> {
    match settings {
        StoreSettings::Memory => Ok(memory()),
        StoreSettings::File(file) => open_sqlite(file, SqliteStore::open_existing),
        StoreSettings::Redis(site) => open_redis(site),
    }
}

fn memory() -> Arc<dyn StateStore> {
    Arc::new(MemoryStore::default())
}

fn open_sqlite(
    settings: &SqliteSettings,
    open: impl Fn(&Path, Duration, Clock) -> Result<SqliteStore, StateFileError>,
) -> Result<Arc<dyn StateStore>, String> {
    let store = open(&settings.path, settings.id_ttl, Clock::default());
    Ok(Arc::new(store.map_err(|error| error.to_string())?))
}

fn open_redis(settings: &RedisSettings) -> Result<Arc<dyn StateStore>, String> {
    let store = RedisStore::open(redis_store::client(settings)?, settings);
    Ok(Arc::new(store.map_err(|error| error.to_string())?))
}
