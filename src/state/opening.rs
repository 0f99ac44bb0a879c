//! How the store is opened where state is kept.

use super::Store;
use super::clock::Clock;
use super::embedded::Embedded;
use super::memory::Memory;
use super::shared::Shared;
use super::site::{FileSite, Site};
use std::sync::Arc;

impl Site {
    /// Opens the store. What cannot be had is told and counted, and never keeps the gateway from starting.
    pub fn open(&self) -> Arc<dyn Store> {
        match self {
            Self::Memory => Arc::new(Memory::default()),
            Self::File(FileSite { path, keep }) => {
                match Embedded::open(path, *keep, Clock::default()) {
                    Ok(store) => Arc::new(store),
                    Err(reason) => {
                        tracing::warn!(
                            file = %path.display(), %reason,
                            "the state file cannot be used: state is kept in memory, and forgotten when headgate stops"
                        );
                        Arc::new(Memory::instead_of("sqlite"))
                    }
                }
            }
            Self::Redis(site) => {
                let opened = site.client().and_then(|client| {
                    Shared::open(client, site).map_err(|error| error.to_string())
                });
                match opened {
                    Ok(store) => Arc::new(store),
                    Err(reason) => {
                        tracing::error!(reason, "Redis cannot be used: state is kept in memory");
                        Arc::new(Memory::instead_of("redis"))
                    }
                }
            }
        }
    }
}
