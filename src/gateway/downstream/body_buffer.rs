//! Buffers a request body up to its limit: a small one in memory, a large one in a spool file.

use super::spool::BodySpool;
use crate::filter::limit_body::too_large;
use crate::protocol::fault::{Fault, FaultKind};
use crate::snapshot::spooling::SpoolPolicy;
use bytes::{Bytes, BytesMut};
use std::io;

/// Maximum number of bytes that are allocated for a body of declared length before its data arrives.
const BODY_ROOM_MAX: usize = 1 << 20;
/// Minimum allocation, in bytes, for a body of unknown length that exceeds `BODY_ROOM_MAX`.
const UNDECLARED_ROOM_MAX: usize = 64 << 20;

/// A request body that is being received.
pub struct SpoolingBodyBuffer<'s> {
    bytes_max: u64,
    declared: Option<u64>,
    /// When to spool the body; `None` keeps it in memory.
    spooling: Option<&'s SpoolPolicy>,
    storage: BodyStorage,
}

enum BodyStorage {
    Memory(BytesMut),
    Spool(BodySpool),
}

impl<'s> SpoolingBodyBuffer<'s> {
    /// An empty buffer; `declared` is the body's declared length in bytes.
    pub fn new(bytes_max: u64, declared: Option<u64>, spooling: Option<&'s SpoolPolicy>) -> Self {
        Self {
            bytes_max,
            declared,
            spooling,
            storage: BodyStorage::Memory(BytesMut::new()),
        }
    }

    /// Whether `first` is the whole body.
    pub fn is_whole(&self, first: &Bytes) -> bool {
        let bytes = first.len() as u64;
        self.declared == Some(bytes) && bytes <= self.bytes_max
    }

    /// Appends a piece.
    ///
    /// # Errors
    /// The body is too large, or cannot be stored.
    pub async fn push(&mut self, piece: Bytes) -> Result<(), Fault> {
        let bytes = self.len() + piece.len() as u64;
        if bytes > self.bytes_max {
            return Err(too_large(self.declared, self.bytes_max));
        }
        let expected = bytes.max(self.declared.unwrap_or(0));
        let spooled = match &mut self.storage {
            BodyStorage::Spool(spool) => spool.push(piece).await,
            BodyStorage::Memory(body) => match self.spooling {
                Some(spooling) if expected > spooling.threshold => {
                    let body = std::mem::take(body).freeze();
                    let mut spool = BodySpool::new(spooling.folder.clone());
                    let pushed = push_all(&mut spool, [body, piece]).await;
                    self.storage = BodyStorage::Spool(spool);
                    pushed
                }
                _ => {
                    self.remember(&piece);
                    Ok(())
                }
            },
        };
        spooled.map_err(|error| self.no_room(error))
    }

    /// The complete body.
    ///
    /// # Errors
    /// The body cannot be stored.
    pub async fn finish(mut self) -> Result<Bytes, Fault> {
        match std::mem::replace(&mut self.storage, BodyStorage::Memory(BytesMut::new())) {
            BodyStorage::Memory(body) => Ok(body.freeze()),
            BodyStorage::Spool(spool) => spool.finish().await.map_err(|error| self.no_room(error)),
        }
    }

    fn len(&self) -> u64 {
        match &self.storage {
            BodyStorage::Memory(body) => body.len() as u64,
            BodyStorage::Spool(spool) => spool.len(),
        }
    }

    fn remember(&mut self, piece: &Bytes) {
        let memory_max = self.memory_max();
        let BodyStorage::Memory(body) = &mut self.storage else {
            return;
        };
        let needed = body.len() + piece.len();
        if body.is_empty() {
            let declared = self.declared.map_or(0, to_usize);
            body.reserve(declared.min(BODY_ROOM_MAX).max(needed));
        } else if body.capacity() < needed {
            let declared = self.declared.map(to_usize);
            if let Some(room) = declared.or_else(|| undeclared_room(needed, memory_max)) {
                grow_to(body, room.max(needed));
            }
        }
        body.extend_from_slice(piece);
    }

