//! Writes objects piece by piece, under the lease of a reservation.

use super::content::ContentDescriptor;
use super::error::MediaStoreError;
use super::object::{ObjectRecord, ObjectState, WRITE_LEASE};
use super::reservation::WriteReservation;
use super::storage::OPERATION_TIMEOUT;
use super::store::MediaStore;
use bytes::{Bytes, BytesMut};
use headgate_core::state::calendar::{unix_ms, whole_ms};
use headgate_core::state::records::RecordKind;
use object_store::MultipartUpload;
use object_store::path::Path;
use std::pin::pin;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

/// How often a writer renews its lease.
const LEASE_RENEWAL: Duration = Duration::from_secs(10);

impl MediaStore {
    /// Writes the object of a reservation, then completes its record. On an error, removes both.
    pub(super) async fn write(
        &self,
        mut reservation: WriteReservation,
        content: &ContentDescriptor,
        pieces: impl Iterator<Item = Bytes> + Send + 'static,
    ) -> Result<ObjectRecord, MediaStoreError> {
        if let Some(stale) = reservation.stale_object.take() {
            // Nobody reads it any longer; what cannot be removed now is removed as a leftover.
            let _ = self.storage.delete(&stale).await;
        }
        let location = reservation.record.location(&reservation.key);
        let written = self
            .write_object(&mut reservation, &location, content, pieces)
            .await;
        if let Err(error) = written {
            let _ = self.storage.delete(&location).await;
            let (key, version) = (&reservation.key, reservation.version);
            let records = self.state.records();
            let removed = records.remove(RecordKind::MediaObject, key, version);
            let _ = removed.get().await;
            return Err(error);
        }
        reservation.record.state = ObjectState::Stored;
        match self.update(&mut reservation).await {
            Ok(()) => Ok(reservation.record),
            // The record may say that it is stored, and others may use it already. If it does not, the object is
            // removed when the lease is over.
            Err(error @ MediaStoreError::Records(_)) => Err(error),
            Err(error) => {
                let _ = self.storage.delete(&location).await;
                Err(error)
            }
        }
    }

    async fn write_object(
        &self,
        reservation: &mut WriteReservation,
        location: &Path,
        content: &ContentDescriptor,
        pieces: impl Iterator<Item = Bytes> + Send + 'static,
    ) -> Result<(), MediaStoreError> {
        self.storage.prepare().await?;
        let part_bytes = self.storage.part_bytes();
        let mut parts = parts(pieces, part_bytes, content.size);
        if content.size <= part_bytes as u64 {
            let whole = parts.recv().await.unwrap_or_default();
            if whole.len() as u64 != content.size {
                return Err(MediaStoreError::ContentChanged);
            }
            let content_type = &content.content_type;
            let put = self.storage.put(location, whole, content_type);
            return self.with_lease(reservation, put).await?;
        }
        let upload = self.storage.put_parts(location, &content.content_type);
        let mut upload = upload.await?;
        let uploaded = self
            .upload_parts(reservation, &mut *upload, &mut parts)
            .await;
        if uploaded.is_err() {
            let _ = timeout(OPERATION_TIMEOUT, upload.abort()).await;
        }
        uploaded
    }

    async fn upload_parts(
        &self,
        reservation: &mut WriteReservation,
        upload: &mut dyn MultipartUpload,
        parts: &mut mpsc::Receiver<Bytes>,
    ) -> Result<(), MediaStoreError> {
        let late = |_| MediaStoreError::Stalled(OPERATION_TIMEOUT);
        let mut written = 0;
        let mut renewed = Instant::now();
        while let Some(part) = parts.recv().await {
            written += part.len() as u64;
            let put = timeout(OPERATION_TIMEOUT, upload.put_part(part.into()));
            let put = self.with_lease(reservation, put).await?;
            put.map_err(late)??;
            if renewed.elapsed() > LEASE_RENEWAL {
                self.renew_lease(reservation).await?;
                renewed = Instant::now();
            }
        }
        if written != reservation.record.size {
            return Err(MediaStoreError::ContentChanged);
        }
        let completed = timeout(OPERATION_TIMEOUT, upload.complete());
        let completed = self.with_lease(reservation, completed).await?;
        completed.map_err(late)??;
        Ok(())
    }

    /// The result of `work`, which may take longer than the lease.
    async fn with_lease<T>(
        &self,
        reservation: &mut WriteReservation,
        work: impl Future<Output = T>,
    ) -> Result<T, MediaStoreError> {
        let mut work = pin!(work);
        loop {
            match timeout(LEASE_RENEWAL, &mut work).await {
                Ok(result) => return Ok(result),
                Err(_) => self.renew_lease(reservation).await?,
            }
        }
    }

    async fn renew_lease(&self, reservation: &mut WriteReservation) -> Result<(), MediaStoreError> {
        reservation.record.state = ObjectState::Writing {
            lease_until_ms: unix_ms() + whole_ms(WRITE_LEASE),
        };
        self.update(reservation).await
    }

    /// Writes the record of a reservation, unless another gateway took over.
    async fn update(&self, reservation: &mut WriteReservation) -> Result<(), MediaStoreError> {
        let (key, version) = (&reservation.key, reservation.version);
        let content = reservation.record.content(key);
        let records = self.state.records();
        let replaced = records.replace(RecordKind::MediaObject, key, version, content);
        reservation.version = replaced.get().await?.ok_or(MediaStoreError::Busy)?;
        Ok(())
    }
}

/// Joins pieces to parts of the same size, off the worker threads: pieces may be decoded as they are read. `size` is that
/// of all pieces together.
fn parts(
    pieces: impl Iterator<Item = Bytes> + Send + 'static,
    part_bytes: usize,
    size: u64,
) -> mpsc::Receiver<Bytes> {
    let (sender, receiver) = mpsc::channel(1);
    spawn_blocking(move || {
        let mut part = BytesMut::new();
        let mut left = usize::try_from(size).unwrap_or(usize::MAX);
        for mut piece in pieces {
            while !piece.is_empty() {
                if part.is_empty() {
                    // At once: growing step by step takes up to twice as much.
                    part = BytesMut::with_capacity(part_bytes.min(left));
                }
                let wanted = (part_bytes - part.len()).min(piece.len());
                part.extend_from_slice(&piece.split_to(wanted));
                left = left.saturating_sub(wanted);
                if part.len() == part_bytes && sender.blocking_send(part.split().freeze()).is_err()
                {
                    return;
                }
            }
        }
        if !part.is_empty() {
            let _ = sender.blocking_send(part.freeze());
        }
    });
    receiver
}
