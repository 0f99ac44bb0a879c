//! Reads a stored object piece by piece.

use super::error::MediaStoreError;
use super::object::StoredObject;
use super::storage::{OPERATION_TIMEOUT, OpenObject, file_result};
use super::store::MediaStore;
use bytes::Bytes;
use object_store::path::Path;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// The size of the pieces that an object is read in, in bytes. A client that does not read holds one of them. Each piece
/// of a bucket is a request.
const PIECE_BYTES: u64 = 256 << 10;

/// Reads a part of an object, piece by piece. A local file stays open, so that its removal does not end the reading.
pub struct ObjectReader {
    store: Arc<MediaStore>,
    location: Path,
    object: OpenObject,
    next: u64,
    end: u64,
}

impl MediaStore {
    /// Opens an object to read its bytes from `start` to before `end`; `None` if its content is not there.
    ///
    /// # Errors
    /// The object store is unreachable.
    pub async fn open(
        self: &Arc<Self>,
        object: &StoredObject,
        start: u64,
        end: u64,
    ) -> Result<Option<ObjectReader>, MediaStoreError> {
        let opened = self.storage.open(&object.location, object.size).await;
        let opened = opened.inspect_err(|_| self.shared.counters.count_read_failure())?;
        Ok(opened.map(|opened| ObjectReader {
            store: self.clone(),
            location: object.location.clone(),
            object: opened,
            next: start,
            end,
        }))
    }
}

impl ObjectReader {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// The object cannot be read.
    pub async fn next_piece(&mut self) -> Result<Option<Bytes>, MediaStoreError> {
        if self.next >= self.end {
            return Ok(None);
        }
        let end = self.end.min(self.next + PIECE_BYTES);
        let piece = self.read(self.next, end).await;
        let piece = piece.inspect_err(|_| self.store.shared.counters.count_read_failure())?;
        self.next = end;
        Ok(Some(piece))
    }

    async fn read(&self, start: u64, end: u64) -> Result<Bytes, MediaStoreError> {
        let size = end - start;
        let piece = match &self.object {
            OpenObject::Remote => self.store.storage.get(&self.location, start, end).await?,
            OpenObject::File(file) => {
                let file = file.clone();
                // On this thread, since the allocator keeps what blocking threads allocate and others free.
                let mut piece = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
                let read = move || {
                    file.read_exact_at(&mut piece, start)?;
                    Ok(piece)
                };
                file_result(timeout(OPERATION_TIMEOUT, spawn_blocking(read)).await)?.into()
            }
        };
        match piece.len() as u64 == size {
            true => Ok(piece),
            false => Err(MediaStoreError::ContentChanged),
        }
    }
}
