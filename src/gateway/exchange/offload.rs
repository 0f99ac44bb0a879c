//! Runs work on large bodies without blocking other exchanges.

use std::future::{Future, poll_fn};
use std::pin::pin;
use tokio::runtime::{Handle, RuntimeFlavor};

/// Work on bodies above this many bytes is moved away from the async tasks of its worker thread.
pub(super) const INLINE_BYTES_MAX: usize = 512 << 10;

/// Runs `work` on a body of `bytes` bytes. For a large body, the runtime moves other tasks to another thread meanwhile.
pub(super) async fn offload<T>(bytes: usize, work: impl Future<Output = T>) -> T {
    // A single-threaded runtime, such as that of `explain`, has no other tasks to move.
    let has_others = Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
    if bytes <= INLINE_BYTES_MAX || !has_others {
        return work.await;
    }
    let mut work = pin!(work);
    poll_fn(|context| tokio::task::block_in_place(|| work.as_mut().poll(context))).await
}