    /// Maximum number of bytes of a body in memory.
    fn memory_max(&self) -> usize {
        let threshold = self
            .spooling
            .map_or(u64::MAX, |spooling| spooling.threshold);
        to_usize(self.bytes_max.min(threshold))
    }

    fn no_room(&self, error: io::Error) -> Fault {
        let folder = self.spooling.map(|spooling| spooling.folder.display());
        tracing::error!(folder = folder.map(tracing::field::display), %error, "cannot write a request body to the spool folder");
        Fault::new(
            FaultKind::Overloaded,
            "the gateway cannot store a request body of this size at the moment; try again later",
        )
        .detail(format!("cannot write to the spool folder: {error}"))
        .source(error)
    }
}

async fn push_all(spool: &mut BodySpool, pieces: [Bytes; 2]) -> io::Result<()> {
    for piece in pieces {
        spool.push(piece).await?;
    }
    Ok(())
}

/// Allocation for a body of unknown length that exceeds [`BODY_ROOM_MAX`]: as much as the body may need. Pages that it
/// does not use take address space but no memory.
fn undeclared_room(needed: usize, memory_max: usize) -> Option<usize> {
    (needed > BODY_ROOM_MAX).then(|| memory_max.min(UNDECLARED_ROOM_MAX.max(needed * 2)))
}

/// Grows to `wanted` bytes in one step: repeated doubling would hold up to three copies of the body.
fn grow_to(body: &mut BytesMut, wanted: usize) {
    let mut grown = BytesMut::with_capacity(wanted);
    grown.extend_from_slice(body);
    *body = grown;
}

fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::SpoolingBodyBuffer;
    use crate::protocol::fault::FaultKind;
    use crate::snapshot::spooling::SpoolPolicy;
    use bytes::Bytes;
    use std::path::Path;

    fn spooling(threshold: u64) -> SpoolPolicy {
        SpoolPolicy {
            threshold,
            folder: std::env::temp_dir().into(),
        }
    }

    fn pattern(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at % 251) as u8).collect()
    }

    #[tokio::test]
    async fn a_body_is_the_same_whether_it_was_spooled_or_not() {
        let body = pattern(3_000_000);
        for threshold in [1, 1_000, 2_999_999, 3_000_000, u64::MAX] {
            for declared in [None, Some(3_000_000)] {
                let spooling = spooling(threshold);
                let mut buffer = SpoolingBodyBuffer::new(3_000_000, declared, Some(&spooling));
                for piece in body.chunks(70_001) {
                    buffer.push(Bytes::copy_from_slice(piece)).await.unwrap();
                }
                let whole = buffer.finish().await.unwrap();
                assert!(
                    whole == body,
                    "threshold {threshold}, declared {declared:?}"
                );
            }
        }
    }

    #[tokio::test]
    async fn a_body_over_its_limit_is_refused_wherever_it_is_held() {
        for spooling in [None, Some(spooling(10))] {
            let mut buffer = SpoolingBodyBuffer::new(100, None, spooling.as_ref());
            buffer.push(Bytes::from(pattern(100))).await.unwrap();
            let fault = buffer.push(Bytes::from_static(b"x")).await.unwrap_err();
            assert_eq!(fault.kind, FaultKind::TooLarge);
        }
    }

    #[tokio::test]
    async fn a_missing_spool_folder_is_reported_as_no_room() {
        let spooling = SpoolPolicy {
            threshold: 10,
            folder: Path::new("/nowhere/at/all").into(),
        };
        let mut buffer = SpoolingBodyBuffer::new(1_000, None, Some(&spooling));
        buffer.push(Bytes::from(pattern(100))).await.unwrap();
        let fault = buffer.finish().await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Overloaded);
        assert_eq!(fault.kind.status(), 503);
    }
}
