//! The worker threads of a listener, each with a runtime of its own, and which of them runs a stream.

mod busy_meter;
mod stream_placement;
mod worker_pool;

pub use worker_pool::{StreamPlacement, WorkerPool};
