//! Why the media store fails.

use headgate_core::state::StoreUnavailable;
use std::io;
use std::time::Duration;

/// Why content could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum MediaStoreError {
    #[error("the caller has as many objects, or as many bytes in them, as it may have")]
    OwnerFull,
    #[error("the store has as many bytes as `media.max_bytes` allows")]
    StoreFull,
    #[error(transparent)]
    Records(#[from] StoreUnavailable),
    #[error("cannot write or read objects: {0}")]
    Objects(#[from] object_store::Error),
    #[error("cannot create or read files of the media store: {0}")]
    Files(io::Error),
    #[error("no progress within {0:?}")]
    Stalled(Duration),
    #[error(
        "too many objects are written, or another gateway writes the same content and does not finish"
    )]
    Busy,
    #[error("the content changed while it was written")]
    ContentChanged,
}

impl MediaStoreError {
    /// Whether the same write may succeed later. It does not if the caller has no quota left, or if a file is where the
    /// directory of the store should be.
    pub(super) fn is_temporary(&self) -> bool {
        match self {
            Self::OwnerFull => false,
            Self::Files(error) => !matches!(
                error.kind(),
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory
            ),
            Self::StoreFull
            | Self::Records(_)
            | Self::Objects(_)
            | Self::Stalled(_)
            | Self::Busy
            | Self::ContentChanged => true,
        }
    }
}
