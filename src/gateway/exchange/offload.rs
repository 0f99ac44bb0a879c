//! Work on large bodies, which other exchanges must not wait for.

use std::future::{Future, poll_fn};
use std::pin::pin;
use tokio::runtime::{Handle, RuntimeFlavor};

/// Work on bodies above this is not done on the worker threads, which other exchanges need.
pub(super) const INLINE_BYTES_MAX: usize = 512 << 10;

/// Does `work` on a body of so many bytes; while a large one takes its time, other exchanges leave this
/// thread.
pub(super) async fn offload<T>(bytes: usize, work: impl Future<Output = T>) -> T {
    // A runtime of one thread, such as that of `explain`, has nobody else waiting.
    let has_others = Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
    if bytes <= INLINE_BYTES_MAX || !has_others {
        return work.await;
    }
    let mut work = pin!(work);
    poll_fn(|context| tokio::task::block_in_place(|| work.as_mut().poll(context))).await
}
