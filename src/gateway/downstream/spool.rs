//! A large body in a file without a name: written off the worker threads, then read as if it were memory.

use crate::snapshot::spooling::nameless_file;
use bytes::{Bytes, BytesMut};
use memmap2::Mmap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// Pieces are gathered to so many bytes, each of which then costs one visit to another thread.
const BATCH: usize = 1 << 20;

/// A body that is being written.
pub struct BodySpool {
    folder: Arc<Path>,
    /// Made with the first batch: who only announces a large body has no file.
    file: Option<File>,
    written: u64,
    batch: BytesMut,
}

impl BodySpool {
    /// An empty one, whose file will be made in `folder`.
    pub fn new(folder: Arc<Path>) -> Self {
        Self {
            folder,
            file: None,
            written: 0,
            batch: BytesMut::new(),
        }
    }

    /// Bytes in all.
    pub fn len(&self) -> u64 {
        self.written + self.batch.len() as u64
    }

    /// Takes the next piece.
    ///
    /// # Errors
    /// The file cannot be made, or takes no more.
    pub async fn push(&mut self, piece: Bytes) -> io::Result<()> {
        if self.batch.is_empty() && piece.len() >= BATCH {
            return self.write(piece).await;
        }
        self.batch.extend_from_slice(&piece);
        match self.batch.len() >= BATCH {
            true => self.write_batch().await,
            false => Ok(()),
        }
    }

    /// The whole body. Its memory is the system's cache of the file, which gives way where memory is scarce.
    ///
    /// # Errors
    /// The file takes no more, or cannot be mapped.
    pub async fn finish(mut self) -> io::Result<Bytes> {
        if !self.batch.is_empty() {
            self.write_batch().await?;
        }
        let Some(file) = self.file else {
            return Ok(Bytes::new());
        };
        // SAFETY: the file has no name, and this is its only handle, which ends here: nobody changes
        // or shortens it while it is mapped.
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
            Ok(file)
        };
        let written: io::Result<File> = spawn_blocking(write).await.map_err(io::Error::other)?;
        self.file = Some(written?);
        Ok(())
    }
}
