//! The key of a task in the cache and in the state store.

use headgate_core::task::id::TaskId;
use headgate_protocol::hex::HexDisplay;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The key of a task, the same for every caller and gateway.
pub fn task_key(task: &TaskId) -> Arc<str> {
    let hash = Sha256::new().chain_update(&task.channel).chain_update([0]);
    let hash = hash.chain_update(&task.upstream).finalize();
    format!("task-{}", HexDisplay(&hash)).into()
}
