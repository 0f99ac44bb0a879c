//! Where state is kept, and how that store is opened.

use super::Store;
use super::embedded::Embedded;
use super::memory::Memory;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where state is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Site {
    #[default]
    Memory,
    File(FileSite),
}

/// An SQLite file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSite {
    pub path: PathBuf,
    /// How long an id is kept that nobody uses.
    pub keep: Duration,
}

impl Site {
    /// Opens the store. What cannot be had is told and counted, and never keeps the gateway from starting.
    pub fn open(&self) -> Arc<dyn Store> {
        match self {
            Self::Memory => Arc::new(Memory::default()),
            Self::File(FileSite { path, keep }) => match Embedded::open(path, *keep) {
                Ok(store) => Arc::new(store),
                Err(reason) => {
                    tracing::warn!(
                        file = %path.display(), %reason,
                        "the state file cannot be used: state is kept in memory, and forgotten when headgate stops"
                    );
                    Arc::new(Memory::instead_of("sqlite"))
                }
            },
        }
    }
}
