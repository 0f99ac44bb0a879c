//! Spools a large body to an unlinked file, written off the worker threads and then mapped into memory.

use bytes::{Bytes, BytesMut};
use headgate_config::snapshot::spooling::nameless_file;
use memmap2::Mmap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// Bytes per write: each write moves to a blocking thread and back.
const BATCH: usize = 1 << 20;
/// Room for the last piece of a batch, as large as connections deliver them.
const PIECE_ROOM: usize = 64 << 10;

/// A body that is being written to a file.
pub struct BodySpool {
    folder: Arc<Path>,
    /// Created with the first batch, so that a client that only announces a large body causes no file.
    file: Option<File>,
    written: u64,
    batch: BytesMut,
}

impl BodySpool {
    /// An empty spool; its file will be created in `folder`.
    pub fn new(folder: Arc<Path>) -> Self {
        Self {
            folder,
            file: None,
            written: 0,
            batch: BytesMut::new(),
        }
    }

    /// Number of bytes received.
    pub fn len(&self) -> u64 {
        self.written + self.batch.len() as u64
    }

    /// Appends a piece.
    ///
    /// # Errors
    /// The file cannot be created or written.
    pub async fn push(&mut self, piece: Bytes) -> io::Result<()> {
        if self.batch.is_empty() && piece.len() >= BATCH {
            return self.write(piece).await;
        }
        if self.batch.is_empty() {
            // At once: growing step by step takes up to twice as much.
            self.batch = BytesMut::with_capacity(BATCH + PIECE_ROOM);
        }
        self.batch.extend_from_slice(&piece);
        match self.batch.len() >= BATCH {
            true => self.write_batch().await,
            false => Ok(()),
        }
    }

    /// The complete body. Its memory is the page cache of the file, which the system can reclaim.
    ///
    /// # Errors
    /// The file cannot be written or mapped.
    pub async fn finish(mut self) -> io::Result<Bytes> {
        if !self.batch.is_empty() {
            self.write_batch().await?;
        }
        let Some(file) = self.file else {
            return Ok(Bytes::new());
        };
        // SAFETY: the file has no name and this is its only handle, which is dropped here, so no one can change or
        // truncate the file while it is mapped.
        let mapped = unsafe { Mmap::map(&file) }?;
        Ok(Bytes::from_owner(mapped))
    }

    async fn write_batch(&mut self) -> io::Result<()> {
        let batch = self.batch.split().freeze();
        self.write(batch).await
    }

    async fn write(&mut self, bytes: Bytes) -> io::Result<()> {
        let (file, folder) = (self.file.take(), self.folder.clone());
        self.written += bytes.len() as u64;
        let write = move || {
            let mut file = match file {
                Some(file) => file,
                None => nameless_file(&folder)?,
            };
            file.write_all(&bytes)?;
            // The batch is dropped where it was allocated: across threads the allocator returns memory late.
            Ok((file, bytes))
        };
        let written: io::Result<(File, Bytes)> =
            spawn_blocking(write).await.map_err(io::Error::other)?;
        let (file, _batch) = written?;
        self.file = Some(file);
        Ok(())
    }
}
