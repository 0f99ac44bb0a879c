//! Why the media store fails.

use crate::state::StoreUnavailable;
use std::io;

/// Why content could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum MediaStoreError {
    #[error("the caller has as many objects as it may have")]
    OwnerFull,
    #[error(transparent)]
    Records(#[from] StoreUnavailable),
    #[error("cannot write or read objects: {0}")]
    Objects(#[from] object_store::Error),
    #[error("cannot create the directory of the media store: {0}")]
    Directory(io::Error),
    #[error("another gateway writes the same content and does not finish")]
    Busy,
    #[error("the content changed while it was written")]
    ContentChanged,
}
