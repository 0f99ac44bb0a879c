//! Buffers a request body up to its limit: a small one in memory, a large one in a spool file.

use super::spool::BodySpool;
use bytes::{Bytes, BytesMut};
use headgate_config::snapshot::spooling::BodySpoolPolicy;
use headgate_core::filter::body_limit::too_large;
use headgate_observe::spool_metrics::SpoolMetrics;
use headgate_protocol::fault::{Fault, FaultKind};
use std::io;

/// Maximum number of bytes that are allocated for a body of declared length before its data arrives.
const BODY_ROOM_MAX: usize = 1 << 20;
/// Minimum allocation, in bytes, for a body of unknown length that exceeds `BODY_ROOM_MAX`.
const UNDECLARED_ROOM_MAX: usize = 64 << 20;

/// When large bodies are spooled, where, and what counts the failures.
#[derive(Clone, Copy)]
pub struct SpoolPolicyWithMetrics<'s> {
    pub policy: &'s BodySpoolPolicy,
    pub metrics: &'s SpoolMetrics,
}

/// A request body that is being received.
pub struct SpoolingBodyBuffer<'s> {
    bytes_max: u64,
    declared: Option<u64>,
    /// When to spool the body; `None` keeps it in memory.
    target: Option<SpoolPolicyWithMetrics<'s>>,
    storage: BodyStorage,
}

enum BodyStorage {
    Memory(BytesMut),
    Spool(BodySpool),
}

impl<'s> SpoolingBodyBuffer<'s> {
    /// An empty buffer; `declared` is the body's declared length in bytes.
    pub fn new(
        bytes_max: u64,
        declared: Option<u64>,
        target: Option<SpoolPolicyWithMetrics<'s>>,
    ) -> Self {
        Self {
            bytes_max,
            declared,
            target,
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
            BodyStorage::Memory(body) => match self.target {
                Some(SpoolPolicyWithMetrics { policy, .. }) if expected > policy.threshold => {
                    let body = std::mem::take(body).freeze();
                    let mut spool = BodySpool::new(policy.folder.clone());
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
        spooled.map_err(|error| self.no_room(bytes, error))
    }

    /// Takes the buffer for the next bytes of a body of declared length, of which `left` are missing, and how many it has
    /// room for; `None` for a body that is spooled piece by piece. It comes back with [`SpoolingBodyBuffer::put_back`].
    pub fn take_buffer(&mut self, left: u64) -> Option<(BytesMut, usize)> {
        let bytes = self.len() + left;
        let is_spooled = |target: SpoolPolicyWithMetrics<'_>| bytes > target.policy.threshold;
        let BodyStorage::Memory(body) = &mut self.storage else {
            return None;
        };
        if self.target.is_some_and(is_spooled) {
            return None;
        }
        let mut body = std::mem::take(body);
        let left = to_usize(left);
        let room = match BODY_ROOM_MAX.saturating_sub(body.len()) {
            0 => left,
            of_first_step => left.min(of_first_step),
        };
        let needed = body.len() + room;
        if body.capacity() < needed {
            grow_to(&mut body, needed);
        }
        Some((body, room))
    }

    /// Puts back the buffer of [`SpoolingBodyBuffer::take_buffer`] with the bytes that arrived.
    pub fn put_back(&mut self, body: BytesMut) {
        self.storage = BodyStorage::Memory(body);
    }

    /// The complete body.
    ///
    /// # Errors
    /// The body cannot be stored.
    pub async fn finish(mut self) -> Result<Bytes, Fault> {
        let spool = match std::mem::replace(&mut self.storage, BodyStorage::Memory(BytesMut::new()))
        {
            BodyStorage::Memory(body) => return Ok(body.freeze()),
            BodyStorage::Spool(spool) => spool,
        };
        let bytes = spool.len();
        let body = spool.finish().await;
        let body = body.map_err(|error| self.no_room(bytes, error))?;
        if let Some(target) = self.target {
            target.metrics.record_success(bytes);
        }
        Ok(body)
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
            .target
            .map_or(u64::MAX, |target| target.policy.threshold);
        to_usize(self.bytes_max.min(threshold))
    }

    /// Counts a body that cannot be stored, `received` bytes of which have arrived.
    fn no_room(&self, received: u64, error: io::Error) -> Fault {
        let folder = self.target.map(|target| &target.policy.folder);
        if let Some((target, folder)) = self.target.zip(folder) {
            let bytes = received.max(self.declared.unwrap_or(0));
            target.metrics.count_failure(folder, bytes, &error);
        }
        let folder = folder.map(|folder| folder.display());
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
    use super::{SpoolPolicyWithMetrics, SpoolingBodyBuffer};
    use bytes::Bytes;
    use headgate_config::snapshot::spooling::BodySpoolPolicy;
    use headgate_observe::metrics::Metrics;
    use headgate_protocol::fault::FaultKind;
    use std::path::Path;

    fn spooling(threshold: u64) -> BodySpoolPolicy {
        BodySpoolPolicy {
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
                let (policy, metrics) = (&spooling(threshold), &Metrics::default().spool);
                let target = Some(SpoolPolicyWithMetrics { policy, metrics });
                let mut buffer = SpoolingBodyBuffer::new(3_000_000, declared, target);
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
        let metrics = &Metrics::default().spool;
        for policy in [None, Some(spooling(10))] {
            let target = policy
                .as_ref()
                .map(|policy| SpoolPolicyWithMetrics { policy, metrics });
            let mut buffer = SpoolingBodyBuffer::new(100, None, target);
            buffer.push(Bytes::from(pattern(100))).await.unwrap();
            let fault = buffer.push(Bytes::from_static(b"x")).await.unwrap_err();
            assert_eq!(fault.kind, FaultKind::TooLarge);
        }
        assert_eq!(metrics.failures(), 0);
    }

    #[tokio::test]
    async fn a_missing_spool_folder_is_reported_as_no_room() {
        let spooling = BodySpoolPolicy {
            threshold: 10,
            folder: Path::new("/nowhere/at/all").into(),
        };
        let metrics = &Metrics::default().spool;
        let target = Some(SpoolPolicyWithMetrics {
            policy: &spooling,
            metrics,
        });
        let mut buffer = SpoolingBodyBuffer::new(1_000, None, target);
        buffer.push(Bytes::from(pattern(100))).await.unwrap();
        let fault = buffer.finish().await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Overloaded);
        assert_eq!(fault.kind.status(), 503);
        assert_eq!(metrics.failures(), 1);
        let last = metrics.last_failure().expect("a failure");
        assert_eq!(last.folder, spooling.folder);
    }
}
