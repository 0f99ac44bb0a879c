//! Writes objects piece by piece, under the lease of a reservation.

use super::error::MediaStoreError;
use super::object::{ObjectRecord, ObjectState, WRITE_LEASE, random_write};
use super::reservation::WriteReservation;
use super::store::MediaStore;
use crate::state::calendar::{unix_ms, whole_ms};
use crate::state::records::RecordKind;
use bytes::{Bytes, BytesMut};
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStoreExt};
use std::fs::{DirBuilder, OpenOptions, remove_file};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

/// Bytes that are written at a time.
const PART_BYTES: usize = 1 << 20;

impl MediaStore {
    /// Writes the object of a reservation, then completes its record. On an error, removes both.
    pub(super) async fn write(
        &self,
        mut reservation: WriteReservation,
        pieces: impl Iterator<Item = Bytes> + Send + 'static,
    ) -> Result<ObjectRecord, MediaStoreError> {
        if let Some(abandoned) = reservation.abandoned.take() {
            // Nobody reads it any longer; if it cannot be removed now, it is lost space and no error.
            let _ = self.objects.delete(&abandoned).await;
        }
        let location = reservation.record.location(&reservation.key);
        let written = self.write_object(&mut reservation, &location, pieces).await;
        let completed = match written {
            Ok(()) => {
                reservation.record.state = ObjectState::Stored;
                self.update(&mut reservation).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = completed {
            let _ = self.objects.delete(&location).await;
            let (key, version) = (&reservation.key, reservation.version);
            let removed = self
                .state
                .records()
                .remove(RecordKind::MediaObject, key, version);
            let _ = removed.get().await;
            return Err(error);
        }
        Ok(reservation.record)
    }

    async fn write_object(
        &self,
        reservation: &mut WriteReservation,
        location: &Path,
        pieces: impl Iterator<Item = Bytes> + Send + 'static,
    ) -> Result<(), MediaStoreError> {
        self.create_directory().await?;
        let size = reservation.record.size;
        let mut parts = parts(pieces);
        if size <= PART_BYTES as u64 {
            let whole = parts.recv().await.unwrap_or_default();
            if whole.len() as u64 != size {
                return Err(MediaStoreError::ContentChanged);
            }
            self.objects.put(location, whole.into()).await?;
            return Ok(());
        }
        let mut upload = self.objects.put_multipart(location).await?;
        let uploaded = self
            .upload_parts(reservation, &mut *upload, &mut parts)
            .await;
        if uploaded.is_err() {
            let _ = upload.abort().await;
        }
        uploaded
    }

    async fn upload_parts(
        &self,
        reservation: &mut WriteReservation,
        upload: &mut dyn MultipartUpload,
        parts: &mut mpsc::Receiver<Bytes>,
    ) -> Result<(), MediaStoreError> {
        let mut written = 0;
        let mut renewed = Instant::now();
        while let Some(part) = parts.recv().await {
            written += part.len() as u64;
            upload.put_part(part.into()).await?;
            if renewed.elapsed() > WRITE_LEASE / 3 {
                reservation.record.state = ObjectState::Writing {
                    lease_until_ms: unix_ms() + whole_ms(WRITE_LEASE),
                };
                self.update(reservation).await?;
                renewed = Instant::now();
            }
        }
        if written != reservation.record.size {
            return Err(MediaStoreError::ContentChanged);
        }
        upload.complete().await?;
        Ok(())
    }

    /// Writes the record of a reservation, unless another gateway took over.
    async fn update(&self, reservation: &mut WriteReservation) -> Result<(), MediaStoreError> {
        let content = reservation.record.content(&reservation.owner);
        let (key, version) = (&reservation.key, reservation.version);
        let records = self.state.records();
        let replaced = records.replace(RecordKind::MediaObject, key, version, content);
        reservation.version = replaced.get().await?.ok_or(MediaStoreError::Busy)?;
        Ok(())
    }

    /// Whether files can be created in the directory, or where it will be created.
    ///
    /// # Errors
    /// They cannot; a sentence for the operator.
    pub fn check_directory(&self) -> Result<(), String> {
        let directory = &self.settings.local.directory;
        let existing = directory.ancestors().find(|ancestor| ancestor.is_dir());
        let existing = existing.unwrap_or(directory);
        let probe = existing.join(format!(".headgate-{:016x}", random_write()));
        let created = OpenOptions::new().write(true).create_new(true).open(&probe);
        let removed = created.and_then(|_| remove_file(&probe));
        removed.map_err(|error| format!("cannot create files in {}: {error}", existing.display()))
    }

    /// Creates the directory of a local store, for the user of the process only.
    async fn create_directory(&self) -> Result<(), MediaStoreError> {
        let directory = self.settings.local.directory.clone();
        let create = move || {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)
        };
        let created = spawn_blocking(create).await.map_err(io::Error::other);
        created
            .and_then(|created| created)
            .map_err(MediaStoreError::Directory)
    }
}

/// Joins pieces to parts, off the worker threads: pieces may be decoded as they are read.
fn parts(pieces: impl Iterator<Item = Bytes> + Send + 'static) -> mpsc::Receiver<Bytes> {
    let (sender, receiver) = mpsc::channel(1);
    spawn_blocking(move || {
        let mut part = BytesMut::new();
        for piece in pieces {
            part.extend_from_slice(&piece);
            if part.len() >= PART_BYTES && sender.blocking_send(part.split().freeze()).is_err() {
                return;
            }
        }
        if !part.is_empty() {
            let _ = sender.blocking_send(part.freeze());
        }
    });
    receiver
}
